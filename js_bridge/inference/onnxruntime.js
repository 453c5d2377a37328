/**
 * Runs a model on ONNX Runtime Web, where the page has it and the browser has no WebNN.
 *
 * @module
 */

import { open } from "../onnxruntime/onnxruntime.js";
import { adopt, close, load } from "../webnn/bridge.js";
import { bind } from "./device.js";
import { download } from "./model.js";

/** @param {Manifest} manifest @param {string} url @returns {Promise<Engine>} */
export async function openOnnxRuntime({ onnxruntime }, url) {
  if (!onnxruntime) throw new Error("the model was exported without ONNX Runtime");
  const { model, folder, inputs, outputs } = onnxruntime;
  const address = (/** @type {string} */ path) => new URL(path, url).href;
  const bytes = download(address(model));
  bytes.catch(() => {}); // awaited below, after the runtime
  const context = adopt(await open(JSON.stringify({ provider: "wasm", folder: address(folder) })));
  try {
    const run = await bind(context, await load(context, await bytes), inputs, outputs);
    return {
      name: "onnxruntime",
      close: () => close(context),
      async run(numbers) {
        const values = await run(numbers);
        return Object.fromEntries(outputs.map(({ name, result }) => (
          /** @type {[string, ArrayLike<number>]} */ ([result, values[name]]))));
      },
    };
  } catch (error) {
    close(context);
    throw error;
  }
}
