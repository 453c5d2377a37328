/**
 * The plane of the first page on the canvas #live: points of two classes, and behind them what a
 * network decides everywhere. Until index.py trains one, it shows a training that was recorded.
 */

const RECORDED = new URL("./shown/spirals.json", import.meta.url);
/** How far the plane reaches from 0 in each direction. */
const EXTENT = 1.3;
/** Of a point, in pixels of the canvas. */
const RADIUS = 5;

const canvas = document.querySelector("#live");
const caption = document.querySelector("#live-caption");
const context = canvas.getContext("2d");
/** A single pixel, which tells what a colour is made of. */
const pixel = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
const dark = matchMedia("(prefers-color-scheme: dark)");
/** @type {number[]} */
let shares = [];
/** @type {[number, number, number][]} */
let points = [];

/**
 * Show what a network decides: `cells` has the share of the second class in each cell of a square
 * grid, row by row from the bottom, `marks` the points as x, y and class, both as JSON.
 * @param {string} cells
 * @param {string} marks
 * @param {string} text
 */
export function show(cells, marks, text) {
  shares = JSON.parse(cells);
  points = JSON.parse(marks);
  caption.textContent = text;
  draw();
}

/** Return what is shown. */
export function shown() {
  return { cells: shares, marks: points, text: caption.textContent };
}

/** Return a colour of the canvas's style as red, green and blue. @param {string} name */
function colour(name) {
  pixel.fillStyle = getComputedStyle(canvas).getPropertyValue(name);
  pixel.fillRect(0, 0, 1, 1);
  return pixel.getImageData(0, 0, 1, 1).data;
}

function draw() {
  const side = Math.round(Math.sqrt(shares.length));
  if (!side) return;
  const [first, second, ground] = ["--first-class", "--second-class", "background-color"].map(colour);
  const image = new ImageData(side, side);
  shares.forEach((share, index) => {
    const row = side - 1 - Math.floor(index / side);
    const at = 4 * (row * side + (index % side));
    const end = share > 0.5 ? second : first;
    const mixed = [0, 1, 2].map((k) => ground[k] + Math.abs(share - 0.5) * (end[k] - ground[k]));
    image.data.set([...mixed, 255], at);
  });
  const small = new OffscreenCanvas(side, side);
  small.getContext("2d").putImageData(image, 0, 0);
  context.imageSmoothingEnabled = true;
  context.drawImage(small, 0, 0, canvas.width, canvas.height);
  const place = (/** @type {number} */ value) => ((value + EXTENT) / (2 * EXTENT)) * canvas.width;
  for (const [x, y, number] of points) {
    context.fillStyle = `rgb(${[...(number ? second : first)].slice(0, 3).join(" ")})`;
    context.strokeStyle = `rgb(${[...ground].slice(0, 3).join(" ")})`;
    context.beginPath();
    context.arc(place(x), canvas.height - place(y), RADIUS, 0, 2 * Math.PI);
    context.fill();
    context.stroke();
  }
}

dark.addEventListener("change", draw);
fetch(RECORDED).then(async (answer) => {
  const { cells, marks, text } = await answer.json();
  if (!shares.length) show(JSON.stringify(cells), JSON.stringify(marks), text);
});
