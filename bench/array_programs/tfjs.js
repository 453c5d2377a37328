// @ts-nocheck: programs as their users write them, without types.
/**
 * The six programs in TensorFlow.js; each yields its state after every iteration.
 *
 * @module
 */
const { tf } = globalThis;

export function* mlp({ x, y, ...start }) {
  const p = {};
  for (const [name, each] of Object.entries(start)) p[name] = tf.variable(each);
  const optimizer = tf.train.sgd(0.1);
  const loss = () => {
    let hidden = x.matMul(p.w1).add(p.b1).relu();
    hidden = hidden.matMul(p.w2).add(p.b2).relu();
    return tf.losses.softmaxCrossEntropy(y, hidden.matMul(p.w3).add(p.b3));
  };
  while (true) {
    optimizer.minimize(loss);
    yield p.w3;
  }
}

export function* logistic({ x, y, w }) {
  const weights = tf.variable(w);
  const optimizer = tf.train.sgd(0.1);
  const loss = () => {
    const z = x.matMul(weights.expandDims(1)).squeeze([1]);
    return z.softplus().sub(z.mul(y)).mean();
  };
  while (true) {
    optimizer.minimize(loss);
    yield weights;
  }
}

export function* chain({ x }) {
  const step = (v) => {
    for (let k = 0; k < 5; k += 1) v = v.mul(1.1).add(0.1).tanh().mul(0.9);
    return v;
  };
  while (true) {
    const before = x;
    x = tf.tidy(() => step(before));
    before.dispose();
    yield x;
  }
}

export function* single({ x }) {
  while (true) {
    const before = x;
    x = x.mul(0.99);
    before.dispose();
    yield x;
  }
}

export function* products({ a, m }) {
  const step = (v) => {
    for (let k = 0; k < 8; k += 1) v = v.matMul(a);
    return v;
  };
  while (true) {
    const before = m;
    m = tf.tidy(() => step(before));
    before.dispose();
    yield m;
  }
}

export function* life({ board }) {
  const kernel = tf.ones([3, 3, 1, 1]);
  const step = (v) => {
    const all = tf.conv2d(v.expandDims(2), kernel, 1, "same").squeeze([2]);
    return all.equal(3).logicalOr(all.equal(4).logicalAnd(v.equal(1))).toFloat();
  };
  while (true) {
    const before = board;
    board = tf.tidy(() => step(before));
    before.dispose();
    yield board;
  }
}
