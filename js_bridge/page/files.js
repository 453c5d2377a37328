/**
 * Files that a browser keeps for a site: in its private file system, or in IndexedDB if that is
 * missing. A file is replaced only once all of it is written. files.d.ts says what each function
 * does.
 *
 * @module
 * @typedef {typeof import("./files.js")} Files
 */

import { borrow } from "../common.js";

const NAME = "webnnm";
const STORE = "files";
/** Bytes that are copied at a time: a large file is in memory once, not twice. */
const PIECE_BYTES = 1 << 22;

/**
 * The names that this page or worker has claimed: how often, when it holds the lock, and how to
 * release it. A released name stays here until the browser has taken back the lock.
 *
 * @type {Map<string, { count: number, had: Promise<void>, gone: Promise<void>, free(): void }>}
 */
const claims = new Map();

/** @type {Files["claim"]} */
export async function claim(name) {
  while (claims.get(name)?.count === 0) await claims.get(name)?.gone;
  const mine = claims.get(name) ?? lock(name);
  mine.count += 1;
  await mine.had;
}

/** @type {Files["release"]} */
export async function release(name) {
  const mine = claims.get(name);
  if (!mine || --mine.count) return;
  mine.free();
  await mine.gone;
}

/** Request the lock of a name, which all pages of a site share. @param {string} name */
function lock(name) {
  let free = () => {};
  /** @type {Promise<unknown>} */
  let gone = Promise.resolve();
  const had = new Promise((/** @type {(had: void) => void} */ resolve, reject) => {
    if (!navigator.locks) return resolve();
    gone = navigator.locks
      .request(`${NAME}:${name}`, { ifAvailable: true }, async (held) => {
        if (!held) throw Object.assign(new Error("another tab or window of this site is using the "
          + `training "${name}"`), { name: "InUse" });
        await new Promise((/** @type {(gone: void) => void} */ end) => {
          free = end;
          resolve();
        });
      })
      .catch(reject);
  });
  const forget = () => { claims.delete(name); };
  const mine = { count: 0, had, gone: gone.then(forget), free: () => free() };
  claims.set(name, mine);
  return mine;
}

/** @type {Files["writer"]} */
export async function writer(name) {
  await claim(name);
  const done = (/** @type {() => Promise<void>} */ end) => () => (
    plainly(end()).finally(() => release(name))
  );
  try {
    const file = await plainly(openFile(name));
    return {
      write: (part) => plainly(file.write(part)),
      close: done(file.close),
      abort: done(file.abort),
    };
  } catch (error) {
    await release(name);
    throw error;
  }
}

/**
 * Turn a browser's errors into plain ones: Pyodide waits forever for a promise that is rejected
 * with an object that it does not recognise as an error, such as newer QuotaExceededErrors.
 *
 * @template T
 * @param {Promise<T>} work
 */
function plainly(work) {
  return work.catch((/** @type {Error} */ { name, message }) => {
    throw Object.assign(new Error(message), { name });
  });
}

/** Begin a file. @param {string} name */
async function openFile(name) {
  const folder = await privateFolder();
  if (!folder) {
    const parts = collectBlobs();
    return {
      ...parts,
      close: async () => {
        await inDatabase("readwrite", (files) => files.put(parts.blob(), name));
      },
    };
  }
  // The browser writes to a temporary file until the stream is closed.
  const stream = await (await folder.getFileHandle(name, { create: true })).createWritable();
  return {
    write: async (/** @type {import("./files.js").Memory} */ part) => {
      for (const piece of pieces(part)) await stream.write(piece);
    },
    close: () => stream.close(),
    abort: () => stream.abort(),
  };
}

/** @type {Files["read"]} */
export function read(name) {
  return plainly(readFile(name));
}

/** @type {Files["read"]} */
async function readFile(name) {
  const folder = await privateFolder();
  const file = folder
    ? await folder.getFileHandle(name).then((handle) => handle.getFile(), missing)
    : await inDatabase("readonly", (files) => files.get(name));
  // A file that was never closed exists, but is empty.
  if (!file?.size) return undefined;
  return {
    size: file.size,
    copy: async (target) => {
      for (let start = 0; start < file.size; start += PIECE_BYTES) {
        const piece = new Uint8Array(await file.slice(start, start + PIECE_BYTES).arrayBuffer());
        borrow(target, (memory) => memory.set(piece, start));
      }
    },
  };
}

