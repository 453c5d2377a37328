/** Pictures of any size, brought to the size of a model. */

import type { Memory } from "./files.js";

export type Fit = "crop" | "pad" | "stretch";

/** What pictures are brought to; `channels` is 1 for grey, or 3. */
export interface Format {
  width: number;
  height: number;
  channels: number;
  fit: Fit;
}

/** The part of a picture that is taken, and the size that it gets. */
export interface Part {
  left: number;
  top: number;
  right: number;
  bottom: number;
  across: number;
  down: number;
}

/**
 * Return the pixels of a picture of Python: anything that a canvas can draw, a file as a buffer, or
 * RGBA pixels of the `size` that the options have beside those of the format.
 */
export function fit(source: Memory | ImageBitmapSource, options: string): Promise<Uint8Array<ArrayBuffer>>;

/** A picture that is decoded: RGBA over white. */
export interface DecodedPicture {
  width: number;
  height: number;
  pixels: Uint8ClampedArray;
}

/** Return a picture of Python, decoded; the options have the `size` of RGBA pixels. */
export function open(source: Memory | ImageBitmapSource, options: string): Promise<DecodedPicture>;

/** Return the RGB pixels of a picture at another size; `filter` is a number of Pillow's resampling. */
export function resample(
  picture: DecodedPicture,
  across: number,
  down: number,
  filter: number,
): Uint8Array<ArrayBuffer>;

/** Return the width and the height of a picture of Python as it is to be seen. */
export function measure(source: Memory | ImageBitmapSource, options: string): Promise<[number, number]>;

/** Return the size of anything that a canvas can draw, or of a file, as it is to be seen. */
export function measurePicture(picture: ImageBitmapSource): Promise<{ width: number; height: number }>;

/** Return the pixels of anything that a canvas can draw, or of a file: rows of grey or RGB. */
export function fitPicture(picture: ImageBitmapSource, format: Format): Promise<Uint8Array<ArrayBuffer>>;

/** Return the pixels of what is drawn already: rows of grey or RGB. */
export function fitDrawing(drawing: ImageBitmap | OffscreenCanvas, format: Format): Uint8Array<ArrayBuffer>;

/** Return the part of a picture of a size that is taken. */
export function findPart(
  size: { width: number; height: number },
  format: Omit<Format, "channels">,
): Part;
