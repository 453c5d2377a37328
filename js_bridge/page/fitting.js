/**
 * Pictures of any size, brought to the size of a model: what Python's webnnm/data/pictures/fitting.py
 * does with Pillow, in the same numbers.
 *
 * @module
 * @typedef {import("./fitting.js").Format} Format
 * @typedef {{ first: number, weights: Int32Array }} Weights
 */

import { borrow } from "../common.js";

/** Shares of red, green and blue in grey, of 2 ** 16: the luma of ITU-R BT.601, as Pillow has it. */
const LUMA = /** @type {const} */ ([19595, 38470, 7471]);
/** The bits of a weight behind the point. */
const PRECISION = 22;

/** @param {number} x */
const sinc = (x) => (x === 0 ? 1 : Math.sin(x * Math.PI) / (x * Math.PI));

/**
 * The filters of Pillow by its numbers, from 1 on: how far each reaches, and its weights. 0 is the
 * nearest pixel. The cubic one is that of R. Keys, "Cubic convolution interpolation" (1981).
 *
 * @type {Readonly<Record<number, { reach: number, weigh: (x: number) => number }>>}
 */
const FILTERS = {
  1: { reach: 3, weigh: (x) => (Math.abs(x) < 3 ? sinc(x) * sinc(x / 3) : 0) },
  2: { reach: 1, weigh: (x) => Math.max(0, 1 - Math.abs(x)) },
  3: {
    reach: 2,
    weigh(x) {
      const far = Math.abs(x);
      if (far < 1) return (1.5 * far - 2.5) * far * far + 1;
      return far < 2 ? (((far - 5) * far + 8) * far - 4) * -0.5 : 0;
    },
  },
  4: { reach: 0.5, weigh: (x) => Number(x > -0.5 && x <= 0.5) },
  5: { reach: 1, weigh: (x) => (Math.abs(x) < 1 ? sinc(x) * (0.54 + 0.46 * Math.cos(x * Math.PI)) : 0) },
};
const TRIANGLE = 2;

/** @type {import("./fitting.js").fit} */
export async function fit(source, options) {
  const { size, ...format } = JSON.parse(options);
  return fitPicture(borrowPicture(source, size), format);
}

/** @type {import("./fitting.js").open} */
export async function open(source, options) {
  const bitmap = await decode(borrowPicture(source, JSON.parse(options).size));
  const { width, height } = bitmap;
  const pixels = draw(bitmap);
  bitmap.close();
  return { width, height, pixels };
}

/** @type {import("./fitting.js").resample} */
export function resample({ width, height, pixels }, across, down, filter) {
  const [columns, rows] = filter
    ? [findWeights(width, 0, width, across, filter), findWeights(height, 0, height, down, filter)]
    : [findNearest(width, across), findNearest(height, down)];
  return new Uint8Array(resize2d(pixels, { width, height, channels: 3 }, columns, rows).buffer);
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
  const data = draw(drawing);
  return fitPixels(format.channels === 1 ? findLuma(data) : data, width, height, format);
}

/** Return the RGBA pixels of what can be drawn, over white. @param {ImageBitmap | OffscreenCanvas} drawing */
function draw(drawing) {
  const { width, height } = drawing;
  const context = new OffscreenCanvas(width, height).getContext("2d", { alpha: false, willReadFrequently: true });
  if (!context) throw new Error("this browser has no canvas for pictures");
  context.fillStyle = "#fff";
  context.fillRect(0, 0, width, height);
  context.drawImage(drawing, 0, 0);
  return context.getImageData(0, 0, width, height).data;
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
  const upright = resize2d(pixels, { width, height, channels }, columns, rows);
  const result = new Uint8Array(format.width * format.height * channels);
  const [left, top] = [Math.floor((format.width - part.across) / 2), Math.floor((format.height - part.down) / 2)];
  for (let row = 0; row < part.down; row += 1) {
    const line = upright.subarray(row * part.across * channels, (row + 1) * part.across * channels);
    result.set(line, ((top + row) * format.width + left) * channels);
  }
  return result;
}

/**
 * Return RGBA pixels (of 3 channels) or grey ones at another size, first across, then down.
 *
 * @param {Uint8ClampedArray} pixels @param {{ width: number, height: number, channels: number }} size
 * @param {Weights[]} columns @param {Weights[]} rows
 */
function resize2d(pixels, { height, channels }, columns, rows) {
  const wide = resize(pixels, { lines: height, step: channels === 1 ? 1 : 4, channels }, columns);
  const turned = transpose(wide, height, columns.length, channels);
  const whole = resize(turned, { lines: columns.length, step: channels, channels }, rows);
  return transpose(whole, columns.length, rows.length, channels);
}

/**
 * Return the nearest pixel of each new one, as Pillow has it: the positions are a running sum.
 *
 * @param {number} size @param {number} count @returns {Weights[]}
 */
function findNearest(size, count) {
  const step = size / count;
  const weights = Int32Array.of(2 ** PRECISION);
  let middle = step / 2;
  return Array.from({ length: count }, () => {
    const first = Math.min(size - 1, Math.trunc(middle));
    middle += step;
    return { first, weights };
  });
}

/**
 * Return where the filter of each new pixel begins, and its weights, as Pillow has them.
 *
 * @param {number} size @param {number} low @param {number} high @param {number} count
 * @param {number} [filter] @returns {Weights[]}
 */
function findWeights(size, low, high, count, filter = TRIANGLE) {
  const { reach: near, weigh } = /** @type {(typeof FILTERS)[number]} */ (FILTERS[filter]);
  const start = Math.fround(low);
  const scale = Math.fround(Math.fround(high) - start) / count;
  const stretch = Math.max(scale, 1);
  const reach = near * stretch;
  return Array.from({ length: count }, (_, index) => {
    const middle = start + (index + 0.5) * scale;
    const first = Math.max(0, Math.trunc(middle - reach + 0.5));
    const last = Math.min(size, Math.trunc(middle + reach + 0.5));
    const shares = Array.from({ length: last - first }, (_, at) => weigh((at + first - middle + 0.5) * (1 / stretch)));
    const sum = shares.reduce((total, share) => total + share, 0);
    const round = (/** @type {number} */ share) => Math.trunc((share < 0 ? -0.5 : 0.5) + (share / sum) * 2 ** PRECISION);
    return { first, weights: Int32Array.from(shares, round) };
  });
}

/**
 * Return lines of pixels at another length; `step` is the distance between two pixels of a line.
 *
 * @param {Uint8ClampedArray} pixels @param {{ lines: number, step: number, channels: number }} form
 * @param {Weights[]} places
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
