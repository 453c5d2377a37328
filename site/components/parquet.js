/**
 * Reads Parquet files for the pages that take tables.
 *
 * `read(bytes)` returns JSON of the names of the columns and of the cells of each, as
 * `webnnm.read_table` has them on a desktop: numbers, words, true and false, null, and dates and
 * times as ISO 8601 writes them.
 */

/*!
 * hyparquet, hyparquet-compressors, hysnappy: Copyright Hyperparam. fzstd: Copyright Arjun Barrett.
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
 * associated documentation files (the "Software"), to deal in the Software without restriction,
 * including without limitation the rights to use, copy, modify, merge, publish, distribute,
 * sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is
 * furnished to do so, subject to the following conditions:
 *
 * The above copyright notice and this permission notice shall be included in all copies or
 * substantial portions of the Software.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT
 * NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
 * NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM,
 * DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT
 * OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
 */

import { parquetMetadata, parquetReadObjects, parquetSchema } from "hyparquet";
import { compressors } from "hyparquet-compressors";

const DAY = 86_400_000;
const PARSERS = {
  dateFromDays: (days) => new Date(days * DAY).toISOString().slice(0, 10),
  timestampFromMilliseconds: (millis) => writeTime(Number(millis)),
  timestampFromMicroseconds: (micros) => writeTime(Number(micros / 1000n)),
  timestampFromNanoseconds: (nanos) => writeTime(Number(nanos / 1_000_000n)),
};

/** Write a time as it is in the file, without a zone. */
const writeTime = (millis) => new Date(millis).toISOString().replace(/(\.000)?Z$/, "");

/** @param {Uint8Array} bytes */
export async function read(bytes) {
  const file = bytes.slice().buffer;
  const metadata = parquetMetadata(file);
  const names = parquetSchema(metadata).children.map(({ element }) => element.name);
  const options = { file, metadata, compressors, parsers: PARSERS };
  const rows = await parquetReadObjects(options);
  const cells = names.map((name) => rows.map((row) => row[name] ?? null));
  return JSON.stringify({ names, cells }, (_, cell) => (typeof cell === "bigint" ? Number(cell) : cell));
}
