/**
 * The units of the data and those of the model: what Python's webnnm/data/preparation/standardize.py
 * does.
 *
 * @module
 */

/** Logarithms above this are those of numbers that float32 does not hold. */
const MAX_LOGARITHM = 88;

/** Return numbers as the model takes them. @param {ArrayLike<number>} flat @param {Scale} scale */
export function standardize(flat, { mean, std, repeat, quantiles }) {
  return Float32Array.from(flat, (value, index) => {
    const feature = Math.floor(index / repeat) % mean.length;
    const knots = quantiles?.[feature];
    const number = knots ? interpolate(value, knots[0], knots[1]) : value;
    return (number - Number(mean[feature])) / Number(std[feature]);
  });
}

/** Return numbers in the units of the data. @param {number[]} values @param {Scale} target */
export function undo(values, { mean, std, repeat, coarse, logarithm, quantiles }) {
  return values.map((value, index) => {
    const feature = Math.floor(index / repeat) % mean.length;
    const scaled = value * Number(std[feature]) + Number(mean[feature]);
    const knots = quantiles?.[feature];
    const mapped = knots ? interpolate(scaled, knots[1], knots[0]) : scaled;
    const number = logarithm ? Math.expm1(Math.min(mapped, MAX_LOGARITHM)) : mapped;
    return coarse ? number : Math.fround(number);
  });
}

/** The value of the piecewise linear function through points. @param {number} value @param {number[]} xs @param {number[]} ys */
function interpolate(value, xs, ys) {
  const last = xs.length - 1;
  const middle = Math.floor(xs.length / 2);
  const after = xs.findIndex((x) => x > value);
  const index = (after < 0 ? xs.length : after) - 1;
  let [start, first, second] = [index, index, index + 1];
  if (index < 0) [start, first, second] = [0, 0, Math.max(Math.min(1, last), middle)];
  else if (index >= last) [start, first, second] = [last, Math.min(Math.max(0, last - 1), middle), last];
  const [x, y, x1, y1, x2, y2] = [xs[start], ys[start], xs[first], ys[first], xs[second], ys[second]].map(Number);
  const slope = last ? (Number(y2) - Number(y1)) / (Number(x2) - Number(x1)) : 1;
  return Number(y) + (value - Number(x)) * slope;
}
