/**
 * Handles: the integers by which Python knows contexts, and the graphs, tensors and runners made in
 * them.
 *
 * @module
 * @typedef {typeof import("./bridge.js")} Bridge
 */

import { BridgeError } from "../common.js";

/** @type {Map<number, Thing>} */
const things = new Map();
let lastHandle = 0;
/** The number of destroyed things: when it changes, runners look up what they are bound to. */
export let releases = 0;

/** Register a thing, and return its handle. @param {Thing} thing */
export function enter(thing) {
  lastHandle += 1;
  things.set(lastHandle, thing);
  return lastHandle;
}

/** Register what was made in a context, unless the context was closed meanwhile. */
export function join(/** @type {BridgeTensor | BridgeGraph | BridgeRunner} */ thing) {
  const context = things.get(thing.context);
  if (context?.kind !== "context") {
    if (thing.kind !== "runner") thing.ml.destroy();
    throw new BridgeError("UnknownHandle", `context ${thing.context} was closed meanwhile`);
  }
  const handle = enter(thing);
  context.members.add(handle);
  return handle;
}

/**
 * Return what a handle stands for.
 *
 * @template {Thing["kind"]} Kind
 * @param {number} handle @param {Kind} kind @returns {Extract<Thing, {kind: Kind}>}
 */
export function known(handle, kind) {
  const thing = things.get(handle);
  if (thing?.kind !== kind) {
    const what = thing
      ? `handle ${handle} is a ${thing.kind}, not a ${kind}`
      : `there is no ${kind} ${handle}`;
    throw new BridgeError("UnknownHandle", `${what}: released, closed, or never made`);
  }
  return /** @type {any} */ (thing);
}

/** Return a context that is not lost. @param {number} handle */
export function alive(handle) {
  const context = known(handle, "context");
  if (context.lost !== null) throw new BridgeError("ContextLost", context.lost);
  return context;
}

/** @type {Bridge["release"]} */
export function release(...handles) {
  for (const handle of handles) {
    const thing = things.get(handle);
    if (!thing || thing.kind === "context") continue;
    if (thing.kind !== "runner") thing.ml.destroy();
    things.delete(handle);
    known(thing.context, "context").members.delete(handle);
    releases += 1;
  }
}

/** @type {Bridge["ledger"]} */
export function ledger(handle) {
  const counted = { graphs: 0, tensors: 0, bytes: 0 };
  const context = things.get(handle);
  for (const member of context?.kind === "context" ? context.members : []) {
    const thing = things.get(member);
    if (thing?.kind !== "graph" && thing?.kind !== "tensor") continue;
    counted[`${thing.kind}s`] += 1;
    counted.bytes += thing.bytes;
  }
  return JSON.stringify(counted);
}

/** @type {Bridge["close"]} */
export function close(handle) {
  const context = things.get(handle);
  if (context?.kind !== "context") return;
  release(...context.members);
  things.delete(handle);
  context.ml.destroy();
}
