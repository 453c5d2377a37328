/**
 * Runs a model on WebNN, by the plan for the faults that this browser shows.
 *
 * @module
 */

import * as bridge from "../webnn/bridge.js";

/** What both specifications of WebNN take for a context of the browser's choice. */
const OPTIONS = "[{}, {}]";
/** What keys of records of faults begin with; the digest of the probes follows. */
const KEPT = "webnnm-faults/";

/** @type {Record<string, any>} */
const ARRAYS = {
  float32: Float32Array, float16: /** @type {any} */ (globalThis).Float16Array, int32: Int32Array,
  uint8: Uint8Array, int8: Int8Array,
};

/**
 * @param {Manifest} manifest @param {FetchWeights} fetchWeights @returns {Promise<Engine>}
 */
export async function openDevice(manifest, fetchWeights) {
  if (!manifest.webnn) throw new Error("the model has no plan for WebNN");
  const context = await bridge.open(OPTIONS);
  try {
    const weights = await fetchWeights();
    const { preferredInputLayout } = JSON.parse(bridge.limits(context));
    const shown = await recallFaults(context, manifest.webnn, weights);
    const layout = preferredInputLayout === "nhwc" ? "nhwc" : "nchw";
    const choice = manifest.webnn.choices.find(({ avoids }) => shown.every((fault) => avoids.includes(fault)));
    const plan = manifest.plans[choice?.[layout] ?? -1];
    if (!plan) throw new Error("the model has no plan for the faults of this browser");
    const graph = await bridge.build(context, JSON.stringify(plan), weights);
    const run = await bind(context, graph, plan.inputs, plan.outputs);
    return { name: "webnn", run, close: () => bridge.close(context) };
  } catch (error) {
    bridge.close(context);
    throw error;
  }
}

/**
 * Return what runs a graph; runs take turns.
 *
 * @param {number} context @param {number} graph
 * @param {Omit<PlanTensor, "id">[]} inputTypes @param {Omit<PlanTensor, "id">[]} outputTypes
 * @returns {Promise<Engine["run"]>}
 */
export async function bind(context, graph, inputTypes, outputTypes) {
  const open = (/** @type {Omit<PlanTensor, "id">} */ { dtype, shape }, /** @type {"read" | "write"} */ access) => (
    bridge.tensor(context, dtype, JSON.stringify(shape), undefined, access));
  const inputs = await Promise.all(inputTypes.map((input) => open(input, "write")));
  const outputs = await Promise.all(outputTypes.map((output) => open(output, "read")));
  const names = (/** @type {{ name: string }[]} */ tensors, /** @type {number[]} */ handles) => (
    Object.fromEntries(tensors.map(({ name }, index) => [name, handles[index]])));
  /** @type {{ resolve: () => void, reject: (error: unknown) => void } | undefined} */
  let waiting;
  const answer = (/** @type {number} */ _, /** @type {unknown[]} */ ...errors) => {
    if (errors.length > 0) waiting?.reject(errors[0]);
    else waiting?.resolve();
  };
  const runner = bridge.runner(
    graph,
    JSON.stringify([names(inputTypes, inputs), names(outputTypes, outputs)]),
    JSON.stringify([inputs, outputs]),
    /** @type {any} */ (answer), // only Python waits for promises
  );
  const buffers = bridge.buffers(runner);
  const views = inputTypes.map(({ dtype }, index) => new ARRAYS[dtype](buffers[index]?.buffer));
  const result = /** @type {Uint8Array<ArrayBuffer>} */ (buffers.at(-1));
  /** @type {Promise<unknown>} */
  let turn = Promise.resolve();
  const runOnce = async (/** @type {Numbers} */ numbers) => {
    inputTypes.forEach(({ name }, index) => views[index].set(numbers[name]));
    await new Promise((/** @type {(value: void) => void} */ resolve, reject) => {
      waiting = { resolve, reject };
      bridge.run(runner, 0, false);
    });
    return readOutputs(outputTypes, result);
  };
  return (numbers) => {
    const run = turn.then(() => runOnce(numbers));
    turn = run.catch(() => {});
    return run;
  };
}

/** @param {Omit<PlanTensor, "id">[]} outputs @param {Uint8Array<ArrayBuffer>} bytes @returns {Numbers} */
function readOutputs(outputs, bytes) {
  let offset = 0;
  return Object.fromEntries(outputs.map(({ name, dtype, shape }) => {
    const length = shape.reduce((size, factor) => size * factor, 1) * ARRAYS[dtype].BYTES_PER_ELEMENT;
    const values = new ARRAYS[dtype](bytes.slice(offset, offset + length).buffer);
    offset += length;
    return [name, values];
  }));
}

/**
 * Return the numbers of the faults that this browser shows; it keeps them for the next visit.
 *
 * @param {number} context @param {NonNullable<Manifest["webnn"]>} webnn
 * @param {Uint8Array<ArrayBuffer>} weights @returns {Promise<number[]>}
 */
async function recallFaults(context, { faults, probes, trials }, weights) {
  if (trials.length === 0) return [];
  const subject = JSON.stringify([await bridge.browser(), bridge.limits(context), faults]);
  const key = KEPT + probes;
  const kept = readKept(key);
  if (kept?.subject === subject) return kept.shown;
  const results = await Promise.all(trials.map((trial) => findFaults(context, trial, weights)));
  const all = new Set(results.flat());
  const shown = all.has(-1) ? faults.map((_, fault) => fault) : [...all];
  try {
    localStorage.setItem(key, JSON.stringify({ subject, shown }));
  } catch {
    // Storage is full or forbidden: the next visit tests again.
  }
  return shown;
}

/** @param {string} key @returns {{ subject: string, shown: number[] } | null} */
function readKept(key) {
  try {
    return JSON.parse(localStorage.getItem(key) ?? "null");
  } catch {
    return null;
  }
}

/**
 * Return the faults whose probes are refused or answered wrongly.
 *
 * @param {number} context @param {Trial} trial @param {Uint8Array<ArrayBuffer>} weights
 */
async function findFaults(context, { plan, data, expected, answers }, weights) {
  const part = (/** @type {[number, number]} */ [offset, length]) => weights.slice(offset, offset + length);
  let actual;
  try {
    actual = await bridge.once(context, JSON.stringify(plan), weights, part(data));
  } catch (error) {
    if (error instanceof bridge.BridgeError && error.name === "ContextLost") throw error;
    return answers.map(({ fault }) => fault);
  }
  const right = part(expected);
  let offset = 0;
  return answers.flatMap(({ fault, outputs }) => {
    let equal = true;
    for (const [dtype, length, tolerance] of outputs) {
      const read = (/** @type {Uint8Array<ArrayBuffer>} */ bytes) => (
        new ARRAYS[dtype](bytes.slice(offset, offset + length).buffer));
      equal &&= matches(read(actual), read(right), tolerance);
      offset += length;
    }
    return equal ? [] : [fault];
  });
}

/** @param {number[]} actual @param {number[]} expected @param {number} tolerance */
function matches(actual, expected, tolerance) {
  return expected.every((right, index) => {
    const value = Number(actual[index]);
    const margin = tolerance * Math.max(Math.abs(value), Math.abs(right));
    return Object.is(value, right) || value === right || Math.abs(value - right) <= margin;
  });
}
