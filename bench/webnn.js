/**
 * Training on WebNN written by hand: what the contestants' models in webnn_models.js share.
 *
 * Everything stays on the device. A step is one graph and one dispatch; parameters, momentum, the
 * cursor and the sum of the losses are inputs and outputs of it, in double buffers that change places.
 *
 * @module
 * @typedef {{ [name: string]: any }} Names
 * @typedef {{
 *   features(workload: any): number[],
 *   layers(step: Step | Forward, x: any, rows: number):
 *     { logits: any, backward(g: any): void },
 * }} Model
 */

const MOST_WAITING = 64;

export class Device {
  /** @param {any} context */
  constructor(context) {
    this.context = context;
  }

  static async open() {
    return new Device(await /** @type {any} */ (navigator).ml.createContext());
  }

  /**
   * @param {string} dataType @param {number[]} shape @param {ArrayBufferView} [data]
   */
  async tensor(dataType, shape, data) {
    const made = await this.context.createTensor({ dataType, shape, readable: true, writable: true });
    this.context.writeTensor(made, data ?? new Uint8Array(4 * size(shape)));
    return made;
  }
}

/** @param {number[]} shape */
export const size = (shape) => shape.reduce((a, b) => a * b, 1);

/** 1 where classes are those of the places in a shape, elsewhere 0.
 * @param {any} b @param {any} classes @param {number[]} shape */
export function oneHot(b, classes, shape) {
  const places = Int32Array.from({ length: size(shape) }, (_, place) => place);
  return b.cast(b.equal(classes, b.constant({ dataType: "int32", shape }, places)), "float32");
}

/** A training step under construction. */
export class Step {
  learns = true;

  /** @param {Device} device @param {any} workload @param {(name: string) => Float32Array} numbers */
  constructor(device, workload, numbers) {
    this.device = device;
    this.workload = workload;
    this.numbers = numbers;
    this.b = new (/** @type {any} */ (globalThis).MLGraphBuilder)(device.context);
    /** @type {Map<string, { shape: number[], dataType: string, data?: ArrayBufferView }>} */
    this.state = new Map();
    /** @type {Map<string, { shape: number[], dataType: string, data: ArrayBufferView }>} */
    this.resident = new Map();
    /** @type {Names} */
    this.next = {};
    this.rate = this.fixed("rate", "float32", [], new Float32Array([workload.lr]));
    this.momentum = this.number(workload.momentum);
    this.learn = workload.optimizer === "adamw" ? this.adamw() : this.momentumSgd;
    this.cursor = this.carried("cursor", "int32", []);
    this.loss = this.carried("loss", "float32", []);
    this.next.cursor = this.b.add(this.cursor, this.b.constant(
      { dataType: "int32", shape: [] }, new Int32Array([1]),
    ));
  }

  /** @param {number} value */
  number(value) {
    return this.b.constant({ dataType: "float32", shape: [] }, new Float32Array([value]));
  }

  /** An input that does not change. @param {string} name @param {string} dataType
   * @param {number[]} shape @param {ArrayBufferView} data */
  fixed(name, dataType, shape, data) {
    this.resident.set(name, { dataType, shape, data });
    return this.b.input(name, { dataType, shape });
  }

  /** An input that is also an output. @param {string} name @param {string} dataType
   * @param {number[]} shape @param {ArrayBufferView} [data] */
  carried(name, dataType, shape, data) {
    this.state.set(name, { dataType, shape, ...(data && { data }) });
    return this.b.input(name, { dataType, shape });
  }

  /** A parameter; `layout` turns the numbers and the shape of the workload into its own.
   * @param {string} name @param {number[]} shape @param {Float32Array} [data] */
  parameter(name, shape, data = this.numbers(name)) {
    return this.carried(name, "float32", shape, data);
  }

  /** The rows of the batch: `[batch, ...shape]` of rows in the order of the epoch.
   * @param {number[]} shape */
  batch(shape) {
    const { batch, steps, tensors } = this.workload;
    const order = Int32Array.from({ length: steps * batch }, (_, row) => row);
    const picked = this.b.gather(this.fixed("order", "int32", [steps, batch], order), this.cursor);
    const rows = (/** @type {string} */ name, /** @type {number[]} */ features) => this.b.gather(
      this.fixed(name, tensors[name][2], [steps * batch, ...features], this.numbers(name)), picked,
    );
    return { x: rows("x", shape), y: rows("y", tensors.y[1].slice(1)) };
  }

