/**
 * The start of Pyodide, as the pages of the contests have it.
 *
 * @module
 */

/** Start Pyodide with packages, and with a file of Python from an address, under a name.
 * @param {string[]} packages @param {string} address @param {string} name
 * @returns {Promise<any>} */
export async function startPyodide(packages, address, name) {
  const { loadPyodide } = await import(/** @type {any} */ ("/vendor/pyodide/pyodide.mjs"));
  const pyodide = await loadPyodide({ indexURL: "/vendor/pyodide" });
  await pyodide.loadPackage(packages);
  pyodide.FS.writeFile(name, await (await fetch(address)).text());
  return pyodide;
}
