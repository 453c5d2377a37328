/**
 * The page of the contest of language models: ours and llama.cpp, one of them in a page.
 *
 * @module
 */
import { startPyodide } from "./pyodide.js";

/** A text that a model wrote, and the time it took.
 * @typedef {{ text: string, promptTokens: number, promptSeconds: number, tokens: number,
 *   seconds: number }} Written */
/** @typedef {(prompt: string, count: number) => Promise<Written>} Write */

/** @type {Write} */
let write;

/** webnnm on WebNN. @param {string} file @returns {Promise<Write>} */
async function ours(file) {
  const program = "language_ours.py";
  const pyodide = await startPyodide(["numpy", "webnnm"], `/bench/${program}`, program);
  const model = await pyodide.pyimport("language_ours").load(file);
  return async (prompt, count) => (
    (await model.write(prompt, count)).toJs({ dict_converter: Object.fromEntries })
  );
}

/** llama.cpp as WebAssembly, on one thread, without a graphics card.
 * @param {string} file @returns {Promise<Write>} */
async function wllama(file) {
  const folder = "/bench-packages/@wllama/wllama/esm/";
  const { Wllama, LoggerWithoutDebug } = await import(/** @type {any} */ (`${folder}index.js`));
  const logger = { ...LoggerWithoutDebug, log() {} };
  const model = new Wllama({ default: `${folder}wasm/wllama.wasm` }, { logger });
  const content = await (await fetch(file)).blob();
  await model.loadModel([content], { n_ctx: 1024, n_threads: 1, n_gpu_layers: 0 });
  return async (prompt, count) => {
    const options = { prompt, max_tokens: count, temperature: 0 };
    const { choices, timings: took } = await model.createCompletion(options);
    return {
      text: choices[0].text,
      promptTokens: took.prompt_n,
      promptSeconds: took.prompt_ms / 1e3,
      tokens: took.predicted_n,
      seconds: took.predicted_ms / 1e3,
    };
  };
}

/** Start a contestant: "ours" or "wllama". @param {string} name @param {string} file */
export async function startLanguage(name, file) {
  write = await (name === "ours" ? ours : wllama)(new URL(file, location.href).href);
}

/** Let it continue a text by the most likely tokens. @param {string} prompt @param {number} count */
export const writeOn = (prompt, count) => write(prompt, count);
