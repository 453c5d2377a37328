/**
 * The operators of WebNN in plain JavaScript: one table, called as MLGraphBuilder's methods are.
 *
 * @module
 * @typedef {Float32Array<ArrayBuffer> | Int32Array<ArrayBuffer>} Data floats, and integers
 * @typedef {{ data: Data, shape: number[] }} Tensor
 */

/** @param {number[]} shape */
const product = (shape) => shape.reduce((size, factor) => size * factor, 1);

/** New memory for floats or integers, as another tensor has them. @param {Tensor} like @param {number} size */
const allocate = (like, size) => /** @type {Data} */ (
  like.data instanceof Float32Array ? new Float32Array(size) : new Int32Array(size));

/** How far apart neighbours along each axis are. @param {number[]} shape */
const stridesOf = (shape) => shape.map((_, axis) => product(shape.slice(axis + 1)));

/**
 * Return where the elements of a shape are, in their order.
 *
 * @param {number[]} shape @param {number[]} strides @param {number} start
 */
function locate(shape, strides, start = 0) {
  let offsets = Int32Array.of(start);
  shape.forEach((size, axis) => {
    const stride = Number(strides[axis]);
    const next = new Int32Array(offsets.length * size);
    for (let outer = 0, index = 0; outer < offsets.length; outer += 1) {
      for (let k = 0; k < size; k += 1, index += 1) next[index] = Number(offsets[outer]) + k * stride;
    }
    offsets = next;
  });
  return offsets;
}

/** Return elements at offsets. @param {Tensor} x @param {number[]} shape @param {Int32Array} offsets */
function pick(x, shape, offsets) {
  const data = allocate(x, offsets.length);
  for (let index = 0; index < data.length; index += 1) data[index] = Number(x.data[Number(offsets[index])]);
  return { data, shape };
}

/** Strides with which a tensor is read as one of a larger shape. @param {Tensor} x @param {number[]} shape */
function broadcastStrides(x, shape) {
  const missing = shape.length - x.shape.length;
  const strides = stridesOf(x.shape);
  return shape.map((_, axis) => (axis < missing || x.shape[axis - missing] === 1 ? 0 : Number(strides[axis - missing])));
}

/** @param {Tensor} x @param {number[]} shape @returns {Tensor} */
function expand(x, shape) {
  if (String(x.shape) === String(shape)) return x;
  return pick(x, shape, locate(shape, broadcastStrides(x, shape)));
}

/** @param {number[][]} shapes */
function broadcastShape(...shapes) {
  const rank = Math.max(...shapes.map(({ length }) => length));
  return Array.from({ length: rank }, (_, axis) => (
    shapes.reduce((size, shape) => {
      const own = shape[axis - rank + shape.length] ?? 1;
      return own === 1 ? size : own;
    }, 1)));
}

/** @typedef {(...numbers: number[]) => number} Formula */

/** @param {Formula} formula */
const unary = (formula) => (/** @type {Tensor} */ x) => {
  const data = allocate(x, x.data.length);
  for (let index = 0; index < data.length; index += 1) data[index] = formula(Number(x.data[index]));
  return { data, shape: x.shape };
};

/** @param {Formula} formula @param {boolean} [truth] whether the result is a truth value */
const binary = (formula, truth) => (/** @type {Tensor} */ x, /** @type {Tensor} */ y) => {
  const shape = broadcastShape(x.shape, y.shape);
  const [a, b] = [expand(x, shape).data, expand(y, shape).data];
  const data = truth ? new Int32Array(a.length) : allocate(x, a.length);
  for (let index = 0; index < data.length; index += 1) data[index] = formula(Number(a[index]), Number(b[index]));
  return { data, shape };
};

/** @param {(a: number, b: number) => boolean} test */
const compare = (test) => binary((a, b) => Number(test(Number(a), Number(b))), true);

