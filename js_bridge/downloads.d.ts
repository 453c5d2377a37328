/** Large files from the network, kept in the browser's storage. */

import type { Bytes } from "./bridge.js";

/** A file that has come. */
export interface Downloaded {
  size: number;
  /** Whether the browser keeps it; false where its storage is full, missing, or not wanted. */
  kept: boolean;
  /** Its hash in hexadecimal digits, "" where that was not wanted. */
  sha256: string;
  /** Keep it no more. */
  drop(): Promise<void>;
  /** Copy all of it to memory of its size. */
  copy(target: Bytes): Promise<void>;
}

/**
 * Fetch a file, or what is missing of it. With `keep` it stays in the browser's storage, with
 * `hashed` its hash is computed. `tell` is told of bytes that are there, and of all as far as that
 * is known.
 *
 * Errors are named "NotFound", "Incomplete" and "NotAvailable".
 */
export function download(
  address: string,
  keep: boolean,
  hashed: boolean,
  tell: (received: number, all: number) => void,
): Promise<Downloaded>;

/** Remove all files that are kept. */
export function forget(): Promise<void>;
