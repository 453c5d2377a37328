/** Numbers of a square grid as shades between the colours of two classes. */

/** The number of colours between one class and the other. */
const SHADES = 256;

/** A single pixel, which tells what a colour is made of. */
const pixel = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });

/**
 * Return colours of an element's style, each as red, green and blue.
 * @param {Element} element
 * @param {string[]} names
 */
export function colours(element, names) {
  const style = getComputedStyle(element);
  return names.map((name) => {
    pixel.fillStyle = style.getPropertyValue(name);
    pixel.fillRect(0, 0, 1, 1);
    return [...pixel.getImageData(0, 0, 1, 1).data.slice(0, 3)];
  });
}

/**
 * Return the pixels of all shades, from the first colour through the ground to the second.
 * @param {number[][]} ends the first colour, the second, and the ground
 * @param {number} strength how much of a colour there is at its end, up to 1
 */
export function shades([first, second, ground], strength) {
  const pixels = new Uint8ClampedArray(4 * SHADES);
  for (let shade = 0; shade < SHADES; shade += 1) {
    const share = (2 * shade) / (SHADES - 1) - 1;
    const end = share > 0 ? second : first;
    const mixed = ground.map((value, k) => value + strength * Math.abs(share) * (end[k] - value));
    pixels.set([...mixed, 255], 4 * shade);
  }
  return new Uint32Array(pixels.buffer);
}

/**
 * Paint a square grid, whose first row is at the bottom, on a canvas with a pixel for each cell.
 * @param {HTMLCanvasElement | OffscreenCanvas} canvas
 * @param {ArrayLike<number>} shares from 0, the first colour, to 1, the second
 * @param {Uint32Array} table what `shades` returned
 */
export function paint(canvas, shares, table) {
  const side = Math.round(Math.sqrt(shares.length));
  if (canvas.width !== side || canvas.height !== side) [canvas.width, canvas.height] = [side, side];
  const image = new ImageData(side, side);
  const pixels = new Uint32Array(image.data.buffer);
  for (let row = 0; row < side; row += 1) {
    const line = (side - 1 - row) * side;
    for (let column = 0; column < side; column += 1) {
      pixels[line + column] = table[Math.round(shares[row * side + column] * (SHADES - 1))];
    }
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
}