/** Halves go to the even neighbour. @param {number} x */
function roundEven(x) {
  const rounded = Math.round(x);
  return Math.abs(x % 1) === 0.5 && rounded % 2 !== 0 ? rounded - 1 : rounded;
}

/** The error function, to 1.2e-7 of its complement (Numerical Recipes, erfc). @param {number} x */
function erf(x) {
  const z = Math.abs(x);
  const t = 1 / (1 + z / 2);
  const terms = [
    0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807, -0.18628806, 0.09678418,
    0.37409196, 1.00002368, -1.26551223,
  ];
  const power = terms.reduce((sum, term) => sum * t + term, 0);
  const rest = t * Math.exp(power - z * z);
  return x >= 0 ? 1 - rest : rest - 1;
}

/** @param {Tensor} x @param {number[]} axes @returns {Tensor} */
function transpose(x, axes) {
  const strides = stridesOf(x.shape);
  const shape = axes.map((axis) => Number(x.shape[axis]));
  return pick(x, shape, locate(shape, axes.map((axis) => Number(strides[axis]))));
}

/** @param {Tensor} x @param {Tensor} y @returns {Tensor} */
function matmul(x, y) {
  const [rows, inner] = /** @type {[number, number]} */ (x.shape.slice(-2));
  const columns = Number(y.shape.at(-1));
  const lead = broadcastShape(x.shape.slice(0, -2), y.shape.slice(0, -2));
  const a = expand(x, [...lead, rows, inner]).data;
  const b = expand(y, [...lead, inner, columns]).data;
  const data = allocate(x, product(lead) * rows * columns);
  const sums = new Float64Array(columns);
  for (let row = 0; row < product(lead) * rows; row += 1) {
    const first = Math.floor(row / rows) * inner * columns;
    sums.fill(0);
    for (let k = 0; k < inner; k += 1) {
      const factor = Number(a[row * inner + k]);
      const at = first + k * columns;
      for (let column = 0; column < columns; column += 1) {
        sums[column] = Number(sums[column]) + factor * Number(b[at + column]);
      }
    }
    data.set(sums, row * columns);
  }
  return { data, shape: [...lead, rows, columns] };
}

/** @param {Tensor} a @param {Tensor} b @param {any} options @returns {Tensor} */
function gemm(a, b, { c, alpha = 1, beta = 1, aTranspose, bTranspose }) {
  const product = matmul(aTranspose ? transpose(a, [1, 0]) : a, bTranspose ? transpose(b, [1, 0]) : b);
  const scaled = alpha === 1 ? product : unary((x) => Number(x) * alpha)(product);
  if (!c) return scaled;
  return binary((x, y) => Number(x) + beta * Number(y))(scaled, c);
}

/**
 * Reduce axes: `step` takes the result so far and the next number, `end` the last and their count.
 *
 * @param {number} start @param {Formula} step @param {Formula} end
 */
const reduce = (start, step, end = (x) => Number(x)) => (
  /** @type {Tensor} */ x, /** @type {any} */ { axes = x.shape.map((_, axis) => axis), keepDimensions },
) => {
  const strides = stridesOf(x.shape);
  const kept = x.shape.map((_, axis) => axis).filter((axis) => !axes.includes(axis));
  const sizes = (/** @type {number[]} */ of) => of.map((axis) => Number(x.shape[axis]));
  const steps = (/** @type {number[]} */ of) => of.map((axis) => Number(strides[axis]));
  const starts = locate(sizes(kept), steps(kept));
  const parts = locate(sizes(axes), steps(axes));
  const data = allocate(x, starts.length);
  for (let index = 0; index < data.length; index += 1) {
    let result = start;
    for (let part = 0; part < parts.length; part += 1) {
      result = step(result, Number(x.data[Number(starts[index]) + Number(parts[part])]));
    }
    data[index] = end(result, parts.length);
  }
  const shape = x.shape.map((size, axis) => (axes.includes(axis) ? 1 : size));
  return { data, shape: keepDimensions ? shape : sizes(kept) };
};

