/**
 * The drawing pad for digits. Python calls `listen`, `clear` and `picture`.
 *
 * A drawing is converted to the form of the dataset: its bounding box fills a bitmap of 32 × 32,
 * whose pixels are counted in blocks of 4 × 4; that gives 8 × 8 numbers from 0 to 16.
 */

const SIDE = 8;
const BLOCK = 4;
const BLACK = 16;
const BITMAP = SIDE * BLOCK;
/** Widths of a stroke: on the pad as a share of it, in the bitmap in pixels. */
const WIDTH_ON_PAD = 0.07;
const WIDTH = 5;

const pad = document.querySelector("#pad");
const dark = matchMedia("(prefers-color-scheme: dark)");
/** @type {[number, number][][]} Strokes of points from 0 to 1. */
let strokes = [];
/** @type {(numbers: string) => void} */
let tell = () => {};
/** @type {Map<HTMLCanvasElement, number[]>} What pictures show, which are drawn anew with the pad. */
const shown = new Map();

/** @param {CanvasRenderingContext2D} canvas @param {(point: [number, number]) => number[]} place */
function trace(canvas, place) {
  canvas.lineCap = canvas.lineJoin = "round";
  for (const stroke of strokes) {
    canvas.beginPath();
    canvas.moveTo(...place(stroke[0]));
    for (const point of stroke) canvas.lineTo(...place(point));
    canvas.stroke();
  }
}

function draw() {
  const size = Math.round(pad.clientWidth * devicePixelRatio);
  if (!size) return;
  pad.width = pad.height = size;
  const canvas = pad.getContext("2d");
  canvas.strokeStyle = getComputedStyle(pad).color;
  canvas.lineWidth = WIDTH_ON_PAD * size;
  trace(canvas, ([x, y]) => [x * size, y * size]);
}

/** Draw all pictures that are in the page in its colours, and forget the others. */
function drawAll() {
  draw();
  for (const canvas of shown.keys()) {
    if (canvas.isConnected) drawPicture(canvas);
    else shown.delete(canvas);
  }
}

/** Draw a picture in the ink of the pad, black as opaque. @param {HTMLCanvasElement} canvas */
function drawPicture(canvas) {
  canvas.width = canvas.height = SIDE;
  const context = canvas.getContext("2d");
  context.fillStyle = getComputedStyle(pad).color;
  shown.get(canvas).forEach((number, pixel) => {
    context.globalAlpha = number / BLACK;
    context.fillRect(pixel % SIDE, Math.floor(pixel / SIDE), 1, 1);
  });
}

/** The drawing as the model takes it. */
function numbers() {
  const points = strokes.flat();
  const [low, high] = [Math.min, Math.max].map((pick) =>
    [0, 1].map((axis) => pick(...points.map((point) => point[axis]))));
  const extent = Math.max(high[0] - low[0], high[1] - low[1]);
  const scale = extent ? (BITMAP - WIDTH) / extent : 0;
  const canvas = new OffscreenCanvas(BITMAP, BITMAP).getContext("2d");
  canvas.lineWidth = WIDTH;
  trace(canvas, (point) => [0, 1].map(
    (axis) => BITMAP / 2 + (point[axis] - (low[axis] + high[axis]) / 2) * scale));
  const { data } = canvas.getImageData(0, 0, BITMAP, BITMAP);
  const sums = new Array(SIDE * SIDE).fill(0);
  for (let pixel = 0; pixel < BITMAP * BITMAP; pixel++) {
    const [row, column] = [Math.floor(pixel / BITMAP), pixel % BITMAP];
    const block = Math.floor(row / BLOCK) * SIDE + Math.floor(column / BLOCK);
    sums[block] += data[4 * pixel + 3] / 255;
  }
  return sums.map((sum) => Math.round((sum * BLACK) / BLOCK ** 2));
}

/** @param {PointerEvent} event @returns {[number, number]} */
function at(event) {
  const { left, top, width, height } = pad.getBoundingClientRect();
  return [(event.clientX - left) / width, (event.clientY - top) / height];
}

function changed() {
  draw();
  tell(JSON.stringify(numbers()));
}

pad.addEventListener("pointerdown", (event) => {
  if (event.button || pad.closest(":disabled")) return;
  pad.setPointerCapture(event.pointerId);
  strokes.push([at(event)]);
  changed();
});
pad.addEventListener("pointermove", (event) => {
  if (!pad.hasPointerCapture(event.pointerId)) return;
  const all = event.getCoalescedEvents?.() ?? [];
  strokes.at(-1).push(...(all.length ? all : [event]).map(at));
  changed();
});

/** Call a listener with the numbers of the drawing, as JSON, whenever it changes. */
export function listen(/** @type {(numbers: string) => void} */ listener) {
  tell = listener;
}

/** Empty the pad. */
export function clear() {
  strokes = [];
  draw();
}

/** Show 8 × 8 numbers from 0 to 16. @param {HTMLCanvasElement} canvas @param {string} text */
export function picture(canvas, text) {
  shown.set(canvas, JSON.parse(text));
  drawPicture(canvas);
}

new ResizeObserver(() => requestAnimationFrame(draw)).observe(pad);
dark.addEventListener("change", drawAll);
for (const type of ["beforeprint", "afterprint"]) addEventListener(type, drawAll);
