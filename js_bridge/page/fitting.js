/**
 * Pictures of any size, brought to the size of a model: what Python's webnnm/data/pictures/fitting.py
 * does with Pillow, in the same numbers.
 *
 * @module
 * @typedef {import("./fitting.js").Format} Format
 */

import { borrow } from "../common.js";

/** Shares of red, green and blue in grey, of 2 ** 16: the luma of ITU-R BT.601, as Pillow has it. */
const LUMA = /** @type {const} */ ([19595, 38470, 7471]);
/** The bits of a weight behind the point. */
const PRECISION = 22;

/** @type {import("./fitting.js").fit} */
export async function fit(source, options) {
  const { size, ...format } = JSON.parse(options);
  return fitPicture(borrowPicture(source, size), format);
}

/** @type {import("./fitting.js").measure} */
export async function measure(source, options) {
  const { width, height } = await measurePicture(borrowPicture(source, JSON.parse(options).size));
  return [width, height];
}

/** @type {import("./fitting.js").measurePicture} */
export async function measurePicture(picture) {
  const bitmap = await decode(picture);
  const { width, height } = bitmap;
  bitmap.close();
  return { width, height };
}

/** Return something that can be drawn; a buffer of Python is a file, or pixels of a size. @param {any} source @param {number[]} size */
function borrowPicture(source, [width, height]) {
  if (!source.getBuffer) return source;
  const bytes = borrow(source, (view) => view.slice());
  return width ? new ImageData(new Uint8ClampedArray(bytes.buffer), width, height) : new Blob([bytes]);
}

/** @param {any} picture */
function decode(picture) {
  return createImageBitmap(picture, { imageOrientation: "from-image", colorSpaceConversion: "none" });
}

/** @type {import("./fitting.js").fitPicture} */
export async function fitPicture(picture, format) {
  const bitmap = await decode(picture);
  const pixels = fitDrawing(bitmap, format);
  bitmap.close();
  return pixels;
}

/** @type {import("./fitting.js").fitDrawing} */
export function fitDrawing(drawing, format) {
  const { width, height } = drawing;
  const context = new OffscreenCanvas(width, height).getContext("2d", { alpha: false, willReadFrequently: true });
  if (!context) throw new Error("this browser has no canvas for pictures");
  context.fillStyle = "#fff";
  context.fillRect(0, 0, width, height);
  context.drawImage(drawing, 0, 0);
  const { data } = context.getImageData(0, 0, width, height);
  return fitPixels(format.channels === 1 ? findLuma(data) : data, width, height, format);
}

/** Return the grey of RGBA pixels. @param {Uint8ClampedArray} colours */
function findLuma(colours) {
  const [r, g, b] = LUMA;
  const grey = new Uint8ClampedArray(colours.length / 4);
  for (let pixel = 0, at = 0; pixel < grey.length; pixel += 1, at += 4) {
    grey[pixel] = (Number(colours[at]) * r + Number(colours[at + 1]) * g + Number(colours[at + 2]) * b + 0x8000) >> 16;
  }
  return grey;
}

/** @type {import("./fitting.js").findPart} */
export function findPart({ width, height }, { width: across, height: down, fit }) {
  if (fit === "crop") {
    const [columns, rows] = [Math.min(width, (height * across) / down), Math.min(height, (width * down) / across)];
    const [left, top] = [(width - columns) / 2, (height - rows) / 2];
    return { left, top, right: left + columns, bottom: top + rows, across, down };
  }
  const whole = { left: 0, top: 0, right: width, bottom: height };
  if (fit !== "pad") return { ...whole, across, down };
  const scale = Math.min(across / width, down / height);
  const size = (/** @type {number} */ length) => Math.max(1, Math.floor(length * scale + 0.5));
  return { ...whole, across: size(width), down: size(height) };
}

/**
 * Return the pixels of a picture at another size: RGB of RGBA, or grey.
 *
 * @param {Uint8ClampedArray} pixels @param {number} width @param {number} height @param {Format} format
 */
function fitPixels(pixels, width, height, format) {
  const { channels } = format;
  const part = findPart({ width, height }, format);
  const columns = findWeights(width, part.left, part.right, part.across);
  const rows = findWeights(height, part.top, part.bottom, part.down);
  const wide = resize(pixels, { lines: height, step: channels === 1 ? 1 : 4, channels }, columns);
  const whole = resize(transpose(wide, height, part.across, channels), { lines: part.across, step: channels, channels }, rows);
  const result = new Uint8Array(format.width * format.height * channels);
  const [left, top] = [Math.floor((format.width - part.across) / 2), Math.floor((format.height - part.down) / 2)];
  const upright = transpose(whole, part.across, part.down, channels);
  for (let row = 0; row < part.down; row += 1) {
    const line = upright.subarray(row * part.across * channels, (row + 1) * part.across * channels);
    result.set(line, ((top + row) * format.width + left) * channels);
  }
  return result;
}

/**
 * Return where the triangle of each new pixel begins, and its weights, as Pillow has them.
 *
 * @param {number} size @param {number} low @param {number} high @param {number} count
 * @returns {{ first: number, weights: Int32Array }[]}
 */
function findWeights(size, low, high, count) {
  const start = Math.fround(low);
  const scale = Math.fround(Math.fround(high) - start) / count;
  const reach = Math.max(scale, 1);
  return Array.from({ length: count }, (_, index) => {
    const middle = start + (index + 0.5) * scale;
    const first = Math.max(0, Math.trunc(middle - reach + 0.5));
    const last = Math.min(size, Math.trunc(middle + reach + 0.5));
    const shares = Array.from({ length: last - first }, (_, at) => (
      Math.max(0, 1 - Math.abs((at + first - middle + 0.5) * (1 / reach)))));
    const sum = shares.reduce((total, share) => total + share, 0);
    return { first, weights: Int32Array.from(shares, (share) => Math.trunc(0.5 + (share / sum) * 2 ** PRECISION)) };
  });
}

/**
 * Return lines of pixels at another length; `step` is the distance between two pixels of a line.
 *
 * @param {Uint8ClampedArray} pixels @param {{ lines: number, step: number, channels: number }} form
 * @param {ReturnType<typeof findWeights>} places
 */
function resize(pixels, { lines, step, channels }, places) {
  const length = pixels.length / lines;
  const result = new Uint8ClampedArray(lines * places.length * channels);
  let to = 0;
  for (let line = 0; line < lines; line += 1) {
    for (const { first, weights } of places) {
      for (let channel = 0; channel < channels; channel += 1) {
        let sum = 1 << (PRECISION - 1);
        let at = line * length + first * step + channel;
        for (let index = 0; index < weights.length; index += 1, at += step) {
          sum += /** @type {number} */ (pixels[at]) * /** @type {number} */ (weights[index]);
        }
        result[to] = sum >> PRECISION;
        to += 1;
      }
    }
  }
  return result;
}

/** Return lines of pixels as columns. @param {Uint8ClampedArray} pixels @param {number} lines @param {number} length @param {number} channels */
function transpose(pixels, lines, length, channels) {
  const result = new Uint8ClampedArray(pixels.length);
  let from = 0;
  for (let line = 0; line < lines; line += 1) {
    for (let place = 0; place < length; place += 1) {
      for (let channel = 0; channel < channels; channel += 1) {
        result[(place * lines + line) * channels + channel] = /** @type {number} */ (pixels[from]);
        from += 1;
      }
    }
  }
  return result;
}