const sum = reduce(0, (a, b) => Number(a) + Number(b));
const maximum = reduce(-Infinity, Math.max);

/** @param {Tensor} x @param {number} axis @returns {Tensor} */
function softmax(x, axis) {
  const options = { axes: [axis < 0 ? axis + x.shape.length : axis], keepDimensions: true };
  const powers = binary((a, b) => Math.exp(Number(a) - Number(b)))(x, maximum(x, options));
  return KERNELS.div?.(powers, sum(powers, options));
}

/** @param {(a: number, b: number) => boolean} better */
const extremum = (better) => (/** @type {Tensor} */ x, /** @type {number} */ axis, /** @type {any} */ options) => {
  const size = Number(x.shape[axis]);
  const last = transpose(x, [...x.shape.keys()].filter((other) => other !== axis).concat(axis));
  const data = new Int32Array(last.data.length / size);
  for (let row = 0; row < data.length; row += 1) {
    let best = 0;
    for (let k = 1; k < size; k += 1) {
      const [value, top] = [Number(last.data[row * size + k]), Number(last.data[row * size + best])];
      if (better(value, top) || (Number.isNaN(value) && !Number.isNaN(top))) best = k;
    }
    data[row] = best;
  }
  const shape = options.keepDimensions ? x.shape.map((n, k) => (k === axis ? 1 : n)) : last.shape.slice(0, -1);
  return { data, shape };
};

/** @param {Tensor[]} parts @param {number} axis @returns {Tensor} */
function concat(parts, axis) {
  const [first] = /** @type {[Tensor]} */ (parts);
  const shape = first.shape.slice();
  shape[axis] = parts.reduce((size, part) => size + Number(part.shape[axis]), 0);
  const data = allocate(first, product(shape));
  const outer = product(shape.slice(0, axis));
  let start = 0;
  for (const part of parts) {
    const width = part.data.length / outer;
    for (let row = 0; row < outer; row += 1) {
      data.set(part.data.subarray(row * width, (row + 1) * width), (row * data.length) / outer + start);
    }
    start += width;
  }
  return { data, shape };
}

/** @param {Tensor} x @param {number[]} starts @param {number[]} sizes @param {any} options @returns {Tensor} */
function slice(x, starts, sizes, { strides = sizes.map(() => 1) } = {}) {
  const own = stridesOf(x.shape);
  const start = starts.reduce((offset, first, axis) => offset + first * Number(own[axis]), 0);
  const shape = sizes.map((size, axis) => Math.ceil(size / strides[axis]));
  return pick(x, shape, locate(shape, own.map((stride, axis) => stride * strides[axis]), start));
}

/** @param {Tensor} x @param {number | number[]} splits @param {any} options @returns {Tensor[]} */
function split(x, splits, { axis = 0 }) {
  const whole = Number(x.shape[axis]);
  const sizes = typeof splits === "number" ? Array(splits).fill(whole / splits) : splits;
  let first = 0;
  return sizes.map((size) => {
    const starts = x.shape.map((_, other) => (other === axis ? first : 0));
    first += size;
    return slice(x, starts, x.shape.map((n, other) => (other === axis ? size : n)));
  });
}

/** @param {Tensor} x @param {Tensor} indices @param {any} options @returns {Tensor} */
function gather(x, indices, { axis = 0 }) {
  const size = Number(x.shape[axis]);
  const width = product(x.shape.slice(axis + 1));
  const outer = product(x.shape.slice(0, axis));
  const data = allocate(x, outer * indices.data.length * width);
  let target = 0;
  for (let row = 0; row < outer; row += 1) {
    for (const index of indices.data) {
      const clamped = Math.min(Math.max(index < 0 ? index + size : index, 0), size - 1);
      const first = (row * size + clamped) * width;
      data.set(x.data.subarray(first, first + width), target);
      target += width;
    }
  }
  return { data, shape: [...x.shape.slice(0, axis), ...indices.shape, ...x.shape.slice(axis + 1)] };
}

