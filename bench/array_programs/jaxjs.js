// @ts-nocheck: programs as their users write them, without types.
/**
 * The six programs in jax-js; each yields its state after every iteration.
 *
 * @module
 */
const address = "/bench-packages/@jax-js/jax/dist/index.js";
const { numpy: np, lax, nn, jit, grad, tree } = await import(address);

export function* mlp({ x, y, ...start }) {
  const loss = (p) => {
    let hidden = nn.relu(np.matmul(x.ref, p.w1).add(p.b1));
    hidden = nn.relu(np.matmul(hidden, p.w2).add(p.b2));
    const z = np.matmul(hidden, p.w3).add(p.b3);
    return nn.logSoftmax(z, -1).mul(y.ref).sum(-1).mean().neg();
  };
  const step = jit((p) => {
    const slopes = grad(loss)(tree.ref(p));
    return tree.map((each, slope) => each.sub(slope.mul(0.1)), p, slopes);
  });
  let p = start;
  while (true) {
    p = step(p);
    yield p.w3;
  }
}

export function* logistic({ x, y, w }) {
  const loss = (v) => {
    const z = np.matmul(x.ref, v);
    return nn.softplus(z.ref).sub(z.mul(y.ref)).mean();
  };
  const step = jit((v) => v.ref.sub(grad(loss)(v).mul(0.1)));
  while (true) {
    w = step(w);
    yield w;
  }
}

export function* chain({ x }) {
  const step = jit((v) => {
    for (let k = 0; k < 5; k += 1) v = np.tanh(v.mul(1.1).add(0.1)).mul(0.9);
    return v;
  });
  while (true) {
    x = step(x);
    yield x;
  }
}

export function* single({ x }) {
  const step = jit((v) => v.mul(0.99));
  while (true) {
    x = step(x);
    yield x;
  }
}

export function* products({ a, m }) {
  const step = jit((v) => {
    for (let k = 0; k < 8; k += 1) v = np.matmul(v, a.ref);
    return v;
  });
  while (true) {
    m = step(m);
    yield m;
  }
}

export function* life({ board }) {
  const kernel = np.ones([1, 1, 3, 3]);
  const step = jit((v) => {
    const size = v.shape;
    const all = lax.conv(v.ref.reshape([1, 1, ...size]), kernel.ref, [1, 1], "SAME").reshape(size);
    const three = np.where(np.equal(all.ref, 3), 1, 0);
    return np.maximum(three, np.where(np.equal(all, 4), v, 0)).astype(np.float32);
  });
  while (true) {
    board = step(board);
    yield board;
  }
}
