/**
 * Layers on WebNN written by hand: each has a forward and a backward half.
 *
 * @module
 * @typedef {import("./webnn.js").Step | import("./webnn.js").Forward} Step
 */

/**
 * A layer x·w + b, or x·w, with its gradients.
 *
 * @param {Step} step @param {string} weight @param {string | null} bias
 * @param {number} inputs @param {number} units @param {Float32Array} [data]
 */
export function dense(step, weight, bias, inputs, units, data = step.numbers(weight)) {
  const { b } = step;
  const w = step.parameter(weight, [inputs, units], data);
  const c = bias && step.parameter(bias, [units]);
  return {
    /** @param {any} x */
    forward: (x) => (c ? b.add(b.matmul(x, w), c) : b.matmul(x, w)),
    /** @param {any} x @param {any} g @param {boolean} further */
    backward(x, g, further = true) {
      if (bias) step.learn(bias, c, b.reduceSum(g, { axes: [0] }));
      step.learn(weight, w, b.matmul(b.transpose(x), g));
      return further ? b.matmul(g, b.transpose(w)) : null;
    },
  };
}

/** The function x·Φ(x), with its gradient Φ(x) + x·φ(x). @param {Step} step */
export function gelu(step) {
  const { b } = step;
  const half = step.number(0.5);
  /** @type {any} */
  let kept = null;
  return {
    /** @param {any} x */
    forward(x) {
      const share = b.add(b.mul(b.erf(b.mul(x, step.number(Math.SQRT1_2))), half), half);
      kept = { x, share };
      return b.mul(x, share);
    },
    /** @param {any} g */
    backward(g) {
      const { x, share } = kept;
      const bell = b.exp(b.mul(b.mul(x, x), step.number(-0.5)));
      const slope = b.mul(b.mul(x, bell), step.number((2 * Math.PI) ** -0.5));
      return b.mul(g, b.add(share, slope));
    },
  };
}

/** The gradient of relu, whose result is `y`. @param {Step} step @param {any} g @param {any} y */
export function behindRelu({ b }, g, y) {
  return b.mul(g, b.sign(y));
}

/**
 * A convolution, channels last, with its gradients: that of the filter is the convolution of the
 * data with the gradient, batch and channels having changed places.
 *
 * @param {Step} step @param {string} filter @param {string} bias
 * @param {number[]} shape of the filter: outputs, height, width, inputs @param {number} padding
 */
export function conv(step, filter, bias, shape, padding) {
  const { b } = step;
  const [outputs = 0, height = 0, width = 0, inputs = 0] = shape;
  const f = step.parameter(
    filter, shape, channelsLast(step.numbers(filter), inputs, height * width, 1),
  );
  const c = step.parameter(bias, [outputs]);
  const layouts = { inputLayout: "nhwc", filterLayout: "ohwi" };
  const padded = { ...layouts, padding: Array(4).fill(padding) };
  const exchange = { permutation: [3, 1, 2, 0] };
  return {
    /** @param {any} x */
    forward: (x) => b.conv2d(x, f, { ...padded, bias: c }),
    /** @param {any} x @param {any} g @param {boolean} further */
    backward(x, g, further = true) {
      step.learn(bias, c, b.reduceSum(g, { axes: [0, 1, 2] }));
      const moved = b.conv2d(b.transpose(x, exchange), b.transpose(g, exchange), padded);
      step.learn(filter, f, b.transpose(moved, exchange));
      return further ? b.convTranspose2d(g, b.transpose(f, exchange), layouts) : null;
    },
  };
}

/**
 * The gradient of relu and pooling in windows of 2 × 2: it goes to the elements that are the
 * largest of their window and above 0.
 *
 * @param {Step} step @param {any} g @param {any} pooled @param {any} y what was pooled
 */
export function behindPooling(step, g, pooled, y) {
  const { b } = step;
  const spread = (/** @type {any} */ t) => (
    b.resample2d(t, { mode: "nearest-neighbor", scales: [2, 2], axes: [1, 2] })
  );
  // The difference is 0 at the largest and below 0 elsewhere.
  const largest = b.add(b.sign(b.sub(y, spread(pooled))), step.number(1));
  return b.mul(spread(b.mul(g, b.sign(pooled))), largest);
}