/** @param {Tensor} x @param {number[]} before @param {number[]} after @param {any} options @returns {Tensor} */
function pad(x, before, after, { mode = "constant", value = 0 }) {
  const strides = stridesOf(x.shape);
  let offsets = [0];
  x.shape.forEach((size, axis) => {
    const length = Number(before[axis]) + size + Number(after[axis]);
    const sources = Array.from({ length }, (_, k) => sourceOf(k - Number(before[axis]), size, mode));
    offsets = offsets.flatMap((offset) => sources.map((k) => (
      k === null || Number.isNaN(offset) ? Number.NaN : offset + k * Number(strides[axis]))));
  });
  const shape = x.shape.map((size, axis) => Number(before[axis]) + size + Number(after[axis]));
  const data = allocate(x, offsets.length);
  offsets.forEach((offset, index) => { data[index] = Number.isNaN(offset) ? Number(value) : Number(x.data[offset]); });
  return { data, shape };
}

/** Where a padded element comes from, null if it is constant. @param {number} k @param {number} size @param {string} mode */
function sourceOf(k, size, mode) {
  if (k >= 0 && k < size) return k;
  if (mode === "edge") return k < 0 ? 0 : size - 1;
  if (mode === "reflection") return k < 0 ? -k : 2 * (size - 1) - k;
  return null;
}

/**
 * For each step of a window along an axis, its elements that are not padding, with their sources.
 *
 * @param {number} size @param {number} places @param {number} window @param {number} stride
 * @param {number} dilation @param {number} padding
 */
function windows(size, places, window, stride, dilation, padding) {
  return Array.from({ length: places }, (_, place) => {
    const inside = [];
    for (let k = 0; k < window; k += 1) {
      const source = place * stride + k * dilation - padding;
      if (source >= 0 && source < size) inside.push([k, source]);
    }
    return inside;
  });
}

/** @param {number} size @param {number} window @param {number} stride @param {number} dilation @param {number} padding both */
const places = (size, window, stride, dilation, padding, rounding = Math.floor) => (
  rounding((size + padding - (window - 1) * dilation - 1) / stride) + 1);

const TO_NCHW = [0, 3, 1, 2];
const TO_NHWC = [0, 2, 3, 1];
/** How filters of each layout become [out, in, height, width]. @type {Record<string, number[]>} */
const TO_OIHW = { hwio: [3, 2, 0, 1], ohwi: [0, 3, 1, 2], ihwo: [3, 0, 1, 2] };

/** @param {Tensor} image @param {Tensor} filter @param {any} options @returns {Tensor} */
function conv2d(image, filter, options) {
  const { padding = [0, 0, 0, 0], strides = [1, 1], dilations = [1, 1], groups = 1, bias } = options;
  const { inputLayout = "nchw", filterLayout = "oihw" } = options;
  const x = inputLayout === "nhwc" ? transpose(image, TO_NCHW) : image;
  const order = TO_OIHW[filterLayout];
  const w = order ? transpose(filter, order) : filter;
  const [batch, channels, height, width] = /** @type {[number, number, number, number]} */ (x.shape);
  const [out, inner, high, wide] = /** @type {[number, number, number, number]} */ (w.shape);
  const rows = windows(height, places(height, high, strides[0], dilations[0], padding[0] + padding[1]), high, strides[0], dilations[0], padding[0]);
  const columns = windows(width, places(width, wide, strides[1], dilations[1], padding[2] + padding[3]), wide, strides[1], dilations[1], padding[2]);
  const data = allocate(x, batch * out * rows.length * columns.length);
  let target = 0;
  for (let n = 0; n < batch; n += 1) {
    for (let o = 0; o < out; o += 1) {
      const group = Math.floor((o * groups) / out) * inner;
      for (const row of rows) {
        for (const column of columns) {
          let total = bias ? Number(bias.data[o]) : 0;
          for (let c = 0; c < inner; c += 1) {
            const plane = (n * channels + group + c) * height;
            const kernel = (o * inner + c) * high;
            for (const [k = 0, y = 0] of row) {
              const line = (plane + y) * width;
              const weights = (kernel + k) * wide;
              for (const [j = 0, at = 0] of column) {
                total += Number(x.data[line + at]) * Number(w.data[weights + j]);
              }
            }
          }
          data[target] = total;
          target += 1;
        }
      }
    }
  }
  const result = { data, shape: [batch, out, rows.length, columns.length] };
  return inputLayout === "nhwc" ? transpose(result, TO_NHWC) : result;
}

