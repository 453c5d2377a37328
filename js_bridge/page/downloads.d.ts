/** Large files from the network, kept in the browser's storage. */

import type { Bytes } from "../webnn/bridge.js";

export { unpack } from "./blocks.js";

/** A file that was downloaded. */
export interface Downloaded {
  size: number;
  /** Whether the browser keeps it; false if its storage is full, missing, or not requested. */
  kept: boolean;
  /** Its hash in hexadecimal digits, "" if that was not requested. */
  sha256: string;
  /** Remove it from the storage. */
  drop(): Promise<void>;
  /** Copy all of it to memory of its size. */
  copy(target: Bytes): Promise<void>;
}

/**
 * Fetch a file, or what is missing of it. With `keep` it stays in the browser's storage, with
 * `withHash` its hash is computed. `onProgress` is called with the bytes received, and with the
 * total as far as it is known. With `noRedirects` the server must not redirect, except from https to
 * https.
 *
 * Errors are named "NotFound", "Incomplete" and "NotAvailable".
 */
export function download(
  address: string,
  keep: boolean,
  withHash: boolean,
  onProgress: (received: number, total: number) => void,
  noRedirects: boolean,
): Promise<Downloaded>;

/**
 * Begin to fetch a file that Python is going to load, for example while Python itself is starting.
 * The page keeps it until Python asks for the same address.
 */
export function prefetch(address: string): void;

/** Return the bytes of a file that was prefetched, once; undefined for all others. */
export function takePrefetched(address: string): Promise<Uint8Array<ArrayBuffer> | undefined>;

/** Remove all files that are kept. */
export function forget(): Promise<void>;
