/**
 * Pictures of a page as the numbers of a tensor, and such numbers as pictures.
 *
 * @module
 * @typedef {import("../webgpu/frames.js").Format} Format
 */

import { borrow, BridgeError, text } from "../common.js";

const WHITE = 255;
/** The shares of red, green and blue in grey (ITU-R BT.601). */
export const GREY = [0.299, 0.587, 0.114];
/** @type {Record<string, any>} */
const ARRAYS = { float32: Float32Array, uint8: Uint8ClampedArray };

/**
 * Draw a picture in the size of a canvas, black where it is transparent.
 *
 * @param {OffscreenCanvasRenderingContext2D} context @param {any} picture
 */
export function draw(context, picture) {
  const { width, height } = context.canvas;
  refuseErrors(() => {
    let source = picture;
    if (picture instanceof ImageData) {
      source = new OffscreenCanvas(picture.width, picture.height);
      contextOf(source).putImageData(picture, 0, 0);
    }
    context.imageSmoothingQuality = "high";
    context.clearRect(0, 0, width, height);
    context.drawImage(source, 0, 0, width, height);
  });
}

/**
 * Return the 2D context of a canvas.
 *
 * @param {any} canvas @param {CanvasRenderingContext2DSettings} settings
 * @returns {OffscreenCanvasRenderingContext2D}
 */
export function contextOf(canvas, settings = {}) {
  return refuseErrors(() => {
    const context = canvas.getContext("2d", settings);
    if (!context) throw new TypeError("the canvas has a context of another kind than 2d");
    return context;
  });
}

/**
 * Turn the errors of a call into those of pictures that cannot be used.
 *
 * @template T @param {() => T} call @returns {T}
 */
function refuseErrors(call) {
  try {
    return call();
  } catch (error) {
    throw new BridgeError("PictureError", text(error));
  }
}

/** @type {typeof import("../webgpu/frames.js").readPicture} */
export function readPicture(picture, formatJson) {
  /** @type {Format} */
  const format = JSON.parse(formatJson);
  const { width, height, channels } = format;
  const canvas = new OffscreenCanvas(width, height);
  const context = contextOf(canvas, { alpha: false, willReadFrequently: true });
  draw(context, picture);
  const { data } = refuseErrors(() => context.getImageData(0, 0, width, height));
  const numbers = new ARRAYS[format.dataType](width * height * channels);
  for (let channel = 0; channel < channels; channel += 1) {
    const { colours, first, step, scale, offset } = plane(format, channel);
    const parts = colours.map((part) => part / WHITE);
    const [red, green, blue] = /** @type {[number, number, number]} */ (parts);
    for (let pixel = 0, at = 0; pixel < width * height; pixel += 1, at += 4) {
      const share = red * Number(data[at]) + green * Number(data[at + 1])
        + blue * Number(data[at + 2]);
      numbers[first + pixel * step] = share * scale + offset;
    }
  }
  return new Uint8Array(numbers.buffer);
}

/** @type {typeof import("../webgpu/frames.js").paintNumbers} */
export function paintNumbers(canvas, bytes, formatJson) {
  /** @type {Format} */
  const format = JSON.parse(formatJson);
  const { width, height, channels } = format;
  const numbers = borrow(bytes, (view) => new ARRAYS[format.dataType](view.slice().buffer));
  const image = new ImageData(width, height);
  image.data.fill(WHITE);
  for (let channel = 0; channel < channels; channel += 1) {
    const { colours, first, step, scale, offset } = plane(format, channel);
    for (let colour = 0; colour < 3; colour += 1) {
      if (!colours[colour]) continue;
      for (let pixel = 0; pixel < width * height; pixel += 1) {
        image.data[4 * pixel + colour] = (numbers[first + pixel * step] * scale + offset) * WHITE;
      }
    }
  }
  Object.assign(canvas, { width, height });
  contextOf(canvas).putImageData(image, 0, 0);
}

/**
 * Return where the numbers of a channel are in a tensor, and which part each colour has in it.
 *
 * @param {Format} format @param {number} channel
 */
function plane({ width, height, channels, channelsLast, reversed, scale, offset }, channel) {
  const own = reversed ? 2 - channel : channel;
  return {
    colours: channels === 1 ? GREY : GREY.map((_, colour) => Number(colour === own)),
    first: channelsLast ? channel : channel * width * height,
    step: channelsLast ? channels : 1,
    scale: Number(scale[channel]),
    offset: Number(offset[channel]),
  };
}
