/** Runs main.py in a separate thread, so that the page stays responsive meanwhile. */

import { startPython } from "./vendor/webnnm/page/python.js";

try {
  const python = await startPython();
  python.setStdout({ batched: (line) => postMessage({ line }) });
  postMessage({ started: true });
  await python.runPythonAsync(await (await fetch("./main.py")).text());
  postMessage({ ended: true });
} catch (error) {
  postMessage({ error: error.message });
}