/** Turn `[outer, channels, places, inner]` into `[outer, places, channels, inner]`.
 * @param {Float32Array} values @param {number} channels @param {number} places
 * @param {number} inner */
export function channelsLast(values, channels, places, inner) {
  return values.map((_, at) => {
    const outer = Math.floor(at / (channels * places * inner));
    const channel = Math.floor(at / inner) % channels;
    const place = Math.floor(at / (inner * channels)) % places;
    return /** @type {number} */ (
      values[((outer * channels + channel) * places + place) * inner + (at % inner)]
    );
  });
}

/** Turn `[rows, columns]` into `[columns, rows]`.
 * @param {Float32Array} values @param {number} rows @param {number} columns */
export const turned = (values, rows, columns) => channelsLast(values, rows, columns, 1);

/**
 * Layer normalisation over the last of two dimensions, with its gradients.
 *
 * @param {Step} step @param {string} scale @param {string | null} bias @param {number} width
 */
export function layerNorm(step, scale, bias, width) {
  const { b } = step;
  const s = step.parameter(scale, [width]);
  const t = bias && step.parameter(bias, [width]);
  const mean = (/** @type {any} */ x) => b.reduceMean(x, { axes: [1], keepDimensions: true });
  /** @type {any} */
  let normal = null;
  /** @type {any} */
  let inverse = null;
  return {
    /** @param {any} x */
    forward(x) {
      if (!step.learns) return b.layerNormalization(x, { scale: s, ...(t && { bias: t }), axes: [1] });
      const apart = b.sub(x, mean(x));
      const variance = mean(b.mul(apart, apart));
      inverse = b.reciprocal(b.sqrt(b.add(variance, step.number(1e-5))));
      normal = b.mul(apart, inverse);
      const scaled = b.mul(normal, s);
      return t ? b.add(scaled, t) : scaled;
    },
    /** @param {any} g */
    backward(g) {
      if (bias) step.learn(bias, t, b.reduceSum(g, { axes: [0] }));
      step.learn(scale, s, b.reduceSum(b.mul(g, normal), { axes: [0] }));
      const scaled = b.mul(g, s);
      const along = b.mul(normal, mean(b.mul(scaled, normal)));
      return b.mul(b.sub(b.sub(scaled, mean(scaled)), along), inverse);
    },
  };
}

/**
 * A long short-term memory that gives its last state; gates in the order input, output, forget,
 * candidate, so that one sigmoid serves three of them.
 *
 * @param {Step} step @param {number} inputs @param {number} units @param {number} length
 */
export function lstm(step, inputs, units, length) {
  const { b } = step;
  const gates = 4 * units;
  const w = step.parameter("w1", [inputs, gates], turned(step.numbers("w1"), gates, inputs));
  const r = step.parameter("r1", [units, gates], turned(step.numbers("r1"), gates, units));
  const c = step.parameter("c1", [gates]);
  const one = step.number(1);
  /** @type {any} */
  let flat = null;
  /** @type {{ s: any, i: any, o: any, f: any, g: any, cell: any, tanh: any, h: any }[]} */
  const steps = [];
  return {
    /** @param {any} x rows, length, inputs @param {number} rows */
    forward(x, rows) {
      flat = b.reshape(b.transpose(x, { permutation: [1, 0, 2] }), [length * rows, inputs]);
      const all = b.split(b.add(b.matmul(flat, w), c), length, { axis: 0 });
      for (const part of all) {
        const before = steps.at(-1);
        const z = before ? b.add(part, b.matmul(before.h, r)) : part;
        const [sums, candidate] = b.split(z, [3 * units, units], { axis: 1 });
        const s = b.sigmoid(sums);
        const [i, o, f] = b.split(s, 3, { axis: 1 });
        const g = b.tanh(candidate);
        const fresh = b.mul(i, g);
        const cell = before ? b.add(b.mul(f, before.cell), fresh) : fresh;
        const tanh = b.tanh(cell);
        steps.push({ s, i, o, f, g, cell, tanh, h: b.mul(o, tanh) });
      }
      return steps.at(-1)?.h;
    },
    /** @param {any} g */
    backward(g) {
      const back = b.transpose(r);
      const sums = [];
      let dh = g;
      /** @type {any} */
      let dc = null;
      for (let k = length - 1; k >= 0; k -= 1) {
        const now = /** @type {typeof steps[0]} */ (steps[k]);
        const before = steps[k - 1];
        const through = b.mul(b.mul(dh, now.o), b.sub(one, b.mul(now.tanh, now.tanh)));
        dc = dc ? b.add(dc, through) : through;
        // In the first step the forget gate has nothing to forget.
        const df = before ? b.mul(dc, before.cell) : b.mul(dc, step.number(0));
        const gated = b.concat([b.mul(dc, now.g), b.mul(dh, now.tanh), df], 1);
        const ds = b.mul(gated, b.mul(now.s, b.sub(one, now.s)));
        const dg = b.mul(b.mul(dc, now.i), b.sub(one, b.mul(now.g, now.g)));
        const dz = b.concat([ds, dg], 1);
        sums.unshift(dz);
        if (before) {
          dh = b.matmul(dz, back);
          dc = b.mul(dc, now.f);
        }
      }
      const all = b.concat(sums, 0);
      const states = b.concat(steps.slice(0, -1).map(({ h }) => h), 0);
      step.learn("w1", w, b.matmul(b.transpose(flat), all));
      step.learn("r1", r, b.matmul(b.transpose(states), b.concat(sums.slice(1), 0)));
      step.learn("c1", c, b.reduceSum(all, { axes: [0] }));
    },
  };
}

