/**
 * Large files from the network. What was received can stay in the browser's storage, in parts: an
 * interrupted download is resumed, and a complete file is not fetched again.
 *
 * @module
 * @typedef {typeof import("./downloads.js").download} Download
 * @typedef {{ validator: string, size: number, parts: number, complete: boolean }} State
 */

import { BridgeError, borrow } from "../common.js";

export { unpack } from "./blocks.js";

// Service workers remove storages whose name begins with "webnnm ", their scope, and a blank.
const STORAGE = "webnnm-downloads";
/** Bytes that are stored at a time; an interrupted connection loses no more. */
const PART_BYTES = 1 << 23;
/** Bytes that are copied to Python at a time. */
const PIECE_BYTES = 1 << 22;
/**
 * Files that were fetched before Python asks for them, by address; undefined if that failed.
 *
 * @type {Map<string, Promise<{ headers: Headers, bytes: Uint8Array<ArrayBuffer> } | undefined>>}
 */
const early = new Map();
/** @type {State} */
const NOTHING = { validator: "", size: 0, parts: 0, complete: false };

/** @type {Download} */
export async function download(address, keep, withHash, onProgress, noRedirects) {
  const url = resolve(address);
  const storage = keep ? await globalThis.caches?.open(STORAGE).catch(() => undefined) : undefined;
  const file = new Parts(url, storage);
  await file.recall();
  const prefetched = await take(url);
  if (!file.state.complete && prefetched) {
    await file.begin(prefetched.headers);
    await file.add([prefetched.bytes]);
    await file.finish();
  }
  if (!file.state.complete) await fetchMissing(file, onProgress, noRedirects);
  const { size } = file;
  onProgress(size, size);
  return {
    size,
    sha256: withHash ? await hash(new Blob([...file.blobs, ...file.chunks])) : "",
    kept: file.storage !== undefined,
    drop: () => file.drop(),
    copy: async (target) => {
      let start = 0;
      for await (const piece of file.pieces()) {
        borrow(target, (memory) => memory.set(piece, start));
        start += piece.length;
      }
    },
  };
}

/** @type {import("./downloads.js").prefetch} */
export function prefetch(address) {
  const url = resolve(address);
  const fetching = fetch(url).then(async (response) => {
    // Whoever asks for the file may forbid redirects, and learns of errors by asking again.
    if (!response.ok || response.redirected) return undefined;
    return { headers: response.headers, bytes: new Uint8Array(await response.arrayBuffer()) };
  });
  early.set(url, fetching.catch(() => undefined));
}

/** @type {import("./downloads.js").takePrefetched} */
export async function takePrefetched(address) {
  return (await take(resolve(address)))?.bytes;
}

/** @param {string} url */
function take(url) {
  const fetching = early.get(url);
  early.delete(url);
  return fetching;
}

/** Return an address that is relative to the page. @param {string} address */
function resolve(address) {
  return new URL(address, globalThis.document?.baseURI ?? location.href).href;
}

/** @type {import("./downloads.js").forget} */
export async function forget() {
  await globalThis.caches?.delete(STORAGE);
}

/**
 * Fetch what is missing of a file.
 *
 * @param {Parts} file @param {Parameters<Download>[3]} onProgress @param {boolean} noRedirects
 */
async function fetchMissing(file, onProgress, noRedirects) {
  const { url, state } = file;
  /** @type {Record<string, string>} */
  const headers = file.size && state.validator
    ? { Range: `bytes=${file.size}-`, "If-Range": state.validator }
    : {};
  // Where a redirect leads to is known afterwards: by https it reaches nothing without a certificate.
  const secure = url.startsWith("https:");
  const redirect = noRedirects && !secure ? "error" : "follow";
  const response = await fetch(url, { headers, redirect });
  if (noRedirects && secure && !response.url.startsWith("https:")) {
    throw new BridgeError("NotFound", `${url}: the server redirects to ${response.url}`);
  }
  if (response.status === 206) {
    const start = /^bytes (\d+)-/.exec(response.headers.get("content-range") ?? "")?.[1];
    if (Number(start) !== file.size) throw new Error(`${url}: the server sent another range`);
  } else if (response.ok && response.body) {
    await file.begin(response.headers);
  } else {
    throw new BridgeError("NotFound", `${url}: the server answered ${response.status}`);
  }
  const reader = /** @type {ReadableStream<Uint8Array<ArrayBuffer>>} */ (response.body).getReader();
  /** @type {Uint8Array<ArrayBuffer>[]} */
  let chunks = [];
  let waiting = 0;
  const flush = async () => {
    if (waiting) await file.add(chunks);
    chunks = [];
    waiting = 0;
  };
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      chunks.push(next.value);
      waiting += next.value.length;
      onProgress(file.size + waiting, Math.max(file.state.size, file.size + waiting));
      if (waiting >= PART_BYTES) await flush();
    }
  } finally {
    await flush();
  }
  if (file.state.size && file.size !== file.state.size) {
    const progress = `${file.size} of ${file.state.size} bytes`;
    throw new BridgeError("Incomplete", `${url}: the connection ended after ${progress}`);
  }
  await file.finish();
}