/** @param {number} start @param {Formula} step @param {Formula} end */
const pool = (start, step, end = (x) => Number(x)) => (/** @type {Tensor} */ image, /** @type {any} */ options) => {
  const { padding = [0, 0, 0, 0], strides = [1, 1], dilations = [1, 1], layout = "nchw" } = options;
  const x = layout === "nhwc" ? transpose(image, TO_NCHW) : image;
  const [batch, channels, height, width] = /** @type {[number, number, number, number]} */ (x.shape);
  const [high, wide] = options.windowDimensions ?? [height, width];
  const rounding = options.outputShapeRounding === "ceil" ? Math.ceil : Math.floor;
  const [down, across] = options.outputSizes ?? [
    places(height, high, strides[0], dilations[0], padding[0] + padding[1], rounding),
    places(width, wide, strides[1], dilations[1], padding[2] + padding[3], rounding),
  ];
  const rows = windows(height, down, high, strides[0], dilations[0], padding[0]);
  const columns = windows(width, across, wide, strides[1], dilations[1], padding[2]);
  const data = allocate(x, batch * channels * down * across);
  let target = 0;
  for (let plane = 0; plane < batch * channels; plane += 1) {
    for (const row of rows) {
      for (const column of columns) {
        let result = start;
        for (const [, y = 0] of row) {
          for (const [, at = 0] of column) result = step(result, Number(x.data[(plane * height + y) * width + at]));
        }
        data[target] = end(result, row.length * column.length);
        target += 1;
      }
    }
  }
  const result = { data, shape: [batch, channels, down, across] };
  return layout === "nhwc" ? transpose(result, TO_NHWC) : result;
};

/** @param {Tensor} condition @param {Tensor} yes @param {Tensor} no @returns {Tensor} */
function where(condition, yes, no) {
  const shape = broadcastShape(condition.shape, yes.shape, no.shape);
  const [choice, a, b] = [condition, yes, no].map((x) => expand(x, shape).data);
  const data = allocate(yes, product(shape));
  for (let index = 0; index < data.length; index += 1) data[index] = Number((choice?.[index] ? a : b)?.[index]);
  return { data, shape };
}

/** The least and the largest number of each type. @type {Record<string, [number, number]>} */
const RANGES = { int32: [-(2 ** 31), 2 ** 31 - 1], int8: [-128, 127], uint8: [0, 255] };

/** Floats become the nearest integer of a type, integers wrap around. @param {Tensor} x @param {string} type @returns {Tensor} */
function cast(x, type) {
  const range = RANGES[type];
  if (!range) return { data: Float32Array.from(x.data), shape: x.shape };
  const [least, largest] = range;
  const size = largest - least + 1;
  const convert = x.data instanceof Float32Array
    ? (/** @type {number} */ value) => Math.min(Math.max(value, least), largest)
    : (/** @type {number} */ value) => ((((value - least) % size) + size) % size) + least;
  return { data: Int32Array.from(x.data, convert), shape: x.shape };
}

/** @param {Tensor} x @param {number[]} repetitions */
function tile(x, repetitions) {
  const shape = x.shape.map((size, axis) => size * Number(repetitions[axis]));
  const repeated = x.shape.flatMap((size, axis) => [Number(repetitions[axis]), size]);
  const strides = stridesOf(x.shape).flatMap((stride) => [0, stride]);
  return pick(x, shape, locate(repeated, strides));
}

