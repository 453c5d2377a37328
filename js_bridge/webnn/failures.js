/**
 * What is thrown when a call of WebNN fails: the loss of the context, where that is the cause.
 *
 * @module
 */

import { BridgeError, text } from "../common.js";

/**
 * Return whether an error means that the context is lost, perhaps before its promise is settled.
 * No registered thing is destroyed and each builder builds once: an InvalidStateError means this.
 *
 * @param {unknown} error
 */
function meansLoss(error) {
  return error instanceof DOMException && error.name === "InvalidStateError";
}

/**
 * Make a synchronous call.
 *
 * @param {BridgeContext} context @param {string} name
 * @param {(context: BridgeContext) => void} call
 */
export function guard(context, name, call) {
  try {
    call(context);
  } catch (error) {
    throw new BridgeError(meansLoss(error) ? "ContextLost" : name, text(error));
  }
}

/**
 * Return the error to throw for a failed asynchronous call: ContextLost if that is the cause.
 *
 * @param {BridgeContext} context @param {string} name @param {unknown} error
 * @param {object} details
 */
export async function failure(context, name, error, details = {}) {
  // The loss may be reported after the errors that it causes.
  if (context.lost === null) await new Promise((resolve) => { setTimeout(resolve, 0); });
  if (context.lost !== null) return new BridgeError("ContextLost", context.lost, details);
  if (meansLoss(error)) return new BridgeError("ContextLost", text(error), details);
  if (!(error instanceof BridgeError)) return new BridgeError(name, text(error), details);
  return Object.assign(error, details);
}
