/** ONNX Runtime Web as a context that the bridge adopts: see onnxruntime.js. */

/** Called while the WebAssembly of ONNX Runtime is fetched; of all bytes, 0 stands for unknown. */
export type Tell = (receivedBytes: number, allBytes: number) => void;

/**
 * Return as JSON what `open` with the same options would fetch: `kept`, whether the browser has it
 * already, else its `bytes`, null if the page does not serve it. Only the size is requested.
 *
 * @throws BridgeError NotAvailable where the browser lacks what is needed
 */
export function offer(optionsJson: string): Promise<string>;

/**
 * Load ONNX Runtime Web and return a context for `Bridge.adopt`.
 *
 * Options are JSON: `provider`, "wasm" or "webgpu", and `folder`, the address of the files of the
 * npm package onnxruntime-web, relative to the page and with a slash at its end.
 *
 * @throws BridgeError NotAvailable where the browser or the folder lacks what is needed
 */
export function open(optionsJson: string, tell?: Tell): Promise<AdoptedContext>;
