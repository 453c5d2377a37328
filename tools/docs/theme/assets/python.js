/** Python in a worker: it starts Pyodide with webnnm, and runs programs one after the other. */

/** @typedef {{ loadPyodide: (options: object) => Promise<any> }} Pyodide */

/** @type {Promise<any>} */
let starting;

/**
 * Return the content of a file of the site.
 * @param {string | URL} address
 */
async function bytes(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`the server has no ${address}`);
  return new Uint8Array(await answer.arrayBuffer());
}

/**
 * Start Python with webnnm, and write the files that programs open.
 * @param {string} runtime
 * @param {[string, string][]} files
 */
async function start(runtime, files) {
  const { loadPyodide } = /** @type {Pyodide} */ (await import(`${runtime}pyodide/pyodide.mjs`));
  const paths = [
    "webnn/bridge", "onnxruntime/onnxruntime", "page/downloads", "page/files", "page/tokenizers",
    "webgpu/frames",
  ];
  const [pyodide, session, ...modules] = await Promise.all([
    loadPyodide({ packages: ["webnnm", "webnnm-rest"] }),
    bytes(new URL("session.py", import.meta.url)),
    ...paths.map((path) => import(`${runtime}webnnm/${path}.js`)),
  ]);
  paths.forEach((path, index) => {
    pyodide.registerJsModule(`webnnm_${path.split("/")[1]}`, modules[index]);
  });
  const decoder = new TextDecoder();
  const write = (/** @type {Uint8Array} */ written) => {
    postMessage({ text: decoder.decode(written, { stream: true }) });
    return written.length;
  };
  pyodide.setStdout({ write });
  pyodide.setStderr({ write });
  for (const [path, address] of files) {
    const folder = path.slice(0, path.lastIndexOf("/"));
    pyodide.FS.mkdirTree(folder);
    pyodide.FS.writeFile(path, await bytes(address));
  }
  pyodide.FS.writeFile("session.py", session);
  const sessions = pyodide.pyimport("session");
  sessions.draw_charts_with((/** @type {string} */ chart) => postMessage({ chart }));
  sessions.destroy();
  return pyodide;
}

/**
 * @typedef {object} Job A program to run, and how.
 * @property {string} program
 * @property {string} session
 * @property {string} module
 * @property {number} errors
 * @property {boolean} alone Whether the session does not get what the program defines.
 * @property {string} [check] The program that judges it afterwards.
 */

/**
 * Run a program, with the packages that it imports, and return how it ended and was judged.
 * @param {Job} job
 */
async function run({ program, session, module, errors, alone, check }) {
  const pyodide = await starting;
  await pyodide.loadPackagesFromImports(program, { messageCallback: () => {} });
  const sessions = pyodide.pyimport("session");
  try {
    if (check === undefined) {
      return { ending: await sessions.run(program, session, module, errors, alone) };
    }
    return { ending: "done", verdict: await sessions.check(program, check, session) };
  } finally {
    sessions.destroy();
  }
}

addEventListener("message", async ({ data: { runtime, files, ...job } }) => {
  if (runtime) {
    starting = start(runtime, files);
    return;
  }
  try {
    postMessage(await run(/** @type {Job} */ (job)));
  } catch (error) {
    postMessage({ text: `Python cannot start here: ${error}\n`, ending: "error" });
  }
});
