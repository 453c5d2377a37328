/**
 * Draws charts that webnnm.charts describes, as pictures with a text alternative.
 *
 * `show(element, JSON)` returns the chart once it is drawn. Numbers are passed as JSON, so that
 * Python programs call it in the same way as JavaScript programs.
 */

import { changeset, Error as Errors, parse, truthy, View } from "vega";
import { expressionInterpreter } from "vega-interpreter";
import { compile } from "vega-lite";

import { CellImage } from "./charts/cell_image.js";

/** Pixels between small charts, and of the axis beside each. */
const GAP = 20;
const AXIS = 60;

const PRINTING = ["beforeprint", "afterprint"];
const dark = matchMedia("(prefers-color-scheme: dark)");

/** @typedef {{ spec: any, themes: { light: any, dark: any } }} Description what `Chart.to_page` wrote */

class LiveChart {
  /** Rows by the name of their data, if they are no longer those of the specification. */
  #rows = new Map();
  #change = () => this.draw();
  /** Whether it is drawn for paper, which is white. */
  #printed = false;
  #print = (/** @type {Event} */ { type }) => {
    this.#printed = type === "beforeprint";
    if (dark.matches) this.draw();
  };
  /** How many small charts stand side by side, 0 for a single chart. */
  #columns = 0;
  #frame = 0;
  /** @type {CellImage | null} */
  #image = null;
  #listeners = [];
  // In the next frame: sizes that change while they are told are an error in consoles.
  #sizes = new ResizeObserver(() => requestAnimationFrame(() => this.#fit()));
  #view = null;

  /**
   * @param {HTMLElement} holder
   * @param {Description} description
   */
  constructor(holder, { spec, themes }) {
    this.holder = holder;
    this.spec = spec;
    this.themes = themes;
    this.place = document.createElement("div");
    holder.replaceChildren(this.place);
    holder.setAttribute("role", "img");
    this.describe(spec.description);
    dark.addEventListener("change", this.#change);
    for (const type of PRINTING) addEventListener(type, this.#print);
    this.#sizes.observe(holder);
  }

  /** Draw everything, in the colours of light or dark pages, with as many columns as fit. */
  draw() {
    this.#columns = this.#fitting();
    const columns = this.#columns ? { columns: this.#columns } : {};
    this.#view?.finalize();
    [this.#view, this.#image] = this.#compile(columns, { renderer: "canvas", container: this.place });
    // The holder is the picture, and has its text.
    for (const name of ["role", "aria-label", "aria-roledescription"]) {
      this.place.removeAttribute(name);
    }
    for (const [type, listener] of this.#listeners) this.#view.addEventListener(type, listener);
    this.#fit();
    this.#view.run();
    if (!this.#image) return;
    // Scales, and thus colours, exist only once the chart has run.
    this.#image.paint(this.#view);
    this.#view.run();
  }

  /** Return a view of the chart with the rows that it has now, and the image of its cells or null. */
  #compile(changes, options, axes = {}) {
    const theme = this.themes[dark.matches && !this.#printed ? "dark" : "light"];
    const config = { ...theme, background: "transparent", ...axes };
    const { spec } = compile({ ...this.spec, ...changes }, { config });
    const cells = this.spec.usermeta?.image;
    const image = cells ? new CellImage(spec, cells, this.#rows.get(cells.data)) : null;
    // Policies forbid code made from strings: expressions are interpreted.
    const runtime = parse(spec, undefined, { ast: true });
    const view = new View(runtime, { expr: expressionInterpreter, logLevel: Errors, ...options });
    for (const [name, rows] of this.#rows) {
      if (name !== cells?.data) view.change(name, changeset().remove(truthy).insert(rows));
    }
    return [view, image];
  }

  /**
   * Return the chart, in its colours of now, as a canvas of another size.
   * @param {number} width in pixels of a page
   * @param {number} height
   * @param {number} scale pixels of the canvas for each of these
   */
  async picture(width, height, scale) {
    const autosize = { type: "fit", contains: "padding" };
    // Long names leave room for what they name.
    const axes = {
      axisX: { labelLimit: 0.24 * width, labelOverlap: true, titleLimit: 0.7 * width },
      axisY: { labelLimit: 0.3 * width, titleLimit: 0.7 * height },
    };
    const [view, image] = this.#compile({ width, height, autosize }, { renderer: "none" }, axes);
    await view.runAsync();
    if (image) {
      image.paint(view);
      await view.runAsync();
    }
    const canvas = await view.toCanvas(scale);
    view.finalize();
    return canvas;
  }

  /** Return how many small charts fit side by side, at most those of the specification. */
  #fitting() {
    const { columns = 0, spec } = this.spec;
    const width = this.holder.clientWidth; // 0 while it is hidden
    if (!columns || !width) return columns;
    // Small charts of several layers have no encoding in common.
    const each = spec.width + (spec.encoding?.y.axis === null ? GAP : GAP + AXIS);
    return Math.max(1, Math.min(columns, Math.floor(width / each)));
  }

  #fit() {
    const width = this.holder.clientWidth;
    if (!this.#view || !width || !this.place.isConnected) return;
    if (this.#fitting() !== this.#columns) {
      this.draw();
      return;
    }
    if (this.spec.width !== "container" || this.#view.width() === width) return;
    this.#view.width(width);
    this.#soon();
  }

  /** Draw all changes together, before the browser's next frame. */
  #soon() {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#view.run();
    });
  }

  #known(name) {
    if (this.#image?.name === name) return this.#image.rows;
    if (!this.#rows.has(name)) this.#rows.set(name, this.#view.data(name).map((row) => ({ ...row })));
    return this.#rows.get(name);
  }

  /** Replace the rows of some data by a JSON list. @param {string} name @param {string} text */
  set(name, text) {
    const rows = JSON.parse(text);
    this.#rows.set(name, rows);
    this.#view.change(name, changeset().remove(truthy).insert(rows));
    this.#soon();
  }

  /** Add rows, a JSON list. @param {string} name @param {string} text */
  add(name, text) {
    const rows = JSON.parse(text);
    const known = this.#known(name);
    known.push(...rows);
    this.#view.change(name, changeset().insert(rows));
    this.#soon();
  }

  /**
   * Set a field of the existing rows, in their order, to the numbers in a JSON list.
   * @param {string} name @param {string} field @param {string} text
   */
  paint(name, field, text) {
    const values = JSON.parse(text);
    const rows = this.#known(name);
    for (let place = 0; place < rows.length; place += 1) rows[place][field] = values[place];
    if (this.#image?.name === name) {
      this.#rows.set(name, rows);
      this.#image.paint(this.#view);
      this.#soon();
      return;
    }
    let place = 0;
    const next = () => values[place++];
    this.#view.change(name, changeset().modify(truthy, field, next));
    this.#soon();
  }

  /** Describe in words what the chart shows. @param {string} text */
  describe(text) {
    this.holder.setAttribute("aria-label", text);
  }

  /**
   * Call back with the row that is clicked, as JSON.
   * @param {(row: string) => void} callback
   */
  onClick(callback) {
    const listener = (_event, item) => {
      if (item?.datum) callback(JSON.stringify(item.datum));
    };
    this.#listeners.push(["click", listener]);
    this.#view.addEventListener("click", listener);
  }

  /**
   * Call back with positions, in the units of the x and y axes, at which a pointer is pressed or
   * dragged: [x, y, whether it was pressed just now, whether with the Shift key or the second
   * button], as JSON.
   * @param {(place: string) => void} callback
   */
  onDraw(callback) {
    const tell = (event, first) => {
      const view = this.#view;
      const canvas = this.place.querySelector("canvas");
      const box = canvas.getBoundingClientRect();
      const zoom = box.width / Number.parseFloat(canvas.style.width);
      const [[left, top], padding] = [view.origin(), view.padding()];
      const across = (event.clientX - box.left) / zoom - left - padding.left;
      const down = (event.clientY - box.top) / zoom - top - padding.top;
      if (across < 0 || down < 0 || across > view.width() || down > view.height()) return;
      const [x, y] = [view.scale("x").invert(across), view.scale("y").invert(down)];
      callback(JSON.stringify([x, y, first, event.shiftKey || (event.buttons & 2) > 0]));
    };
    this.place.addEventListener("contextmenu", (event) => event.preventDefault());
    this.place.addEventListener("pointerdown", (event) => tell(event, true));
    this.place.addEventListener("pointermove", (event) => {
      if (event.buttons) tell(event, false);
    });
  }

  /** Draw all changes, and return the milliseconds that this took. */
  async settle() {
    const before = performance.now();
    await this.#view.runAsync();
    return performance.now() - before;
  }

  /** Remove the chart. */
  close() {
    cancelAnimationFrame(this.#frame);
    dark.removeEventListener("change", this.#change);
    for (const type of PRINTING) removeEventListener(type, this.#print);
    this.#sizes.disconnect();
    this.#view?.finalize();
    this.holder.replaceChildren();
  }
}

/**
 * Show a chart in an element, replacing its contents.
 * @param {HTMLElement} holder
 * @param {string} text what `Chart.to_page` of webnnm.charts returns
 */
export function show(holder, text) {
  const chart = new LiveChart(holder, JSON.parse(text));
  chart.draw();
  return chart;
}
