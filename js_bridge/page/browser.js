/**
 * What the browser tells of itself.
 *
 * @module
 * @typedef {typeof import("../webnn/bridge.js")} Bridge
 */

/** @type {Bridge["browser"]} */
export async function browser() {
  const hints = ["architecture", "fullVersionList", "platformVersion"];
  try {
    const agentData = /** @type {any} */ (navigator).userAgentData;
    return JSON.stringify(await agentData.getHighEntropyValues(hints));
  } catch {
    // Other browsers lack this member, and policies of pages may forbid its use.
    return navigator.userAgent;
  }
}