/** @param {Tensor} x @param {{ upper?: boolean, diagonal?: number }} options */
function triangular(x, { upper = true, diagonal = 0 }) {
  const [rows = 1, columns = 1] = x.shape.slice(-2);
  const data = allocate(x, x.data.length);
  for (let index = 0; index < data.length; index += 1) {
    const offset = (index % columns) - (Math.floor(index / columns) % rows) - diagonal;
    if (upper ? offset >= 0 : offset <= 0) data[index] = Number(x.data[index]);
  }
  return { data, shape: x.shape };
}

/** The table of all operators. @type {Record<string, (...operands: any[]) => any>} */
export const KERNELS = {
  abs: unary(Math.abs),
  add: binary((a, b) => Number(a) + Number(b)),
  argMax: extremum((a, b) => a > b),
  argMin: extremum((a, b) => a < b),
  averagePool2d: pool(0, (a, b) => Number(a) + Number(b), (total, count) => Number(total) / Number(count)),
  cast,
  ceil: unary(Math.ceil),
  clamp: (x, { minValue = -Infinity, maxValue = Infinity }) => (
    unary((value) => Math.min(Math.max(Number(value), Number(minValue)), Number(maxValue)))(x)),
  concat,
  conv2d,
  cos: unary(Math.cos),
  div: (x, y) => {
    const whole = !(x.data instanceof Float32Array);
    return binary((a, b) => (whole ? Math.trunc(Number(a) / Number(b)) : Number(a) / Number(b)))(x, y);
  },
  equal: compare((a, b) => a === b),
  erf: unary(erf),
  exp: unary(Math.exp),
  expand,
  floor: unary(Math.floor),
  gather,
  gemm,
  greater: compare((a, b) => a > b),
  greaterOrEqual: compare((a, b) => a >= b),
  identity: (x) => x,
  lesser: compare((a, b) => a < b),
  lesserOrEqual: compare((a, b) => a <= b),
  log: unary(Math.log),
  logicalAnd: compare((a, b) => Boolean(a && b)),
  logicalNot: unary((x) => Number(!x)),
  logicalOr: compare((a, b) => Boolean(a || b)),
  matmul,
  max: binary(Math.max),
  maxPool2d: pool(-Infinity, Math.max),
  min: binary(Math.min),
  mul: binary((a, b) => Number(a) * Number(b)),
  neg: unary((x) => -Number(x)),
  notEqual: compare((a, b) => a !== b),
  pad,
  pow: binary(Math.pow),
  reciprocal: unary((x) => 1 / Number(x)),
  reduceL2: reduce(0, (a, b) => Number(a) + Number(b) * Number(b), (total) => Math.sqrt(Number(total))),
  reduceMax: maximum,
  reduceMean: reduce(0, (a, b) => Number(a) + Number(b), (total, count) => Number(total) / Number(count)),
  reduceMin: reduce(Infinity, Math.min),
  reduceSum: sum,
  reduceSumSquare: reduce(0, (a, b) => Number(a) + Number(b) * Number(b)),
  relu: unary((x) => Math.max(0, Number(x))),
  reshape: (x, shape) => ({ data: x.data, shape }),
  roundEven: unary((x) => roundEven(Number(x))),
  sigmoid: unary((x) => 1 / (1 + Math.exp(-Number(x)))),
  sign: unary(Math.sign),
  sin: unary(Math.sin),
  slice,
  softmax,
  split,
  sqrt: unary(Math.sqrt),
  sub: binary((a, b) => Number(a) - Number(b)),
  tan: unary(Math.tan),
  tanh: unary(Math.tanh),
  tile,
  transpose: (x, { permutation = [...x.shape.keys()].reverse() }) => transpose(x, permutation),
  triangular,
  where,
};
