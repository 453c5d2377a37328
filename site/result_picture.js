/** What the playground shows, as a picture or a video: the network, the plane, and a line of text. */

const WIDTH = 1120;
const HEIGHT = 520;
const MARGIN = 28;
const FONT = "18px system-ui, sans-serif";
/** Pictures per second of a video, at most: it has one for each time the plane is painted. */
const RATE = 25;
const TYPES = [["video/webm", "webm"], ["video/mp4", "mp4"]];

const canvas = document.createElement("canvas");
[canvas.width, canvas.height] = [WIDTH, HEIGHT];
const context = canvas.getContext("2d");
/** @type {MediaRecorder | null} */
let recorder = null;
/** @type {Blob[]} */
let chunks = [];

/** Return the type and the ending of videos that this browser can record; undefined if none. */
const supported = TYPES.find(([type]) => globalThis.MediaRecorder?.isTypeSupported(type));

/** Return how the name of a video ends, "" where the browser cannot record one. */
export function ending() {
  return supported?.[1] ?? "";
}

/** Draw what the page shows now. @param {string} text */
export function draw(text) {
  const style = getComputedStyle(document.querySelector("#network"));
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.fillStyle = style.getPropertyValue("--unit-ground");
  context.fillRect(0, 0, WIDTH, HEIGHT);
  context.fillStyle = style.color;
  context.font = FONT;
  context.fillText(text, MARGIN, HEIGHT - MARGIN);
  const plane = document.querySelector("#plane canvas");
  const stack = document.querySelector("#network-view:not([hidden]) .stack");
  const tall = HEIGHT - 3 * MARGIN;
  let left = MARGIN;
  if (stack) {
    const room = WIDTH - 3 * MARGIN - tall;
    drawNetwork(stack, left, MARGIN, Math.min(room / stack.scrollWidth, tall / stack.scrollHeight));
    left += room + MARGIN;
  }
  if (!plane) return;
  const scale = Math.min((WIDTH - left - MARGIN) / plane.width, tall / plane.height);
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.drawImage(plane, left, MARGIN, plane.width * scale, plane.height * scale);
}

/** Draw the lines and units of network.js at their places. */
function drawNetwork(stack, left, top, scale) {
  context.setTransform(scale, 0, 0, scale, left, top);
  for (const path of stack.querySelectorAll("path")) {
    const style = getComputedStyle(path);
    context.strokeStyle = style.stroke;
    context.globalAlpha = Number(style.opacity);
    context.lineWidth = Number.parseFloat(style.strokeWidth);
    context.setLineDash(style.strokeDasharray === "none" ? [] : style.strokeDasharray.split(",").map(Number.parseFloat));
    context.stroke(new Path2D(path.getAttribute("d")));
  }
  context.globalAlpha = 1;
  context.setLineDash([]);
  const box = stack.getBoundingClientRect();
  for (const picture of stack.querySelectorAll("canvas")) {
    const { x, y, width, height } = picture.getBoundingClientRect();
    context.drawImage(picture, x - box.x, y - box.y, width, height);
  }
}

/** Return the last drawing as a file. */
function encode() {
  return new Promise((resolve) => { canvas.toBlob(resolve, "image/png"); });
}

/** Return what the page shows as the bytes of a PNG file. @param {string} text */
export async function picture(text) {
  draw(text);
  return new Uint8Array(await (await encode()).arrayBuffer());
}

/** Copy what the page shows as a picture to the clipboard. @param {string} text */
export async function copy(text) {
  draw(text);
  await navigator.clipboard.write([new ClipboardItem({ "image/png": encode() })]);
}

/** Begin to record all that is drawn. @param {string} text */
export function record(text) {
  draw(text);
  chunks = [];
  recorder = new MediaRecorder(canvas.captureStream(RATE), { mimeType: supported[0] });
  recorder.addEventListener("dataavailable", ({ data }) => { chunks.push(data); });
  recorder.start();
}

/** End the recording, and return the bytes of the video. */
export async function finish() {
  const ended = new Promise((resolve) => { recorder.addEventListener("stop", resolve); });
  recorder.stop();
  await ended;
  recorder = null;
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}
