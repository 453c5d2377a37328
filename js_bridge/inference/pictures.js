/**
 * Pictures as the numbers of a model's input: what Python's webnnm/data/pictures does.
 *
 * @module
 */

import { fitPicture } from "../page/fitting.js";
import { fits, flatten, permute, refuse, refuseShape } from "./rows.js";

const WHITE = 255;
/** Shares of red, green and blue in grey, of 2 ** 16: the luma of ITU-R BT.601, as PIL has it. */
const LUMA = [19595, 38470, 7471];

/**
 * Return the pixels of anything that a canvas can draw, or of numbers, as light from 0 to 1.
 *
 * @param {string} where @param {RowFormat} format @param {any} picture
 */
export async function readPicture(where, format, picture) {
  const { fieldShape, names = [] } = format;
  if (Array.isArray(picture) || ArrayBuffer.isView(picture)) return readNumbers(where, format, picture);
  const size = (/** @type {string} */ name) => fieldShape[names.indexOf(name)] ?? 1;
  const [height, width, channels] = [size("height"), size("width"), size("channels")];
  const bytes = format.fit
    ? await fitPicture(picture, { width, height, channels, fit: format.fit }).catch((error) => {
      throw refuse("NNM802", `${where} is not a picture that the browser reads: ${error.message}`);
    })
    : selectChannels(where, await draw(picture, width, height), channels);
  const given = ["height", "width", "channels"];
  const axes = names.map((name) => given.indexOf(name));
  const ordered = permute(bytes, [height, width, channels], axes.length < 3 ? [...axes, 2] : axes, 1);
  return Float32Array.from(ordered, (value) => value / brightest(format, true));
}

/** The number that is white. @param {RowFormat} format @param {boolean} ofBytes */
function brightest({ light }, ofBytes) {
  return ofBytes && !light?.ofBytes ? WHITE : light?.white ?? 1;
}

/** @param {string} where @param {RowFormat} format @param {any} numbers */
function readNumbers(where, format, numbers) {
  const { flat, shape } = flatten(where, numbers);
  if (!fits(shape, format.fieldShape)) throw refuseShape(where, format.fieldShape, shape);
  const bytes = numbers instanceof Uint8Array || numbers instanceof Uint8ClampedArray;
  let white = brightest(format, bytes);
  const values = Array.from(flat);
  if (format.light?.ofBytes && !bytes && white > 1 && values.every((value) => value <= 1) && values.some(Boolean)) {
    if (values.every(Number.isInteger)) {
      throw refuse("NNM702", `${where}: all pixels are 0 or 1, but white was ${white}\nhint: give bytes (Uint8Array), or fractions in 0 … 1`);
    }
    white = 1;
  }
  return Float32Array.from(values, (value) => value / white);
}

/** @param {any} picture @param {number} width @param {number} height */
async function draw(picture, width, height) {
  const bitmap = await createImageBitmap(picture, { imageOrientation: "from-image" });
  const context = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  if (!context) throw new Error("this browser has no canvas for pictures");
  context.imageSmoothingQuality = "high";
  context.drawImage(bitmap, 0, 0, width, height);
  bitmap.close();
  return context.getImageData(0, 0, width, height).data;
}

/** @param {string} where @param {Uint8ClampedArray} pixels @param {number} channels */
function selectChannels(where, pixels, channels) {
  const result = new Uint8Array((pixels.length / 4) * channels);
  for (let pixel = 0; pixel < pixels.length / 4; pixel += 1) {
    const colours = pixels.subarray(4 * pixel, 4 * pixel + 4);
    const [red = 0, green = 0, blue = 0, alpha = 0] = colours;
    if (alpha < WHITE && channels % 2 === 1) {
      throw refuse("NNM702", `${where} has transparent pixels, the dataset's pictures ${channels} channels`);
    }
    const [r = 0, g = 0, b = 0] = LUMA;
    const own = channels < 3 ? [(red * r + green * g + blue * b + 0x8000) >> 16, alpha] : colours;
    for (let channel = 0; channel < channels; channel += 1) {
      result[pixel * channels + channel] = Number(own[channel]);
    }
  }
  return result;
}