/** Return the SHA-256 of a file in hexadecimal digits. @param {Blob} all */
async function hash(all) {
  if (!globalThis.crypto?.subtle) {
    throw new BridgeError("NotAvailable", "hashes can only be checked on pages served over https");
  }
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", await all.arrayBuffer()));
  return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The parts of a file that are available, in the browser's storage if there is one. */
class Parts {
  state = NOTHING;
  /** @type {Blob[]} */
  blobs = [];
  /** What is not stored stays as it came: blobs are in another process. @type {Uint8Array<ArrayBuffer>[]} */
  chunks = [];

  /** @param {string} url @param {Cache | undefined} storage */
  constructor(url, storage) {
    this.url = url;
    this.storage = storage;
  }

  get size() {
    const stored = this.blobs.reduce((sum, blob) => sum + blob.size, 0);
    return this.chunks.reduce((sum, chunk) => sum + chunk.length, stored);
  }

  /** Yield the bytes in order, a few megabytes at a time. */
  async* pieces() {
    for (const blob of this.blobs) {
      for (let start = 0; start < blob.size; start += PIECE_BYTES) {
        yield new Uint8Array(await blob.slice(start, start + PIECE_BYTES).arrayBuffer());
      }
    }
    yield* this.chunks;
  }

  /** Load the parts that were stored before. */
  async recall() {
    const stored = await this.storage?.match(this.key("state"));
    if (!stored) return;
    /** @type {State} */
    const state = await stored.json();
    const parts = await Promise.all(
      Array.from({ length: state.parts }, (_, part) => this.storage?.match(this.key(part))),
    );
    const blobs = await Promise.all(parts.map((part) => part?.blob()));
    // Browsers may remove stored entries.
    if (blobs.some((blob) => blob === undefined)) return;
    this.blobs = /** @type {Blob[]} */ (blobs);
    this.state = state;
  }

  /** Start over with what a server says about the file. @param {Headers} headers */
  async begin(headers) {
    await this.drop();
    // The length and the ranges of a compressed response are not those of the file.
    if (headers.has("content-encoding")) return;
    const tag = headers.get("etag") ?? "";
    const validator = tag && !tag.startsWith("W/") ? tag : headers.get("last-modified") ?? "";
    const size = Number(headers.get("content-length")) || 0;
    this.state = { ...NOTHING, validator, size };
  }

  /** @param {Uint8Array<ArrayBuffer>[]} chunks */
  async add(chunks) {
    if (!this.storage) {
      this.chunks.push(...chunks);
      return;
    }
    const blob = new Blob(chunks);
    const part = this.blobs.push(blob) - 1;
    this.state = { ...this.state, parts: part + 1 };
    await this.put(part, blob);
    await this.put("state", new Blob([JSON.stringify(this.state)]));
  }

  /** Mark the file as complete. */
  async finish() {
    this.state = { ...this.state, complete: true };
    await this.put("state", new Blob([JSON.stringify(this.state)]));
  }

  /** Remove all parts. */
  async drop() {
    const names = ["state", ...this.blobs.keys()];
    await Promise.all(names.map((name) => this.storage?.delete(this.key(name))));
    this.blobs = [];
    this.chunks = [];
    this.state = NOTHING;
  }

  /** @param {string | number} name @param {Blob} blob */
  async put(name, blob) {
    try {
      await this.storage?.put(this.key(name), new Response(blob));
    } catch {
      // If the storage is full, the next visit only takes longer.
      const { blobs, state } = this;
      await this.drop();
      Object.assign(this, { blobs, state, storage: undefined });
    }
  }

  /** @param {string | number} name */
  key(name) {
    const key = new URL(this.url);
    key.searchParams.set("webnnm-part", String(name));
    return key.href;
  }
}
