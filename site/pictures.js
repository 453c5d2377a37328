/**
 * Pictures for networks: the camera, pixels as planes of numbers, and numbers as pixels. Python
 * calls all of these functions; numbers are passed as Float32Arrays.
 */

import { fitDrawing } from "./vendor/webnnm/page/fitting.js";

const CHANNELS = 3;
const BYTE = 255;

const video = document.createElement("video");
video.muted = video.playsInline = true;
/** The current picture: a canvas, which Python never accesses. */
let picture = new OffscreenCanvas(1, 1);

/** Open the camera with a width as close as possible to this one. */
export async function open(/** @type {number} */ width) {
  video.srcObject = await navigator.mediaDevices.getUserMedia({ video: { width: { ideal: width } } });
  try {
    await video.play();
  } catch (error) {
    close();
    throw error;
  }
}

/** Close the camera. */
export function close() {
  for (const track of video.srcObject?.getTracks() ?? []) track.stop();
  video.srcObject = null;
}

/** Take the current picture of the camera. */
export function take() {
  picture = seen();
}

/** Return the current picture of the camera, for `middle` and `pixels`. */
export function seen() {
  return copy(video, video.videoWidth, video.videoHeight);
}

/** Take a picture from a file. @param {Blob} file */
export async function read(file) {
  picture = await decode(file);
}

/** Return the picture in a file, for `middle` and `pixels`. @param {Blob} file */
export async function decode(file) {
  const bitmap = await createImageBitmap(file, { imageOrientation: "from-image" });
  const found = copy(bitmap, bitmap.width, bitmap.height);
  bitmap.close();
  return found;
}

/** Draw lines of text as the picture. @param {string} text @param {number} width */
export function write(text, width) {
  const lines = text.split("\n");
  picture = new OffscreenCanvas(width, 80 * lines.length + 40);
  const context = picture.getContext("2d");
  context.fillStyle = "#ffffff";
  context.fillRect(0, 0, picture.width, picture.height);
  context.fillStyle = "#202020";
  context.font = "36px sans-serif";
  lines.forEach((line, number) => context.fillText(line, 40, 80 * number + 70));
}

/** Draw a landscape as the picture. */
export function landscape() {
  const [width, height] = [256, 256];
  picture = new OffscreenCanvas(width, height);
  const context = picture.getContext("2d");
  const sky = context.createLinearGradient(0, 0, 0, height);
  sky.addColorStop(0, "#27407e");
  sky.addColorStop(0.7, "#f2a65a");
  context.fillStyle = sky;
  context.fillRect(0, 0, width, height);
  context.fillStyle = "#fff1b8";
  context.beginPath();
  context.arc(172, 112, 34, 0, 2 * Math.PI);
  context.fill();
  const hills = [["#7b4b73", 150, 34, 0.021], ["#3d6b58", 186, 22, 0.035], ["#1d3b3a", 222, 14, 0.05]];
  for (const [colour, middle, swing, pace] of hills) {
    context.fillStyle = colour;
    context.beginPath();
    context.moveTo(0, height);
    for (let x = 0; x <= width; x++) context.lineTo(x, middle + swing * Math.sin(pace * x + middle));
    context.lineTo(width, height);
    context.fill();
  }
}

function copy(source, width, height) {
  const made = new OffscreenCanvas(width, height);
  made.getContext("2d").drawImage(source, 0, 0);
  return made;
}

/** Return whether the camera shows pictures; while it opens, and after it, there are none. */
function films() {
  return video.videoWidth > 0;
}

/** Return the size of the picture, or of the camera's while it is open, width first. */
export function size() {
  return films() ? [video.videoWidth, video.videoHeight] : [picture.width, picture.height];
}

/** Wait for the browser's next frame. */
export function drawn() {
  return new Promise((resolve) => { requestAnimationFrame(resolve); });
}

/**
 * Show the picture, or the camera's while it is open, on a canvas at a size.
 * @param {HTMLCanvasElement} canvas
 */
