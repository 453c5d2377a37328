/**
 * The drawing of programs: a part of the plane on the canvas #drawing. It is used by drawing.py.
 *
 * What was drawn is kept until it is cleared, and redrawn when the canvas changes.
 */

/** Milliseconds between two drawings for users who prefer reduced motion. */
const STILL = 1000;
const FONT = "12px system-ui, sans-serif";
const MARGIN = 5;
const RADIUS = 3.5;
/** The most labels of an axis. */
const LABELS = 6;

const canvas = document.querySelector("#drawing");
const context = canvas.getContext("2d");
const dark = matchMedia("(prefers-color-scheme: dark)");
const still = matchMedia("(prefers-reduced-motion: reduce)");
/** Functions that draw, in order; the first `done` have been called. @type {(() => void)[]} */
let steps = [];
let done = 0;
let labelled = false;
let last = 0;
/** The part of the plane, and the size of the canvas in CSS pixels. */
let [left, right, low, high] = [0, 1, 0, 1];
let [width, height] = [1, 1];
/** @type {string[]} */
let colours = [];
let text = "";
let lines = "";

const across = (/** @type {number} */ x) => ((x - left) / (right - left)) * width;
const down = (/** @type {number} */ y) => (1 - (y - low) / (high - low)) * height;

/** Clear the drawing, which then shows a part of the plane. */
export function clear(...plane) {
  [left, right, low, high] = plane;
  steps = [];
  done = 0;
  labelled = false;
}

/** Make the canvas as large as the page allows, and read the page's colours. */
function begin() {
  const style = getComputedStyle(canvas);
  const colour = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  colours = ["--chart-line", "--chart-other", "--chart-line"].map(colour);
  [text, lines] = ["--chart-text", "--chart-grid"].map(colour);
  width = canvas.clientWidth;
  height = Math.round((width * (high - low)) / (right - left));
  const [wide, tall] = [width, height].map((side) => Math.round(side * devicePixelRatio));
  if (canvas.width !== wide || canvas.height !== tall) [canvas.width, canvas.height] = [wide, tall];
  context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.lineCap = context.lineJoin = "round";
}

function draw() {
  if (!done) begin();
  while (done < steps.length) steps[done++]();
}

function anew() {
  done = 0;
  draw();
}

/** Show the drawing with the browser's next frame. Resolves when the page has had a turn. */
export function drawn() {
  return new Promise((resolve) => {
    requestAnimationFrame((now) => {
      if (!still.matches || now - last >= STILL) {
        last = now;
        draw();
      }
      setTimeout(resolve);
    });
  });
}

/** Show everything that was drawn, and describe it in words. @param {string} label */
export function end(label) {
  draw();
  canvas.setAttribute("aria-label", label);
}

/** Lines through `count` points each: x and y alternate. @param {Float32Array} points */
export function line(points, /** @type {number} */ count, colour, thickness) {
  steps.push(() => {
    context.strokeStyle = colours[colour % colours.length];
    context.lineWidth = thickness;
    context.beginPath();
    for (let at = 0; at < points.length / 2; at++) {
      const to = [across(points[2 * at]), down(points[2 * at + 1])];
      if (at % count) context.lineTo(...to);
      else context.moveTo(...to);
    }
    context.stroke();
  });
}

/** @param {Float32Array} points x and y alternate */
export function dots(points, colour) {
  steps.push(() => {
    context.fillStyle = context.strokeStyle = colours[colour % colours.length];
    context.lineWidth = 1.5;
    for (let at = 0; at < points.length; at += 2) {
      context.beginPath();
      context.arc(across(points[at]), down(points[at + 1]), RADIUS, 0, 2 * Math.PI);
      if (colour === 1) context.stroke();
      else context.fill();
    }
  });
}

