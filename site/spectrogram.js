/** Paints what a network hears: time to the right, pitch upwards, power as brightness. */

/** The powers of ten of the darkest and the brightest colour; the mean is not in the middle. */
const [LEAST, MOST] = [-1.5, 3];
/** Red, green and blue from dark to bright. */
const COLOURS = [[13, 18, 44], [58, 28, 106], [155, 41, 109], [232, 93, 66], [253, 231, 146]];

/** Paint numbers of shape [frames, bands]. @param {HTMLCanvasElement} canvas */
export function paint(canvas, /** @type {Float32Array} */ levels, frames, bands) {
  const image = new ImageData(frames, bands);
  for (let place = 0; place < levels.length; place++) {
    const [frame, band] = [Math.floor(place / bands), place % bands];
    const share = Math.min(1, Math.max(0, (levels[place] - LEAST) / (MOST - LEAST)));
    image.data.set(colour(share), 4 * ((bands - 1 - band) * frames + frame));
  }
  [canvas.width, canvas.height] = [frames, bands];
  canvas.getContext("2d").putImageData(image, 0, 0);
}

/** Return red, green, blue and opacity for a number from 0 to 1. */
function colour(/** @type {number} */ share) {
  const place = share * (COLOURS.length - 1);
  const below = Math.min(COLOURS.length - 2, Math.floor(place));
  const mixed = COLOURS[below].map((value, part) => {
    return value + (place - below) * (COLOURS[below + 1][part] - value);
  });
  return [...mixed, 255];
}
