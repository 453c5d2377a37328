/**
 * The page of the contest of ONNX models: ours and ONNX Runtime Web, one of them in a page.
 *
 * @module
 */
import { startPyodide } from "./pyodide.js";

/** @typedef {{ url: string, name: string, shape: number[], sizes: { [name: string]: number } }} Net */
/**
 * What a contestant does: `take` what it begins with, `open` a model of that, `run` it.
 *
 * @typedef {{
 *   take(net: Net, pixels: Float32Array): Promise<void>,
 *   open(net: Net): Promise<void>,
 *   run(): Promise<Float32Array>,
 * }} Contestant
 */

/** What starts everything that both need for any model, before the clock does. @type {Net} */
const NOTHING = { url: "/bench-models/relu.onnx", name: "x", shape: [1, 4], sizes: {} };
/** The modules of onnxruntime-web with these execution providers. */
const MODULES = { webnn: "ort.all.min.mjs", webgpu: "ort.webgpu.min.mjs", wasm: "ort.wasm.min.mjs" };

/** @type {Contestant} */
let contestant;

/** Numbers from -0.5 to 0.5. @param {number[]} shape */
function pixels(shape) {
  const count = shape.reduce((a, b) => a * b, 1);
  return Float32Array.from({ length: count }, (_, k) => ((k * 7919) % 1000) / 1000 - 0.5);
}

/** webnnm on WebNN. @returns {Promise<Contestant>} */
async function ours() {
  const file = "onnx_ours.py";
  const pyodide = await startPyodide(["numpy", "webnnm"], `/bench/${file}`, file);
  const python = pyodide.pyimport("onnx_ours");
  /** @type {any} */
  let given;
  /** @type {any} */
  let net;
  return {
    async take({ url, name, shape }, pixels) {
      net?.close();
      given = await python.take(url, name, pixels, pyodide.toPy(shape));
    },
    async open({ sizes }) { net = await python.Net.open(given, pyodide.toPy(sizes)); },
    run: async () => (await net.run()).toJs(),
  };
}

/** ONNX Runtime Web. @param {"webnn" | "webgpu" | "wasm"} provider @returns {Promise<Contestant>} */
async function onnxruntime(provider) {
  const folder = "/bench-onnxruntime/";
  const ort = await import(/** @type {any} */ (folder + MODULES[provider]));
  Object.assign(ort.env.wasm, { wasmPaths: folder, numThreads: 1 });
  ort.env.logLevel = "fatal";
  const executionProviders = [provider === "webnn" ? { name: "webnn", deviceType: "cpu" } : provider];
  /** @type {Uint8Array} */
  let bytes;
  /** @type {any} */
  let feeds;
  /** @type {any} */
  let session;
  return {
    async take({ url, name, shape }, pixels) {
      await session?.release();
      bytes = new Uint8Array(await (await fetch(url)).arrayBuffer());
      feeds = { [name]: new ort.Tensor("float32", pixels, shape) };
    },
    async open({ sizes }) {
      const options = { executionProviders, freeDimensionOverrides: sizes };
      session = await ort.InferenceSession.create(bytes, options);
    },
    run: async () => (await session.run(feeds))[session.outputNames[0]].data,
  };
}

/** Start a contestant: "ours", or a provider of ONNX Runtime Web. @param {string} name */
export async function startOnnx(name) {
  contestant = await (name === "ours" ? ours() : onnxruntime(/** @type {any} */ (name)));
  await openOnnx(NOTHING);
}

/** Return the milliseconds from the bytes of a model to its first result, and that.
 * @param {Net} net */
export async function openOnnx(net) {
  await contestant.take(net, pixels(net.shape));
  const began = performance.now();
  await contestant.open(net);
  const result = await contestant.run();
  return { first: performance.now() - began, result: Array.from(result) };
}

/** Return the milliseconds of a run, the median of several: data in, result out.
 * @param {number} milliseconds to spend, about */
export async function runOnnx(milliseconds) {
  /** @type {number[]} */
  const times = [];
  const end = performance.now() + milliseconds;
  while (times.length < 5 || performance.now() < end) {
    const began = performance.now();
    await contestant.run();
    times.push(performance.now() - began);
  }
  times.sort((a, b) => a - b);
  return /** @type {number} */ (times[times.length >> 1]);
}
