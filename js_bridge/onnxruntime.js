/**
 * ONNX Runtime Web behind the interface of `MLContext`, so that the bridge works with it as it does
 * with WebNN: the same tensors, graphs, steps and ledger. onnxruntime.d.ts says what `open` does.
 *
 * @module
 * @typedef {import("./onnxruntime.js").Tell} Tell
 */

import { BridgeError, text } from "./common.js";
import * as webassembly from "./webassembly.js";
import * as webgpu from "./webgpu.js";

/** What starts each provider, and the files of onnxruntime-web that it takes. */
const PROVIDERS = {
  wasm: {
    ...webassembly,
    module: "ort-wasm-simd-threaded.mjs",
    binary: "ort-wasm-simd-threaded.wasm",
  },
  webgpu: {
    ...webgpu,
    module: "ort.webgpu.min.mjs",
    binary: "ort-wasm-simd-threaded.asyncify.wasm",
  },
};

/** What was started of each address. @type {Map<string, Promise<any>>} */
const started = new Map();

/** @type {typeof import("./onnxruntime.js").open} */
export async function open(optionsJson, tell) {
  const { provider, folder } = JSON.parse(optionsJson);
  const found = PROVIDERS[/** @type {keyof typeof PROVIDERS} */ (provider)];
  if (!found) throw new BridgeError("NotAvailable", `there is no provider "${provider}"`);
  // Browsers show WebGPU where no device has it, too.
  if (provider === "webgpu" && !await /** @type {any} */ (navigator).gpu?.requestAdapter()) {
    throw new BridgeError("NotAvailable", "this browser has no WebGPU");
  }
  const base = new URL(folder, globalThis.document?.baseURI ?? location.href).href;
  const address = base + found.module;
  const forget = () => { started.delete(address); };
  let starting = started.get(address);
  if (!starting) {
    starting = fetched(base + found.binary, tell).then(
      (response) => found.start(address, response, base),
    );
    started.set(address, starting);
  }
  try {
    return /** @type {any} */ (found.contextOf(await starting, forget));
  } catch (error) {
    forget(); // so that another attempt loads it again
    throw new BridgeError("NotAvailable", `ONNX Runtime Web is not at ${base}: ${text(error)}`);
  }
}

/**
 * Return a WebAssembly file, from the browser's storage if it was fetched before.
 *
 * @param {string} address @param {Tell} [tell] told of received and all bytes
 */
async function fetched(address, tell) {
  // Pages that are not served securely have no storage of this kind.
  const kept = await globalThis.caches?.open("onnxruntime-web").catch(() => undefined);
  const known = await kept?.match(address);
  const response = known ?? await fetch(address);
  if (!response.ok) throw new Error(`${address}: the server answered ${response.status}`);
  const all = Number(response.headers.get("content-length")) || 0;
  let received = 0;
  const counting = new TransformStream({
    transform(/** @type {Uint8Array} */ part, controller) {
      received += part.byteLength;
      if (!known && tell) tell(received, Math.max(all, received));
      controller.enqueue(part);
    },
  });
  const body = /** @type {ReadableStream} */ (response.body).pipeThrough(counting);
  const counted = new Response(body, { headers: { "content-type": "application/wasm" } });
  // A full storage costs the next visit its time alone.
  if (!known) kept?.put(address, counted.clone()).catch(() => {});
  return counted;
}