/** @type {Files["drop"]} */
export async function drop(name) {
  await claim(name);
  try {
    await plainly(removeFile(name));
  } finally {
    await release(name);
  }
}

/** Remove a file that is claimed. @param {string} name */
async function removeFile(name) {
  const folder = await privateFolder();
  if (folder) await folder.removeEntry(name).catch(missing);
  else await inDatabase("readwrite", (files) => files.delete(name));
}

/** @type {Files["download"]} */
export function download(name) {
  if (typeof document === "undefined") {
    throw new Error("a worker cannot save a download: send the bytes to the page");
  }
  const parts = collectBlobs();
  return {
    ...parts,
    close: async () => {
      const address = URL.createObjectURL(parts.blob());
      Object.assign(document.createElement("a"), { href: address, download: name }).click();
      setTimeout(() => URL.revokeObjectURL(address), 60_000);
    },
  };
}

/** @type {Promise<void> | undefined} */
let leaving;

/** @type {Files["hidden"]} */
export function hidden() {
  leaving ??= new Promise((resolve) => {
    if (typeof document === "undefined") return;
    const listening = new AbortController();
    const { signal } = listening;
    const leave = () => {
      listening.abort();
      leaving = undefined;
      resolve();
    };
    // A reload or a link fires the first event, while there is time; some browsers only the last.
    addEventListener("beforeunload", leave, { signal });
    addEventListener("pagehide", leave, { signal });
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "hidden") leave();
    }, { signal });
  });
  return leaving;
}

/** The folder of this package in the private file system, or null if there is none. */
async function privateFolder() {
  const isWritable = typeof FileSystemFileHandle === "function"
    && "createWritable" in FileSystemFileHandle.prototype;
  if (!isWritable || !navigator.storage?.getDirectory) return null;
  try {
    const root = await navigator.storage.getDirectory();
    return await root.getDirectoryHandle(NAME, { create: true });
  } catch (error) {
    // Some private windows have the interface, but refuse its use.
    if (error instanceof DOMException && error.name === "SecurityError") return null;
    throw error;
  }
}

/** @param {unknown} error */
function missing(error) {
  if (error instanceof DOMException && error.name === "NotFoundError") return undefined;
  throw error;
}

/**
 * Make one request in one transaction, and wait until the transaction is complete.
 *
 * @param {IDBTransactionMode} mode @param {(files: IDBObjectStore) => IDBRequest} ask
 * @returns {Promise<any>}
 */
function inDatabase(mode, ask) {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open(NAME, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
      const database = opening.result;
      const end = (/** @type {() => void} */ tell) => () => {
        database.close();
        tell();
      };
      try {
        const transaction = database.transaction(STORE, mode, { durability: "strict" });
        const request = ask(transaction.objectStore(STORE));
        transaction.oncomplete = end(() => resolve(request.result));
        // A failed request aborts its transaction, which then has the reason.
        transaction.onabort = end(() => reject(transaction.error));
      } catch (error) {
        // An exception in an event handler does not reject the promise.
        end(() => reject(error))();
      }
    };
  });
}

/** Begin a file made of blobs, which browsers keep outside the page's memory. */
function collectBlobs() {
  /** @type {Blob[]} */
  const blobs = [];
  return {
    write: async (/** @type {import("./files.js").Memory} */ part) => {
      for (const piece of pieces(part)) blobs.push(new Blob([piece]));
    },
    abort: async () => { blobs.length = 0; },
    blob: () => new Blob(blobs, { type: "application/octet-stream" }),
  };
}

/** Yield copies of pieces of a part. @param {import("./files.js").Memory} part */
function* pieces(part) {
  const size = borrow(part, (memory) => memory.length);
  for (let start = 0; start < size; start += PIECE_BYTES) {
    yield borrow(part, (memory) => memory.slice(start, start + PIECE_BYTES));
  }
}