export function show(canvas, width, height) {
  [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.drawImage(films() ? video : picture, 0, 0, width, height);
}

/** Frame four corners on a canvas. @param {HTMLCanvasElement} canvas @param {number[]} corners */
export function frame(canvas, ...corners) {
  const context = canvas.getContext("2d");
  context.strokeStyle = "#d0342c";
  context.lineWidth = Math.max(2, canvas.width / 400);
  context.beginPath();
  for (let at = 0; at < corners.length; at += 2) context.lineTo(corners[at], corners[at + 1]);
  context.closePath();
  context.stroke();
}

/**
 * Return the picture at a size as numbers of shape [3, height, width]: from 0 to 1 in planes of
 * red, green and blue or, if `centred`, from −1 to 1 in planes of blue, green and red.
 */
export function planes(width, height, centred = false) {
  const draw = (context) => context.drawImage(picture, 0, 0, width, height);
  return numbers(sized(width, height, draw), centred);
}

/**
 * Return a part of the picture, upright and at a size, as centred numbers. It is given by its upper
 * left, upper right and lower left corners; everything to the right of `used` is 0.
 */
export function part([left, top], [right, upper], [low, lower], width, height, used, turned) {
  const draw = (context) => {
    if (turned) {
      context.translate(used, height);
      context.rotate(Math.PI);
    }
    context.beginPath();
    context.rect(0, 0, used, height);
    context.clip();
    // The map that takes the corners to (0, 0), (used, 0) and (0, height).
    const along = [(right - left) / used, (upper - top) / used];
    const down = [(low - left) / height, (lower - top) / height];
    const { a, b, c, d, e, f } = new DOMMatrix([...along, ...down, left, top]).inverse();
    context.transform(a, b, c, d, e, f);
    context.drawImage(picture, 0, 0);
  };
  return numbers(sized(width, height, draw), true);
}

/**
 * Return the middle of the picture, or of the camera's while it is open, as numbers from 0 to 1 of
 * shape [3, size, size] in planes of red, green and blue.
 */
export function square(/** @type {number} */ size) {
  if (films()) take();
  return pixels(picture, size);
}

/** Return the middle of a picture in the same form as `square`. @param {OffscreenCanvas} source */
export function pixels(source, /** @type {number} */ size) {
  const rows = fitDrawing(source, { width: size, height: size, channels: CHANNELS, fit: "crop" });
  const planes = new Float32Array(rows.length);
  for (let index = 0; index < rows.length; index++) {
    planes[(index % CHANNELS) * size * size + Math.floor(index / CHANNELS)] = rows[index] / BYTE;
  }
  return planes;
}

/** Show the middle of a picture as a square. @param {HTMLCanvasElement} canvas */
export function middle(/** @type {OffscreenCanvas} */ source, canvas, /** @type {number} */ size) {
  canvas.width = canvas.height = size;
  cut(canvas.getContext("2d"), source, size);
}

/** Return the middle of a picture as a square of at most a size. @param {OffscreenCanvas} source */
export function reduced(source, /** @type {number} */ size) {
  const side = Math.min(size, source.width, source.height);
  const square = new OffscreenCanvas(side, side);
  cut(square.getContext("2d"), source, side);
  return square;
}

/** Draw the largest square in the middle of a picture at a size. */
function cut(context, source, size) {
  const side = Math.min(source.width, source.height);
  const [x, y] = [(source.width - side) / 2, (source.height - side) / 2];
  context.imageSmoothingQuality = "high";
  context.drawImage(source, x, y, side, side, 0, 0, size, size);
}

function sized(width, height, draw) {
  const canvas = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  canvas.imageSmoothingQuality = "high";
  draw(canvas);
  return canvas.getImageData(0, 0, width, height);
}

/** @param {ImageData} image @param {boolean} centred */
function numbers({ data, width, height }, centred) {
  const pixels = width * height;
  const found = new Float32Array(CHANNELS * pixels);
  for (let pixel = 0; pixel < pixels; pixel++) {
    if (!data[4 * pixel + CHANNELS]) continue;
    for (let channel = 0; channel < CHANNELS; channel++) {
      const share = data[4 * pixel + channel] / BYTE;
      const plane = centred ? CHANNELS - 1 - channel : channel;
      found[plane * pixels + pixel] = centred ? 2 * share - 1 : share;
    }
  }
  return found;
}

/**
 * Return the index of the largest number of each row and that number, alternating.
 * @param {Float32Array} values @param {number} columns
 */
export function largest(values, columns) {
  const found = new Float32Array((2 * values.length) / columns);
  for (let row = 0; row < values.length / columns; row++) {
    let best = 0;
    const start = row * columns;
    for (let column = 1; column < columns; column++) {
      if (values[start + column] > values[start + best]) best = column;
    }
    found.set([best, values[start + best]], 2 * row);
  }
  return found;
}
