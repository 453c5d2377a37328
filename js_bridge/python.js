/** Starts Python with webnnm, in pages and module workers, under policies without 'unsafe-eval'. */

import * as bridge from "./bridge.js";
import * as files from "./files.js";
import * as onnxruntime from "./onnxruntime.js";

/** Pyodide, next to this folder. */
const PYODIDE = new URL("../pyodide/pyodide.mjs", import.meta.url).href;
/**
 * The second wheel is loaded when a module in it is imported, by a synchronous request. In a page,
 * such a request bypasses the service worker, which may be the only one to have the wheel.
 */
const WHEELS = "document" in globalThis ? ["webnnm", "webnnm-rest"] : ["webnnm"];

/** @type {typeof import("./python.js").startPython} */
export async function startPython({ packages = [] } = {}) {
  const { loadPyodide } = await import(PYODIDE);
  const python = await loadPyodide({ packages: [...WHEELS, ...packages] });
  python.registerJsModule("webnnm_bridge", bridge);
  python.registerJsModule("webnnm_files", files);
  python.registerJsModule("webnnm_onnxruntime", onnxruntime);
  return python;
}
