/** Runs saved models in a thread of its own: pages stay responsive while one loads or predicts. */

import { startPython } from "./python.js";

/** @typedef {{ open: string } | { model: number, row: any }} Request */

/** @type {Promise<any> | undefined} */
let start;
/** @type {any[]} */
const models = [];

/** Load a snapshot; return its number and its signature. @param {string} url */
async function open(url) {
  start ??= startPython();
  const [python, snapshot] = await Promise.all([start, download(url)]);
  const { NNModel } = python.pyimport("webnnm");
  const serving = python.pyimport("webnnm.model.serving");
  const model = await NNModel.load(python.toPy(snapshot));
  return { model: models.push(model) - 1, signature: JSON.parse(serving.signature(model)) };
}

/** @param {string} url */
async function download(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} cannot be fetched: ${response.status} ${response.statusText}`);
  return new Uint8Array(await response.arrayBuffer());
}

/** Return a model's prediction for a row. @param {number} model @param {any} row */
async function predict(model, row) {
  const python = await start;
  const serving = python.pyimport("webnnm.model.serving");
  return JSON.parse(await serving.answer(models[model], python.toPy(withoutNull(row))));
}

/** A row with null as undefined, which is Python's None: a missing value. @param {any} row @returns {any} */
function withoutNull(row) {
  if (row === null || row === undefined) return undefined;
  if (Array.isArray(row)) return row.map(withoutNull);
  if (Object.getPrototypeOf(Object(row)) !== Object.prototype) return row;
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, withoutNull(value)]));
}

/** The message of an error; for Python's errors, without the traceback. @param {any} error */
function message({ message, type }) {
  if (!type) return message;
  return message.slice(message.lastIndexOf(`${type}: `) + type.length + 2).trim();
}

addEventListener("message", async ({ data: { number, request } }) => {
  try {
    const result = "open" in request ? open(request.open) : predict(request.model, request.row);
    postMessage({ number, result: await result });
  } catch (error) {
    postMessage({ number, error: message(error) });
  }
});
