/** Starts Python with webnnm, in pages and module workers, under policies without 'unsafe-eval'. */

import * as onnxruntime from "../onnxruntime/onnxruntime.js";
import * as bridge from "../webnn/bridge.js";
import * as downloads from "./downloads.js";
import * as storage from "./files.js";

/** Pyodide, next to the folder of all these modules. */
const PYODIDE = new URL("../../pyodide/pyodide.mjs", import.meta.url).href;
/**
 * The second wheel is loaded when a module in it is imported, by a synchronous request. In a page,
 * such a request bypasses the service worker, which may be the only one to have the wheel.
 */
const WHEELS = "document" in globalThis ? ["webnnm", "webnnm-rest"] : ["webnnm"];

/** @type {typeof import("./python.js").startPython} */
export async function startPython({ packages = [], files = [] } = {}) {
  files.forEach(downloads.prefetch);
  const { loadPyodide } = await import(PYODIDE);
  const python = await loadPyodide({ packages: [...WHEELS, ...packages] });
  python.registerJsModule("webnnm_bridge", bridge);
  python.registerJsModule("webnnm_downloads", downloads);
  python.registerJsModule("webnnm_files", storage);
  python.registerJsModule("webnnm_onnxruntime", onnxruntime);
  return python;
}