  /** @param {Model} model */
  async train(model) {
    const { x, y } = this.batch(model.features(this.workload));
    const { logits, backward } = model.layers(this, x, this.workload.batch);
    backward(this.crossEntropy(logits, y));
    return this.build();
  }

  /** Softmax and cross-entropy: adds the loss, returns its gradient. `y` is one-hot, or classes.
   * @param {any} z @param {any} y */
  crossEntropy(z, y) {
    const { b } = this;
    const [rows, classes] = z.shape;
    const wanted = y.dataType === "int32"
      ? oneHot(b, b.reshape(y, [rows, 1]), [1, classes])
      : y;
    const p = b.softmax(z, 1);
    const scale = this.number(1 / rows);
    const sum = b.reduceSum(b.mul(wanted, b.log(p)), { axes: [0, 1] });
    this.next.loss = b.sub(this.loss, b.mul(sum, scale));
    return b.mul(b.sub(p, wanted), scale);
  }

  /** Stochastic gradient descent with momentum: v ← μv + g, w ← w − ηv.
   * @param {string} name @param {any} w @param {any} g */
  momentumSgd(name, w, g) {
    const { b } = this;
    const { shape } = /** @type {{ shape: number[] }} */ (this.state.get(name));
    const v = b.add(b.mul(this.carried(`${name}/v`, "float32", shape), this.momentum), g);
    this.next[`${name}/v`] = v;
    this.next[name] = b.sub(w, b.mul(v, this.rate));
  }

  /** AdamW: m ← β₁m + (1 − β₁)g, v ← β₂v + (1 − β₂)g², w ← w − η(m̂/(√v̂ + ε) + λw), where the
   * numbers of a step are worked out once: η·m̂/(√v̂ + ε) is m/(a√v + c). Vectors do not decay. */
  adamw() {
    const { b, workload: { adamw: { beta1, beta2, epsilon, weight_decay: decay } } } = this;
    const one = this.number(1);
    const power = (/** @type {number} */ beta, /** @type {string} */ name) => {
      const before = this.carried(name, "float32", [], new Float32Array([1]));
      this.next[name] = b.mul(before, this.number(beta));
      return b.sub(one, this.next[name]);
    };
    const inverse = b.div(power(beta1, "beta1"), this.rate);
    const a = b.div(inverse, b.sqrt(power(beta2, "beta2")));
    const c = b.mul(inverse, this.number(epsilon));
    const kept = b.sub(one, b.mul(this.rate, this.number(decay)));
    const mean = (/** @type {string} */ name, /** @type {any} */ g, /** @type {number} */ beta) => {
      const before = this.carried(name, "float32", g.shape);
      const found = b.add(b.mul(before, this.number(beta)), b.mul(g, this.number(1 - beta)));
      this.next[name] = found;
      return found;
    };
    return (/** @type {string} */ name, /** @type {any} */ w, /** @type {any} */ g) => {
      const m = mean(`${name}/m`, g, beta1);
      const v = mean(`${name}/v`, b.mul(g, g), beta2);
      const change = b.div(m, b.add(b.mul(b.sqrt(v), a), c));
      this.next[name] = b.sub(g.shape.length > 1 ? b.mul(w, kept) : w, change);
    };
  }

  async build() {
    const graph = await this.b.build(this.next);
    const tensors = async (/** @type {Map<string, any>} */ types) => Object.fromEntries(
      await Promise.all([...types].map(async ([name, { dataType, shape, data }]) => (
        [name, await this.device.tensor(dataType, shape, data)]
      ))),
    );
    const fixed = await tensors(this.resident);
    return new Training(this, graph, fixed, [await tensors(this.state), await tensors(this.state)]);
  }
}

export class Training {
  /** @param {Step} step @param {any} graph @param {Names} fixed @param {Names[]} buffers */
  constructor(step, graph, fixed, buffers) {
    this.step = step;
    this.context = step.device.context;
    this.graph = graph;
    this.fixed = fixed;
    this.buffers = buffers;
    this.done = 0;
    this.inputs = buffers.map((names) => ({ ...fixed, ...names }));
  }

  /** Begin anew. */
  restart() {
    for (const [name, { shape, data }] of this.step.state) {
      this.context.writeTensor(this.now[name], data ?? new Uint8Array(4 * size(shape)));
    }
  }

  get now() {
    return /** @type {Names} */ (this.buffers[this.done % 2]);
  }

  /** @param {string} name */
  async read(name) {
    return new Float32Array(await this.context.readTensor(this.now[name]));
  }

