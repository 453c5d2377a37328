/**
 * The plane of the first page on the canvas #live: points of two classes, and behind them what a
 * network decides everywhere. Until index.py trains one, it shows a training that was recorded.
 */

import { colours, paint, shades } from "./shades.js";

const RECORDED = new URL("./shown/spirals.json", import.meta.url);
/** How far the plane reaches from 0 in each direction. */
const EXTENT = 1.3;
/** Of a point, in pixels of the canvas. */
const RADIUS = 5;
/** How much of the colour of its class a cell has that is sure. */
const STRENGTH = 0.5;

const canvas = document.querySelector("#live");
const caption = document.querySelector("#live-caption");
const context = canvas.getContext("2d");
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

function draw() {
  if (!shares.length) return;
  const ends = colours(canvas, ["--first-class", "--second-class", "background-color"]);
  const small = new OffscreenCanvas(1, 1);
  paint(small, shares, shades(ends, STRENGTH));
  context.imageSmoothingEnabled = true;
  context.drawImage(small, 0, 0, canvas.width, canvas.height);
  const place = (/** @type {number} */ value) => ((value + EXTENT) / (2 * EXTENT)) * canvas.width;
  for (const [x, y, number] of points) {
    context.fillStyle = `rgb(${ends[number].join(" ")})`;
    context.strokeStyle = `rgb(${ends[2].join(" ")})`;
    context.beginPath();
    context.arc(place(x), canvas.height - place(y), RADIUS, 0, 2 * Math.PI);
    context.fill();
    context.stroke();
  }
}

dark.addEventListener("change", draw);
for (const type of ["beforeprint", "afterprint"]) addEventListener(type, draw);
fetch(RECORDED).then(async (answer) => {
  const { cells, marks, text } = await answer.json();
  if (!shares.length) show(JSON.stringify(cells), JSON.stringify(marks), text);
});
