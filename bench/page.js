/**
 * The page of the contest: opens contestants and passes commands on to them.
 *
 * @module
 */
import { Device, Forward, Step, build as buildByHand } from "./webnn.js";
import { MODELS } from "./webnn_models.js";
import { startPyodide } from "./pyodide.js";
import { TfJs, load } from "./tfjs.js";

export { beginArrays, openProgram, runProgram } from "./arrays.js";
export { startLanguage, writeOn } from "./language.js";
export { openOnnx, runOnnx, startOnnx } from "./onnx.js";

/** @type {any} */
let python = null;
/** @type {Device | null} */
let device = null;
/** @type {any} */
let workload = null;
/** @type {ArrayBuffer} */
let content = new ArrayBuffer(0);
/** @type {{ [contestant: string]: any }} */
const open = {};

/** What crossed the bridge since the last look: calls by name, and milliseconds spent there. */
const crossed = { calls: /** @type {{ [name: string]: number }} */ ({}), away: 0 };

/** Start Pyodide with webnnm; `counting` has the calls of the bridge counted.
 * @param {boolean} counting */
async function startPython(counting) {
  const pyodide = await startPyodide(["webnnm"], "/bench/ours.py", "ours.py");
  if (counting) pyodide.registerJsModule("webnnm_bridge", await countedBridge());
  python = pyodide.pyimport("ours");
  return pyodide.version;
}

async function countedBridge() {
  const bridge = await import(/** @type {any} */ ("/bench-bridge/webnn/bridge.js"));
  const counted = (/** @type {string} */ name) => (/** @type {any[]} */ ...given) => {
    const began = performance.now();
    const back = () => { crossed.away += performance.now() - began; };
    crossed.calls[name] = (crossed.calls[name] ?? 0) + 1;
    const result = bridge[name](...given);
    if (result instanceof Promise) return result.finally(back);
    back();
    return result;
  };
  return Object.fromEntries(Object.keys(bridge).map((name) => [name, counted(name)]));
}

/** Start Pyodide with webnnm, TensorFlow.js and a WebNN context. */
export async function begin() {
  const pyodide = await startPython(false);
  device = await Device.open();
  const tensorflow = await load("/bench-packages");
  return { pyodide, tensorflow, agent: navigator.userAgent };
}

/** Start only Pyodide, with the calls of the bridge counted. */
export const beginCounting = () => startPython(true);

/** Return what crossed the bridge since the last look. */
export function roundTrips() {
  const found = structuredClone(crossed);
  Object.assign(crossed, { calls: {}, away: 0 });
  return found;
}

/** Select a workload. @param {any} described */
export async function take(described) {
  workload = described;
  content = await (await fetch(`/bench-data/${described.file}`)).arrayBuffer();
}

/** @param {string} name @returns {any} */
function numbers(name) {
  const [offset, shape, dataType] = workload.tensors[name];
  const count = shape.reduce((/** @type {number} */ a, /** @type {number} */ b) => a * b, 1);
  const values = dataType === "int32" ? Int32Array : Float32Array;
  return new values(content, offset, count);
}

function model() {
  const found = MODELS[workload.kind];
  if (!found) throw new Error(`no model ${workload.kind}`);
  return found;
}

/** @type {{ [contestant: string]: (given: any) => Promise<any> }} */
const makers = {
  async ours(backend) {
    const given = [JSON.stringify(workload), new Uint8Array(content), backend ?? "webnn"];
    return python.open_workload(...given);
  },
  webnn: () => new Step(/** @type {Device} */ (device), workload, numbers).train(model()),
  forward: (rows) => (
    new Forward(/** @type {Device} */ (device), workload, numbers).build(model(), rows)
  ),
  tfjs: (backend) => TfJs.open(workload, numbers, backend),
};

/** Open a contestant: of TensorFlow.js on a backend, of an inference for so many rows.
 * @param {string} name @param {any} given */
export async function prepare(name, given = null) {
  const began = performance.now();
  open[name] = await /** @type {any} */ (makers[name])(given);
  return performance.now() - began;
}

/** Call a method of a contestant. @param {string} name @param {string} what @param {any[]} given */
export async function call(name, what, ...given) {
  const result = await open[name][what](...given);
  return name === "ours" && typeof result === "string" ? JSON.parse(result) : result;
}

/** Milliseconds of building a graph, ours and by hand. @param {number} nodes @param {number} salt */
export async function build(nodes, salt) {
  return {
    ours: JSON.parse(await python.build(nodes, salt)),
    webnn: await buildByHand(/** @type {Device} */ (device), nodes, salt),
  };
}

/** Run a function of ours.py that returns JSON. @param {string} name @param {any[]} given */
export async function ask(name, ...given) {
  return JSON.parse(await python[name](...given));
}

/** @param {string} name */
export function close(name) {
  open[name]?.close();
  open[name]?.destroy?.();
  delete open[name];
}
