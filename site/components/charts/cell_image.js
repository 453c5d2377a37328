/** The cells of a grid as one image in a chart: separate rectangles take ten times as long. */

import { changeset, truthy } from "vega";

/** The number of colours of a scale. */
const SHADES = 256;

export class CellImage {
  /**
   * Replace the rectangles of a compiled chart by an image.
   * @param {any} spec the Vega specification, which is modified
   * @param {{ data: string, columns: number }} cells the name of the rows, and how many are side by side
   * @param {any[] | undefined} rows those to paint, if they are not those of the chart
   */
  constructor(spec, { data, columns }, rows) {
    const source = spec.data.find(({ name }) => name === data);
    const mark = spec.marks.find(({ type }) => type === "rect");
    const { fill, opacity, x, x2, y, y2 } = mark.encode.update;
    this.name = data;
    this.rows = rows ?? source.values;
    this.field = fill.field;
    this.scale = fill.scale;
    this.canvas = document.createElement("canvas");
    this.canvas.width = columns;
    this.canvas.height = this.rows.length / columns;
    // The rectangles no longer have rows.
    source.values = [];
    const place = { opacity, x, x2, y, y2, aspect: { value: false }, smooth: { value: true } };
    Object.assign(mark, { type: "image", from: { data: "cell image" } });
    mark.encode = { update: { image: { field: "image" }, ...place } };
    spec.data.push({ name: "cell image", values: [] });
  }

  /** Paint the rows in the colours of the chart. @param {any} view */
  paint(view) {
    const { width, height } = this.canvas;
    const context = this.canvas.getContext("2d", { willReadFrequently: true });
    const shades = this.#shades(view, context);
    const image = context.createImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer);
    // Rows start at the lowest y, images at the top.
    this.rows.forEach((row, place) => {
      const line = height - 1 - Math.floor(place / width);
      pixels[line * width + (place % width)] = shades[Math.round(row[this.field] * (SHADES - 1))];
    });
    context.putImageData(image, 0, 0);
    const [first, last] = [this.rows[0], this.rows.at(-1)];
    const row = { x: first.x, x2: last.x2, y: first.y, y2: last.y2, image: this.canvas };
    view.change("cell image", changeset().remove(truthy).insert([row]));
  }

  /** Return the colours of the numbers from 0 to 1 as pixels. */
  #shades(view, context) {
    if (this.known?.view === view) return this.known.shades;
    const colour = view.scale(this.scale);
    const shades = new Uint32Array(SHADES);
    for (let shade = 0; shade < SHADES; shade += 1) {
      context.fillStyle = colour(shade / (SHADES - 1));
      context.fillRect(0, 0, 1, 1);
      const { data } = context.getImageData(0, 0, 1, 1);
      shades[shade] = new Uint32Array(data.buffer)[0];
    }
    this.known = { view, shades };
    return shades;
  }
}