/** Numbers from 0 to 1, row by row from the top: shades of one colour, or three channels. */
export function image(/** @type {Float32Array} */ values, columns, channels) {
  steps.push(() => {
    const rows = values.length / columns / channels;
    const pixels = new ImageData(columns, rows);
    context.fillStyle = colours[0];
    const shade = context.fillStyle.match(/[0-9a-f]{2}/g).map((each) => parseInt(each, 16));
    for (let at = 0; at < rows * columns; at++) {
      for (let channel = 0; channel < 3; channel++) {
        const value = values[channels * at + channel] * 255;
        pixels.data[4 * at + channel] = channels === 1 ? shade[channel] : value;
      }
      pixels.data[4 * at + 3] = channels === 1 ? values[at] * 255 : 255;
    }
    const small = new OffscreenCanvas(columns, rows);
    small.getContext("2d").putImageData(pixels, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(small, 0, 0, width, height);
  });
}

/**
 * Contours of a grid whose first row is at the bottom, by marching squares.
 * @param {Float32Array} values @param {number[] | number} levels
 */
export function contours(values, columns, levels, thickness) {
  const rows = values.length / columns;
  const wanted = typeof levels === "number" ? between(values, levels) : [...levels];
  const first = !labelled;
  labelled = true;
  steps.push(() => {
    if (first) axes();
    context.strokeStyle = colours[0];
    context.lineWidth = thickness;
    wanted.forEach((level, number) => {
      // With many levels, lower ones are stronger.
      context.globalAlpha = typeof levels === "number" ? 1 - (0.75 * number) / wanted.length : 1;
      context.beginPath();
      for (let row = 0; row + 1 < rows; row++) {
        for (let column = 0; column + 1 < columns; column++) square(row, column, level);
      }
      context.stroke();
    });
    context.globalAlpha = 1;
  });

  /** Draw the line through one square between four values. */
  function square(row, column, level) {
    const corners = [[0, 0], [0, 1], [1, 1], [1, 0]].map(([up, on]) => {
      const value = values[(row + up) * columns + column + on] - level;
      return { x: column + on, y: row + up, value };
    });
    const crossed = [];
    corners.forEach((one, at) => {
      const other = corners[(at + 1) % 4];
      if (one.value < 0 === other.value < 0) return;
      const share = one.value / (one.value - other.value);
      crossed.push([one.x + share * (other.x - one.x), one.y + share * (other.y - one.y)]);
    });
    for (let at = 0; at + 1 < crossed.length; at += 2) {
      context.moveTo(...place(crossed[at]));
      context.lineTo(...place(crossed[at + 1]));
    }
  }

  function place([x, y]) {
    return [(x / (columns - 1)) * width, (1 - y / (rows - 1)) * height];
  }
}

/** Return `count` levels between the smallest and the largest value. */
function between(values, count) {
  let [least, most] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < least) least = value;
    if (value > most) most = value;
  }
  return Array.from({ length: count }, (_, at) => least + ((at + 1) / (count + 1)) * (most - least));
}

/** Grid lines with their numbers. */
function axes() {
  context.strokeStyle = lines;
  context.fillStyle = text;
  context.lineWidth = 1;
  context.font = FONT;
  for (const value of ticks(left, right)) {
    stroke(across(value), 0, across(value), height);
    context.fillText(`${value}`, across(value) + MARGIN, height - MARGIN);
  }
  for (const value of ticks(low, high)) {
    stroke(0, down(value), width, down(value));
    context.fillText(`${value}`, MARGIN, down(value) - MARGIN);
  }
}

function stroke(...[x, y, u, v]) {
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(u, v);
  context.stroke();
}

/** Return round numbers within an interval, without its ends. */
function ticks(start, stop) {
  const rough = (stop - start) / LABELS;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * unit).find((each) => each >= rough);
  const found = [];
  for (let at = Math.floor(start / step) + 1; at * step < stop - step / 2; at++) {
    found.push(Number((at * step).toPrecision(6)));
  }
  return found;
}

dark.addEventListener("change", anew);
for (const type of ["beforeprint", "afterprint"]) addEventListener(type, anew);
new ResizeObserver(() => requestAnimationFrame(anew)).observe(canvas.parentElement);
