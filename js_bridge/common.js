/**
 * What the modules of the bridge share: errors that Python can tell apart, and Python's buffers.
 *
 * @module
 */

/** An error that Python can tell apart by its name. */
export class BridgeError extends Error {
  /** @param {string} name @param {string} message @param {object} details */
  constructor(name, message, details = {}) {
    super(message);
    this.name = name;
    Object.assign(this, details);
  }
}

/**
 * Use a buffer as bytes; one of Python is released right after.
 *
 * @template T
 * @param {import("./webnn/bridge.js").Bytes} data @param {(bytes: Uint8Array<ArrayBuffer>) => T} use
 * @returns {T}
 */
export function borrow(data, use) {
  if (data instanceof ArrayBuffer) return use(new Uint8Array(data));
  if (data instanceof Uint8Array) return use(data);
  const view = data.getBuffer("u8");
  try {
    return use(view.data);
  } finally {
    view.release();
  }
}

/** @param {unknown} error */
export function text(error) {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