  /** Run steps of an epoch; return the mean loss. @param {number} steps @param {number} first */
  async epoch(steps, first = 0) {
    this.context.writeTensor(this.now.cursor, new Int32Array([first]));
    this.context.writeTensor(this.now.loss, new Float32Array([0]));
    for (let step = 0; step < steps; step += 1) {
      const even = this.done % 2;
      this.context.dispatch(this.graph, this.inputs[even], this.buffers[1 - even]);
      this.done += 1;
      if (step % MOST_WAITING === MOST_WAITING - 1) await this.read("loss");
    }
    const [sum = NaN] = await this.read("loss");
    return sum / steps;
  }

  /** The losses of the first steps. @param {number} count */
  async losses(count) {
    this.restart();
    const found = [];
    for (let step = 0; step < count; step += 1) found.push(await this.epoch(1, step));
    return found;
  }

  /** Train from the start; return milliseconds of a step in the second half, and a loss.
   * @param {number} epochs */
  async train(epochs) {
    const { steps } = this.step.workload;
    this.restart();
    let first = NaN;
    let began = 0;
    for (let epoch = 0; epoch < epochs; epoch += 1) {
      if (epoch === Math.floor(epochs / 2)) began = performance.now();
      const loss = await this.epoch(steps);
      if (epoch === 0) first = loss;
    }
    const counted = (epochs - Math.floor(epochs / 2)) * steps;
    return { step: (performance.now() - began) / counted, first };
  }

  close() {
    this.graph.destroy();
    for (const names of [this.fixed, ...this.buffers]) {
      for (const tensor of Object.values(names)) tensor.destroy();
    }
  }
}

/** An inference: the parameters are constants of the graph. */
export class Forward {
  learns = false;

  /** @param {Device} device @param {any} workload @param {(name: string) => Float32Array} numbers */
  constructor(device, workload, numbers) {
    this.context = device.context;
    this.device = device;
    this.workload = workload;
    this.numbers = numbers;
    this.b = new (/** @type {any} */ (globalThis).MLGraphBuilder)(device.context);
  }

  /** @param {number} value */
  number(value) {
    return this.b.constant({ dataType: "float32", shape: [] }, new Float32Array([value]));
  }

  /** @param {string} name @param {number[]} shape @param {Float32Array} [data] */
  parameter(name, shape, data = this.numbers(name)) {
    return this.b.constant({ dataType: "float32", shape }, data);
  }

  /** Nothing is learned here. */
  learn() {}

  /** @param {Model} model @param {number} rows */
  async build(model, rows) {
    const shape = [rows, ...model.features(this.workload)];
    const x = this.b.input("x", { dataType: "float32", shape });
    const { logits } = model.layers(this, x, rows);
    this.graph = await this.b.build({ y: this.b.softmax(logits, 1) });
    this.x = await this.device.tensor("float32", shape);
    this.y = await this.device.tensor("float32", logits.shape);
    this.data = this.numbers("x").slice(0, size(shape));
    return this;
  }

  /** Milliseconds of writing, dispatching and reading. @param {number} repeats */
  async forward(repeats) {
    const { context, graph, x, y, data } = this;
    let began = 0;
    for (let k = -10; k < repeats; k += 1) {
      if (k === 0) began = performance.now();
      context.writeTensor(x, data);
      context.dispatch(graph, { x }, { y });
      await context.readTensor(y);
    }
    return (performance.now() - began) / repeats;
  }

  async result() {
    return Array.from(new Float32Array(await this.context.readTensor(this.y)));
  }

  close() {
    this.graph?.destroy();
    this.x?.destroy();
    this.y?.destroy();
  }
}

/** Milliseconds of building a graph of so many operators. @param {Device} device
 * @param {number} nodes @param {number} salt */
export async function build(device, nodes, salt) {
  const began = performance.now();
  const b = new (/** @type {any} */ (globalThis).MLGraphBuilder)(device.context);
  const number = (/** @type {number} */ value) => (
    b.constant({ dataType: "float32", shape: [] }, new Float32Array([value]))
  );
  let y = b.input("x", { dataType: "float32", shape: [16, 16] });
  for (let layer = 0; layer < nodes / 4; layer += 1) {
    const data = Float32Array.from({ length: 256 }, (_, k) => salt + layer + (k % 16) * 1e-3);
    const w = b.constant({ dataType: "float32", shape: [16, 16] }, data);
    y = b.mul(b.relu(b.add(b.matmul(y, w), number(salt - layer))), number(1 / (layer + 2)));
  }
  const graph = await b.build({ y });
  const time = performance.now() - began;
  graph.destroy();
  return time;
}