/**
 * Self-attention in several heads, with one projection to queries, keys and values; causal: tokens
 * look at themselves and those before.
 *
 * @param {Step} step @param {string[]} names of queries, keys, values and what follows them
 * @param {number} width @param {number} heads @param {number} length @param {boolean} causal
 */
export function attention(step, names, width, heads, length, causal) {
  const { b } = step;
  const three = 3 * width;
  const joined = new Float32Array(width * three);
  const [output = ""] = names.slice(3);
  const queried = names.slice(0, 3).join("");
  names.slice(0, 3).forEach((name, part) => {
    step.numbers(name).forEach((value, at) => {
      joined[Math.floor(at / width) * three + part * width + (at % width)] = value;
    });
  });
  const w = step.parameter(queried, [width, three], joined);
  const p = step.parameter(output, [width, width]);
  const depth = width / heads;
  const scale = step.number(depth ** -0.5);
  const later = Float32Array.from(
    { length: length * length }, (_, at) => (at % length > Math.floor(at / length) ? -1e30 : 0),
  );
  const mask = causal && b.constant({ dataType: "float32", shape: [length, length] }, later);
  const exchange = { permutation: [0, 2, 1, 3] };
  const turn = (/** @type {any} */ x) => b.transpose(x, { permutation: [0, 1, 3, 2] });
  /** @type {any} */
  let kept = null;
  return {
    /** @param {any} x rows · length, width @param {number} rows */
    forward(x, rows) {
      const parts = b.reshape(b.matmul(x, w), [rows, length, 3 * heads, depth]);
      const [q, k, v] = b.split(b.transpose(parts, exchange), 3, { axis: 1 });
      const queries = b.mul(q, scale);
      const scores = b.matmul(queries, turn(k));
      const weights = b.softmax(mask ? b.add(scores, mask) : scores, 3);
      const mixed = b.reshape(b.transpose(b.matmul(weights, v), exchange), [rows * length, width]);
      kept = { x, rows, queries, k, v, weights, mixed };
      return b.matmul(mixed, p);
    },
    /** @param {any} g @param {boolean} further */
    backward(g, further = true) {
      const { x, rows, queries, k, v, weights, mixed } = kept;
      step.learn(output, p, b.matmul(b.transpose(mixed), g));
      const to = b.reshape(b.matmul(g, b.transpose(p)), [rows, length, heads, depth]);
      const dmixed = b.transpose(to, exchange);
      const dweights = b.matmul(dmixed, turn(v));
      const inner = b.reduceSum(b.mul(dweights, weights), { axes: [3], keepDimensions: true });
      const dscores = b.mul(weights, b.sub(dweights, inner));
      const all = b.concat([
        b.mul(b.matmul(dscores, k), scale),
        b.matmul(turn(dscores), queries),
        b.matmul(turn(weights), dmixed),
      ], 1);
      const flat = b.reshape(b.transpose(all, exchange), [rows * length, three]);
      step.learn(queried, w, b.matmul(b.transpose(x), flat));
      return further ? b.matmul(flat, b.transpose(w)) : null;
    },
  };
}
