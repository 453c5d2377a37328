/** What networks find in a picture, drawn over it: masks in colours, maps in grey. */

const STRENGTH = 0.55;
const BYTE = 255;

/**
 * Colour the pixels of a mask on a canvas of its size.
 * @param {HTMLCanvasElement} canvas
 * @param {Uint8Array} mask one byte for each pixel, 0 where there is nothing
 * @param {number[]} colour red, green and blue
 */
export function colourMask(canvas, mask, colour) {
  const context = canvas.getContext("2d");
  const image = context.getImageData(0, 0, canvas.width, canvas.height);
  for (let pixel = 0; pixel < mask.length; pixel++) {
    if (!mask[pixel]) continue;
    for (let channel = 0; channel < colour.length; channel++) {
      const index = 4 * pixel + channel;
      image.data[index] += STRENGTH * (colour[channel] - image.data[index]);
    }
  }
  context.putImageData(image, 0, 0);
}

/**
 * Draw a map of bytes in grey on a canvas of its size.
 * @param {HTMLCanvasElement} canvas
 * @param {Uint8Array} values
 */
export function drawMap(canvas, values) {
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  for (let pixel = 0; pixel < values.length; pixel++) {
    image.data.fill(values[pixel], 4 * pixel, 4 * pixel + 3);
    image.data[4 * pixel + 3] = BYTE;
  }
  context.putImageData(image, 0, 0);
}
