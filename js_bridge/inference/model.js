/**
 * Models that were exported as pages: predictions without Python.
 *
 * @module
 */

import { describe } from "./answers.js";
import { prepare } from "./rows.js";

const FORMAT = "webnnm-page";
const VERSION = 1;
/** Errors of a device that was lost, and of a graph that another call gave up for that reason. */
const LOST = new Set(["ContextLost", "UnknownHandle"]);

/** What starts each engine; a page loads the modules of the one that it uses. @type {Record<EngineName, StartEngine>} */
const ENGINES = {
  webnn: async (manifest, weights) => (await import("./device.js")).openDevice(manifest, weights),
  onnxruntime: async (manifest, _, url) => (
    (await import("./onnxruntime.js")).openOnnxRuntime(manifest, url)
  ),
  script: async (manifest, weights) => (await import("./script.js")).openScript(manifest, weights),
};

/**
 * Load an exported model.
 *
 * @param {string} url the address of its model.json
 * @param {EngineName} [only] the engine to use, by default the first one that starts
 */
export async function openModel(url, only) {
  /** @type {Manifest} */
  const manifest = JSON.parse(new TextDecoder().decode(await download(url)));
  if (manifest.format !== FORMAT || manifest.version !== VERSION) {
    throw new Error(`${url} is not a model of format ${FORMAT} ${VERSION}: export it again`);
  }
  const weights = await download(new URL(manifest.weights, url).href);
  const names = only ? [only] : manifest.engines;
  const startEngine = () => start(names, (name) => ENGINES[name](manifest, weights, url), manifest);
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
  return {
    engine: name,
    signature: manifest.inputs,
    /** Return the answer of each output to a row. @param {any} row */
    async predict(row) {
      const { numbers, lengths } = await prepare(manifest.inputs, row);
      return describe(manifest.outputs, await run(numbers), lengths);
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
      reasons.push(`${name}: ${error instanceof Error ? error.message : error}`);
    }
  }
  const hint = engines.includes("onnxruntime") ? "" : "\nhint: a browser with WebNN, or webnnm export --with onnxruntime";
  throw new Error(`this browser cannot run the model (${reasons.join("; ")})${hint}`);
}

/** Return the bytes of a file. @param {string} url */
export async function download(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} cannot be fetched: ${response.status} ${response.statusText}`);
  return new Uint8Array(await response.arrayBuffer());
}
