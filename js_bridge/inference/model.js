/**
 * Models that were exported as pages: predictions without Python.
 *
 * @module
 */

import { describe } from "./answers.js";
import { findAsked, prepare } from "./rows.js";

const FORMAT = "webnnm-page";
const VERSION = 1;
/** Errors of a device that was lost, and of a graph that another call gave up for that reason. */
const LOST = new Set(["ContextLost", "UnknownHandle"]);

/** What starts each engine; a page loads the modules of the one that it uses. @type {Record<EngineName, StartEngine>} */
const ENGINES = {
  webnn: async (manifest, fetchWeights) => (
    (await import("./device.js")).openDevice(manifest, fetchWeights)
  ),
  onnxruntime: async (manifest, _, url) => (
    (await import("./onnxruntime.js")).openOnnxRuntime(manifest, url)
  ),
  script: async (manifest, fetchWeights) => (
    (await import("./script.js")).openScript(manifest, await fetchWeights())
  ),
};

/** A file of the model is missing or of another export: no engine can run it. */
class FileError extends Error {}

/**
 * Load an exported model.
 *
 * @param {string} url the address of its model.json
 * @param {EngineName} [only] the engine to use, by default the first one that starts
 */
export async function openModel(url, only) {
  const response = await request(url);
  /** @type {Manifest} */
  const manifest = await response.json();
  if (manifest.format !== FORMAT || manifest.version !== VERSION) {
    throw new Error(`${url} is not a model of format ${FORMAT} ${VERSION}: export it again`);
  }
  for (const format of Object.values(manifest.inputs)) {
    if (format.tokenizer) format.tokenizer = new URL(format.tokenizer, response.url).href;
  }
  /** @type {Promise<Uint8Array<ArrayBuffer>> | undefined} */
  let weights;
  const fetchWeights = () => (weights ??= downloadWeights(manifest, response.url));
  const names = only ? [only] : manifest.engines;
  const startEngine = () => start(names, (name) => ENGINES[name](manifest, fetchWeights, response.url), manifest);
  let opening = startEngine();
  let closed = false;
  const { name } = await opening;
  /** @param {Numbers} numbers */
  const run = async (numbers) => {
    const current = opening;
    const engine = await current;
    try {
      return await engine.run(numbers);
    } catch (error) {
      if (closed || !(error instanceof Error && LOST.has(error.name))) throw error;
    }
    // The device is gone: another one may be there.
    if (opening === current) {
      engine.close();
      opening = startEngine();
    }
    return (await opening).run(numbers);
  };
  /** @param {any} row */
  const predict = async (row) => {
    const { numbers, lengths } = await prepare(manifest.inputs, row);
    const outputs = await run(numbers);
    const answers = describe(manifest.outputs, outputs, lengths);
    for (const [name, output] of Object.entries(manifest.outputs)) {
      if (output.kind !== "boxes") continue;
      const { findBoxes } = await import("./boxes.js");
      answers[name] = { boxes: await findBoxes(output, outputs[name] ?? [], row) };
    }
    return answers;
  };
  const [format] = Object.values(manifest.inputs);
  return {
    engine: name,
    signature: findAsked(manifest.inputs),
    /**
     * Return the answer of each output to a row; of series, to the recent rows.
     *
     * @param {any} row @param {{ steps?: number }} [options]
     */
    async predict(row, { steps } = {}) {
      if (!format?.series) return predict(row);
      const { forecast } = await import("./series.js");
      return forecast(format.series, row, steps, predict);
    },
    /** Free the device's memory. */
    async close() {
      closed = true;
      (await opening).close();
    },
  };
}

/**
 * Start the first engine that can run the model here.
 *
 * @param {EngineName[]} names @param {(name: EngineName) => Promise<Engine>} open
 * @param {Manifest} manifest
 */
async function start(names, open, { engines }) {
  const reasons = [];
  for (const name of names) {
    try {
      if (!engines.includes(name)) throw new Error("the model was not exported for it");
      return await open(name);
    } catch (error) {
      if (error instanceof FileError) throw error;
      reasons.push(`${name}: ${error instanceof Error ? error.message : error}`);
    }
  }
  const hint = engines.includes("onnxruntime") ? "" : "\nhint: a browser with WebNN, or webnnm export --with onnxruntime";
  throw new Error(`this browser cannot run the model (${reasons.join("; ")})${hint}`);
}

/** Return the weights of a model. @param {Manifest} manifest @param {string} url */
async function downloadWeights({ weights: { path, length } }, url) {
  const address = new URL(path, url).href;
  const bytes = await download(address);
  if (bytes.length === length) return bytes;
  throw new FileError(`${address} has ${bytes.length} bytes, ${url} is for ${length}: export the model again, and copy all files`);
}

/** Return the bytes of a file. @param {string} url */
export async function download(url) {
  return new Uint8Array(await (await request(url)).arrayBuffer());
}

/** @param {string} url */
async function request(url) {
  const response = await fetch(url);
  if (response.ok) return response;
  throw new FileError(`${url} cannot be fetched: ${response.status} ${response.statusText}`);
}
