/**
 * What the browser tells of itself.
 *
 * @module
 * @typedef {typeof import("../webnn/bridge.js")} Bridge
 */

/** @type {Bridge["browser"]} */
export async function browser() {
  const wanted = ["architecture", "fullVersionList", "platformVersion"];
  try {
    const told = /** @type {any} */ (navigator).userAgentData;
    return JSON.stringify(await told.getHighEntropyValues(wanted));
  } catch {
    // Other browsers lack this member, and policies of pages may forbid its use.
    return navigator.userAgent;
  }
}
