/**
 * TensorFlow.js, on whichever of its backends can do the work fastest.
 *
 * @module
 */
import { LAYOUTS, MODELS } from "./tfjs_models.js";

/** @typedef {any} Tensor @typedef {{ [name: string]: Tensor }} Tensors */

const tf = () => /** @type {any} */ (globalThis).tf;

/** Load the library and its WebAssembly backend. @param {string} packages */
export async function load(packages) {
  await script(`${packages}/@tensorflow/tfjs/dist/tf.min.js`);
  await script(`${packages}/@tensorflow/tfjs-backend-wasm/dist/tf-backend-wasm.min.js`);
  tf().wasm.setWasmPaths(`${packages}/@tensorflow/tfjs-backend-wasm/dist/`);
  /** @type {string[]} */
  const found = [];
  /** @type {{ [name: string]: string }} */
  const missing = {};
  for (const backend of ["wasm", "cpu", "webgl"]) {
    try {
      if (!await tf().setBackend(backend)) throw new Error("it could not be set up");
      await tf().ready();
      await tf().ones([2]).add(1).data();
      found.push(backend);
    } catch (error) {
      missing[backend] = String(error);
    }
  }
  return { version: tf().version.tfjs, found, missing };
}

/** @param {string} address */
function script(address) {
  return new Promise((resolve, reject) => {
    const element = document.createElement("script");
    element.src = address;
    element.onload = resolve;
    element.onerror = () => reject(new Error(`${address} cannot be loaded`));
    document.head.append(element);
  });
}

export class TfJs {
  /** @param {any} workload @param {(name: string) => Float32Array} numbers
   * @param {string} backend */
  static async open(workload, numbers, backend) {
    await tf().setBackend(backend);
    await tf().ready();
    return new TfJs(workload, numbers);
  }

  /** @param {any} workload @param {(name: string) => Float32Array} numbers */
  constructor(workload, numbers) {
    this.workload = workload;
    this.model = MODELS[workload.kind] ?? (() => { throw new Error("no such model"); });
    const layout = LAYOUTS[workload.kind] ?? ((_, t) => t);
    const all = (/** @type {string} */ name) => tf().tidy(
      () => layout(name, tf().tensor(numbers(name), workload.tensors[name][1])),
    );
    const { batch, steps } = workload;
    this.rows = [all("x"), all("y")].map((t) => {
      const batches = Array.from({ length: steps }, (_, k) => t.slice(k * batch, batch));
      t.dispose();
      return batches;
    });
    /** @type {Tensors} */
    this.start = Object.fromEntries(Object.keys(workload.parameters).map((n) => [n, all(n)]));
    /** @type {Tensors} */
    this.parameters = Object.fromEntries(
      Object.entries(this.start).map(([name, t]) => [name, tf().variable(t)]),
    );
    this.optimizer = tf().train.momentum(workload.lr, workload.momentum);
  }

  restart() {
    for (const [name, t] of Object.entries(this.start)) this.parameters[name].assign(t);
    this.optimizer.dispose();
    this.optimizer = tf().train.momentum(this.workload.lr, this.workload.momentum);
  }

  /** @param {number} number */
  step(number) {
    const [x, y] = this.rows.map((batches) => batches[number]);
    return this.optimizer.minimize(() => tf().losses.softmaxCrossEntropy(
      y, this.model(this.parameters, x, this.workload),
    ), true);
  }

  /** The losses of the first steps. @param {number} count */
  async losses(count) {
    this.restart();
    const found = [];
    for (let k = 0; k < count; k += 1) {
      const loss = this.step(k);
      found.push((await loss.data())[0]);
      loss.dispose();
    }
    return found;
  }

  /** Train for so many milliseconds; return those of a step in the second half.
   * @param {number} limit */
  async train(limit) {
    this.restart();
    await this.steps(limit / 2, 1);
    return this.steps(limit / 2, 2);
  }

  /** Milliseconds of a step, of at least so many and for so long. @param {number} limit
   * @param {number} least */
  async steps(limit, least) {
    let total = tf().scalar(0);
    let done = 0;
    const began = performance.now();
    while (done < least || performance.now() - began < limit) {
      const loss = this.step(done % this.workload.steps);
      const sum = total.add(loss);
      tf().dispose([loss, total]);
      total = sum;
      done += 1;
    }
    await total.data();
    total.dispose();
    return (performance.now() - began) / done;
  }

  /** Milliseconds of an inference of so many rows. @param {number} rows @param {number} repeats */
  async forward(rows, repeats) {
    const first = this.rows[0]?.[0];
    const x = await first.slice(0, rows).data();
    const shape = [rows, ...first.shape.slice(1)];
    let began = 0;
    for (let k = -5; k < repeats; k += 1) {
      if (k === 0) began = performance.now();
      const y = tf().tidy(() => this.model(this.start, tf().tensor(x, shape), this.workload).softmax());
      await y.data();
      y.dispose();
    }
    return (performance.now() - began) / repeats;
  }

  /** What an inference of so many rows gives. @param {number} rows */
  async result(rows) {
    const first = this.rows[0]?.[0];
    return Array.from(await tf().tidy(
      () => this.model(this.start, first.slice(0, rows), this.workload).softmax(),
    ).data());
  }

  close() {
    this.optimizer.dispose();
    tf().dispose([this.rows, this.start, this.parameters]);
  }
}
