/**
 * The picture that all contestants look at, 224 × 224.
 *
 * @module
 */

/** Numbers from 0 to 1 for three channels, in planes or, for `interleaved`, pixel by pixel.
 * @param {boolean} interleaved */
export function picture(interleaved) {
  const side = 224;
  const values = new Float32Array(3 * side * side);
  for (let at = 0; at < side * side; at += 1) {
    for (let channel = 0; channel < 3; channel += 1) {
      const value = (Math.sin(at * 0.001 * (channel + 1)) + 1) / 2;
      values[interleaved ? 3 * at + channel : channel * side * side + at] = value;
    }
  }
  return values;
}
