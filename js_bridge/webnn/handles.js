/**
 * Handles: the integers by which Python knows contexts, and the graphs, tensors and runners made in
 * them.
 *
 * @module
 * @typedef {typeof import("./bridge.js")} Bridge
 */

import { BridgeError } from "../common.js";

/** @type {Map<number, Entry>} */
const entries = new Map();
let lastHandle = 0;
/** The number of destroyed entries: when it changes, runners look up what they are bound to. */
export let releases = 0;

/** Register an entry, and return its handle. @param {Entry} entry */
export function register(entry) {
  lastHandle += 1;
  entries.set(lastHandle, entry);
  return lastHandle;
}

/** Register what was made in a context, unless the context was closed meanwhile. */
export function registerMember(/** @type {BridgeTensor | BridgeGraph | BridgeRunner} */ entry) {
  const context = entries.get(entry.context);
  if (context?.kind !== "context") {
    if (entry.kind !== "runner") entry.ml.destroy();
    throw new BridgeError("UnknownHandle", `context ${entry.context} was closed meanwhile`);
  }
  const handle = register(entry);
  context.members.add(handle);
  return handle;
}

/**
 * Return what a handle stands for.
 *
 * @template {Entry["kind"]} Kind
 * @param {number} handle @param {Kind} kind @returns {Extract<Entry, {kind: Kind}>}
 */
export function lookup(handle, kind) {
  const entry = entries.get(handle);
  if (entry?.kind !== kind) {
    const what = entry
      ? `handle ${handle} is a ${entry.kind}, not a ${kind}`
      : `there is no ${kind} ${handle}`;
    throw new BridgeError("UnknownHandle", `${what}: released, closed, or never made`);
  }
  return /** @type {any} */ (entry);
}

/** Return a context that is not lost. @param {number} handle */
export function alive(handle) {
  const context = lookup(handle, "context");
  if (context.lost !== null) throw new BridgeError("ContextLost", context.lost);
  return context;
}

/** @type {Bridge["release"]} */
export function release(...handles) {
  for (const handle of handles) {
    const entry = entries.get(handle);
    if (!entry || entry.kind === "context") continue;
    if (entry.kind !== "runner") entry.ml.destroy();
    entries.delete(handle);
    lookup(entry.context, "context").members.delete(handle);
    releases += 1;
  }
}

/** @type {Bridge["memory"]} */
export function memory(handle) {
  const totals = { graphs: 0, tensors: 0, bytes: 0 };
  const context = entries.get(handle);
  for (const member of context?.kind === "context" ? context.members : []) {
    const entry = entries.get(member);
    if (entry?.kind !== "graph" && entry?.kind !== "tensor") continue;
    totals[`${entry.kind}s`] += 1;
    totals.bytes += entry.bytes;
  }
  return JSON.stringify(totals);
}

/** @type {Bridge["close"]} */
export function close(handle) {
  const context = entries.get(handle);
  if (context?.kind !== "context") return;
  release(...context.members);
  entries.delete(handle);
  context.ml.destroy();
}
