/** Blocks of quantised numbers in GGUF files. */

import type { Bytes } from "../webnn/bridge.js";

/**
 * Write the float32 numbers of a matrix to memory of their size. `code` is the type of its blocks,
 * `columns` the length of a row in the file. With `head` the rows of each head of this size come in
 * the order of Hugging Face, as by `File.rope_order`. If `transposed`, the columns become rows.
 */
export function unpack(
  code: string,
  source: Bytes,
  target: Bytes,
  columns: number,
  head: number,
  transposed: boolean,
): void;
