/**
 * ONNX Runtime Web with the interface of `MLContext`, so that the bridge uses it in the same way as
 * WebNN: the same tensors, graphs, steps and memory. onnxruntime.d.ts describes `open`.
 *
 * @module
 * @typedef {import("./onnxruntime.js").Tell} Tell
 */

import { BridgeError, text } from "../common.js";
import * as webassembly from "./webassembly.js";
import * as webgpu from "./webgpu.js";

/** The release of onnxruntime-web that this is written for; names the storage of its files. */
const STORAGE = "onnxruntime-web 1.30.0";
/** The approximate size of the WebAssembly, if a server does not report it. */
const USUAL_BYTES = 14e6;
/** The functions that start each provider, and the files of onnxruntime-web that it needs. */
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

/** The instances that were started, by address. @type {Map<string, Promise<any>>} */
const instances = new Map();
/** The sizes of files that were asked for, by address. @type {Map<string, number>} */
const sizes = new Map();

/** @type {typeof import("./onnxruntime.js").offer} */
export async function offer(optionsJson) {
  const { module, binary } = await resolveProvider(optionsJson);
  if (instances.has(module) || await (await storage())?.match(binary)) {
    return JSON.stringify({ kept: true, bytes: 0 });
  }
  return JSON.stringify({ kept: false, bytes: await sizeOf(binary) });
}

/** Return how many bytes a file has, null if nothing serves it. @param {string} address */
async function sizeOf(address) {
  // Consoles show requests that fail.
  if (!sizes.has(address) && navigator.onLine) {
    const response = await fetch(address, { method: "HEAD" }).catch(() => null);
    if (response?.ok) {
      sizes.set(address, Number(response.headers.get("content-length")) || USUAL_BYTES);
    }
  }
  return sizes.get(address) ?? null;
}

/** @type {typeof import("./onnxruntime.js").open} */
export async function open(optionsJson, onProgress) {
  const { start, contextOf, base, module, binary } = await resolveProvider(optionsJson);
  const forget = () => { instances.delete(module); };
  let starting = instances.get(module);
  if (!starting) {
    starting = fetchBinary(binary, onProgress).then((response) => start(module, response, base));
    instances.set(module, starting);
  }
  try {
    return /** @type {any} */ (contextOf(await starting, forget));
  } catch (error) {
    forget(); // so that another attempt loads it again
    throw new BridgeError("NotAvailable", `no ONNX Runtime Web at ${base}: ${text(error)}`);
  }
}

/** Return a provider's functions and the addresses of its files. @param {string} optionsJson */
async function resolveProvider(optionsJson) {
  const { provider, folder } = JSON.parse(optionsJson);
  const functions = PROVIDERS[/** @type {keyof typeof PROVIDERS} */ (provider)];
  if (!functions) throw new BridgeError("NotAvailable", `there is no provider "${provider}"`);
  // Browsers expose WebGPU even if no device supports it.
  if (provider === "webgpu" && !await /** @type {any} */ (navigator).gpu?.requestAdapter()) {
    throw new BridgeError("NotAvailable", "this browser has no WebGPU");
  }
  const base = new URL(folder, globalThis.document?.baseURI ?? location.href).href;
  return { ...functions, base, module: base + functions.module, binary: base + functions.binary };
}

/** Return the storage for files; pages that are not served securely have none. */
async function storage() {
  return globalThis.caches?.open(STORAGE).catch(() => undefined);
}

/**
 * Return a WebAssembly file, from the browser's storage if it was fetched before.
 *
 * @param {string} address @param {Tell} [onProgress] called with the received and the total bytes, 0 if unknown
 */
async function fetchBinary(address, onProgress) {
  const cache = await storage();
  const cached = await cache?.match(address);
  const response = cached ?? await fetch(address);
  if (!response.ok) throw new Error(`${address}: the server answered ${response.status}`);
  // What is received is counted unpacked, and nobody says how much that will be.
  const packed = response.headers.has("content-encoding");
  const total = packed ? 0 : Number(response.headers.get("content-length")) || 0;
  let received = 0;
  const counting = new TransformStream({
    transform(/** @type {Uint8Array} */ part, controller) {
      received += part.byteLength;
      if (!cached && onProgress) onProgress(received, total && Math.max(total, received));
      controller.enqueue(part);
    },
  });
  const body = /** @type {ReadableStream} */ (response.body).pipeThrough(counting);
  const result = new Response(body, { headers: { "content-type": "application/wasm" } });
  // If the storage is full, the next visit only takes longer.
  if (!cached) cache?.put(address, result.clone()).then(forgetOthers).catch(() => {});
  return result;
}

/** Remove the files of other releases. */
async function forgetOthers() {
  const names = (await caches.keys()).filter((name) => name.startsWith("onnxruntime-web"));
  await Promise.all(names.filter((name) => name !== STORAGE).map((name) => caches.delete(name)));
}
