/**
 * The models of the contest in TensorFlow.js, and how their numbers lie in memory.
 *
 * @module
 * @typedef {any} Tensor
 * @typedef {{ [name: string]: Tensor }} Tensors
 */

const tf = () => /** @type {any} */ (globalThis).tf;

/** @param {Tensor} x @param {Tensor} scale @param {Tensor} bias */
function layerNorm(x, scale, bias) {
  const { mean, variance } = tf().moments(x, -1, true);
  return x.sub(mean).mul(variance.add(1e-5).rsqrt()).mul(scale).add(bias);
}

/** @type {{ [kind: string]: (p: Tensors, x: Tensor, workload: any) => Tensor }} */
export const MODELS = {
  mlp(p, x, { facts: { sizes } }) {
    let y = x;
    for (let k = 1; k < sizes.length; k += 1) {
      y = y.matMul(p[`w${k}`]).add(p[`b${k}`]);
      if (k < sizes.length - 1) y = y.relu();
    }
    return y;
  },
  cnn(p, x) {
    let y = x.conv2d(p.f1, 1, "same").add(p.c1).relu().maxPool(2, 2, "valid");
    y = y.conv2d(p.f2, 1, "valid").add(p.c2).relu().maxPool(2, 2, "valid");
    // Weights are those of data with the channels in front.
    y = y.transpose([0, 3, 1, 2]).reshape([x.shape[0], 400]);
    y = y.matMul(p.w1).add(p.b1).relu();
    return y.matMul(p.w2).add(p.b2);
  },
  lstm(p, x, { features: [length, inputs] }) {
    const rows = x.shape[0];
    // The part of the input is one product for all steps.
    const flat = x.transpose([1, 0, 2]).reshape([length * rows, inputs]);
    const all = tf().split(flat.matMul(p.w1).add(p.c1), length, 0);
    /** @type {Tensor} */
    let h = null;
    /** @type {Tensor} */
    let cell = null;
    for (const part of all) {
      const z = h ? part.add(h.matMul(p.r1)) : part;
      const [i, o, f, g] = tf().split(z, 4, 1);
      const fresh = i.sigmoid().mul(g.tanh());
      cell = cell ? f.sigmoid().mul(cell).add(fresh) : fresh;
      h = o.sigmoid().mul(cell.tanh());
    }
    return h.matMul(p.w2).add(p.b1);
  },
  transformer(p, x, { features: [length, width], facts: { heads } }) {
    const rows = x.shape[0];
    const flat = x.reshape([rows * length, width]);
    const [q, k, v] = ["q1", "k1", "v1"].map((name) => (
      flat.matMul(p[name]).reshape([rows, length, heads, width / heads]).transpose([0, 2, 1, 3])
    ));
    const weights = q.mul((width / heads) ** -0.5).matMul(k, false, true).softmax();
    const mixed = weights.matMul(v).transpose([0, 2, 1, 3]).reshape([rows * length, width]);
    const y = layerNorm(flat.add(mixed.matMul(p.p1)), p.s1, p.t1);
    const high = y.matMul(p.w1).add(p.b1).relu();
    const end = layerNorm(y.add(high.matMul(p.w2).add(p.b2)), p.s2, p.t2);
    return end.reshape([rows, length, width]).mean(1).matMul(p.w3).add(p.b3);
  },
};

/** How parameters and rows lie in memory, where not as in the workload.
 * @type {{ [kind: string]: (name: string, t: Tensor) => Tensor }} */
export const LAYOUTS = {
  cnn(name, t) {
    if (name === "x") return t.transpose([0, 2, 3, 1]);
    return name.startsWith("f") ? t.transpose([2, 3, 1, 0]) : t;
  },
  lstm(name, t) {
    if (name === "w1" || name === "r1") return t.squeeze([0]).transpose();
    return name === "c1" ? t.squeeze([0]) : t;
  },
};
