/**
 * Rows as pages have them, turned into the numbers of a model's inputs: what Python's
 * webnnm/runtime/inference/entries.py does, for one row.
 *
 * @module
 */

import { standardize } from "./scaling.js";

/** What the names of inputs and outputs begin with that have the lengths of sequences, as in Python. */
export const LENGTH = "length/";

/** An error with a code of docs/errors.md. @param {string} code @param {string} message */
export const refuse = (code, message) => new Error(`${code}: ${message}`);

/**
 * Return the numbers of every input for a row, and the lengths of sequences.
 *
 * @param {Record<string, RowFormat>} inputs @param {any} row
 */
export async function prepare(inputs, row) {
  const rows = splitByInput(findAsked(inputs), inputs, row);
  /** @type {Numbers} */
  const numbers = Object.create(null);
  /** @type {Record<string, number>} */
  const lengths = Object.create(null);
  for (const [name, format] of Object.entries(inputs)) {
    const where = `input "${name}"`;
    if (format.fill && !Object.hasOwn(rows, name)) continue;
    if (!Object.hasOwn(rows, name)) {
      const entries = Object.keys(findAsked(inputs)).map((input) => `${input}: …`).join(", ");
      throw refuse("NNM702", `${where} has no data\nhint: give a row for every input: predict({ ${entries} })`);
    }
    const { values, length } = await readInput(where, format, rows[name]);
    numbers[name] = values;
    if (format.sequence === undefined) continue;
    if ((lengths[format.sequence] ?? length) !== length) {
      throw refuse("NNM702", `${where}: its length differs from that of other inputs of "${format.sequence}"`);
    }
    lengths[format.sequence] = length;
    numbers[LENGTH + format.sequence] = [length];
  }
  for (const [name, { fill, sequence = "" }] of Object.entries(inputs)) {
    const length = lengths[sequence] ?? 0;
    if (fill) numbers[name] ??= fill.map((value, position) => (position < length ? value : 0));
  }
  return { numbers, lengths };
}

/** @param {any} value @returns {value is Record<string, any>} */
export const isRecord = (value) => [Object.prototype, null].includes(Object.getPrototypeOf(value ?? 0));

/** Return the inputs that rows must have: the others have values at all positions. @param {Record<string, RowFormat>} inputs */
export const findAsked = (inputs) => Object.fromEntries(Object.entries(inputs).filter(([, { fill }]) => !fill));

/**
 * Return the row of each input; an object may also hold the columns of the only one.
 *
 * @param {Record<string, RowFormat>} asked @param {Record<string, RowFormat>} inputs
 * @param {any} row @returns {Record<string, any>}
 */
function splitByInput(asked, inputs, row) {
  const [first = "", ...others] = Object.keys(asked);
  if (!isRecord(row)) return { [first]: row };
  const { encoders = [], column } = inputs[first] ?? {};
  const columns = others.length > 0 ? [] : column === undefined ? encoders : [{ name: column }];
  const entries = Object.entries(row).map(([name, value]) => [name.replace(/:input$/, ""), value]);
  const isInput = entries.every(([name]) => Object.hasOwn(inputs, name));
  if (!isInput && columns.some(({ name }) => Object.hasOwn(row, name))) return { [first]: row };
  for (const [name] of entries) {
    if (Object.hasOwn(inputs, name)) continue;
    if (columns.length > 0) throw refuseColumn(String(columns[0]?.name), row);
    throw refuse("NNM710", `there is no input "${name}"\nhint: there are: ${Object.keys(asked).join(", ")}`);
  }
  return Object.fromEntries(entries);
}

/**
 * Return the numbers of an input's tensor, and the length of the row.
 *
 * @param {string} where @param {RowFormat} format @param {any} row
 * @returns {Promise<{ values: ArrayLike<number>, length: number }>}
 */
async function readInput(where, format, row) {
  let { flat, shape } = await readRow(where, format, row);
  const { fieldShape, scale, axes } = format;
  const width = product(fieldShape);
  let length = 1;
  if (format.sequence !== undefined) {
    length = findLength(where, format, shape);
  } else if (format.kind !== "picture" && !fits(shape, fieldShape)) {
    throw refuseShape(where, fieldShape, shape);
  }
  if (scale) flat = standardize(flat, scale);
  if (axes.length > 0) flat = permute(flat, fieldShape, axes, length);
  if (format.ids !== undefined) checkIds(where, flat, format.ids);
  if (!format.dtype.startsWith("float")) checkIntegers(where, flat, format.dtype);
  const total = (format.length ?? 1) * width;
  if (flat.length === total) return { values: flat, length };
  const padded = new Float64Array(total);
  padded.set(flat);
  return { values: padded, length };
}

/**
 * Return the numbers of a row as they are given, and their shape.
 *
 * @param {string} where @param {RowFormat} format @param {any} row
 * @returns {Promise<{ flat: ArrayLike<number>, shape: number[] }>}
 */
async function readRow(where, format, row) {
  if (format.light) {
    const { readPicture } = await import("./pictures.js");
    return { flat: await readPicture(where, format, row), shape: format.fieldShape };
  }
  if (format.rate) {
    const { readSound } = await import("./sounds.js");
    return readSound(where, format, row);
  }
  if (format.encoders && (format.named || isRecord(row))) {
    if (isRecord(row) && Object.keys(row).length === 0) {
      const columns = format.encoders.map(({ name }) => name).join(", ");
      throw refuse("NNM702", `${where} has an empty row\nhint: its columns are: ${columns}`);
    }
    const { encodeRow } = await import("./columns.js");
    const flat = encodeRow(format.encoders, row);
    return { flat, shape: [flat.length] };
  }
  const text = readCell(format, row);
  if (format.tokenizer && typeof text === "string") {
    const { encodeText } = await import("./tokens.js");
    const flat = (await encodeText(format.tokenizer, text)).slice(0, format.cut);
    return { flat, shape: [flat.length] };
  }
  if (format.letters) return readText(where, format.letters, row);
  return flatten(where, row);
}

/** Return the text of a row, which may be the only one of a list, or have a name. @param {RowFormat} format @param {any} row */
function readCell({ column }, row) {
  if (column === undefined) return row;
  if (isRecord(row)) return row[column];
  return Array.isArray(row) && row.length === 1 ? row[0] : row;
}

/**
 * Return the numbers of characters; numbers are taken as they are.
 *
 * @param {string} where @param {string[]} letters @param {any} row
 */
function readText(where, letters, row) {
  const text = Array.isArray(row) && row.length === 1 ? row[0] : row;
  if (typeof text !== "string") return flatten(where, row);
  const flat = [...text].map((letter, position) => {
    const id = letters.indexOf(letter);
    if (id >= 0) return id;
    const message = `character ${position} "${letter}" is not in the dataset's`;
    throw refuse("NNM706", `${where}, row 0: ${message}\nhint: known characters: ${letters.join("")}`);
  });
  return { flat, shape: [flat.length] };
}

/**
 * Return nested lists as one list, and its shape.
 *
 * @param {string} where @param {any} values @returns {{ flat: ArrayLike<number>, shape: number[] }}
 */
export function flatten(where, values) {
  if (ArrayBuffer.isView(values) && !(values instanceof DataView)) {
    const flat = /** @type {any} */ (values);
    return { flat: typeof flat[0] === "bigint" ? Array.from(flat, Number) : flat, shape: [flat.length] };
  }
  if (!Array.isArray(values)) {
    if (typeof values === "number" || typeof values === "boolean") return { flat: [Number(values)], shape: [] };
    const what = typeof values === "string" ? `"${values}"` : String(values);
    throw refuse("NNM702", `${where} takes numbers, not ${what}\nhint: give a number, or a list of numbers`);
  }
  const parts = values.map((part, index) => (
    typeof part === "number" ? { flat: [part], shape: [] } : flatten(`${where}, element ${index},`, part)));
  const inner = parts[0]?.shape ?? [];
  if (parts.some(({ shape }) => String(shape) !== String(inner))) {
    throw refuse("NNM702", `${where}: its lists differ in length\nhint: give all lists of one depth the same length`);
  }
  return { flat: parts.flatMap(({ flat }) => Array.from(flat)), shape: [values.length, ...inner] };
}

/** @param {number[]} shape */
export const product = (shape) => shape.reduce((size, factor) => size * factor, 1);

/** @param {string} where @param {number[]} shape @param {number[]} actual */
export const refuseShape = (where, shape, actual) => (
  refuse("NNM702", `${where} takes a row of [${shape.join(", ")}], not [${actual.join(", ")}]\nhint: give a list of ${product(shape)} numbers`));

/** @param {string} name @param {Record<string, any>} row */
export const refuseColumn = (name, row) => (
  refuse("NNM710", `no column "${name}"\nhint: the row has: ${Object.keys(row).join(", ") || "nothing"}`));

/** Whether an array is one row of a shape: sizes of 1 may be left out, and it may be flat. */
export function fits(/** @type {number[]} */ actual, /** @type {number[]} */ shape) {
  const sizes = (/** @type {number[]} */ all) => all.filter((size) => size !== 1);
  const own = sizes(actual);
  return String(own) === String(sizes(shape)) || (own.length === 1 && own[0] === product(shape));
}

/**
 * Return the number of positions of a sequence: `[positions, …]`, or that as the only row.
 *
 * @param {string} where @param {RowFormat} format @param {number[]} shape
 */
function findLength(where, { fieldShape, length: longest = 0 }, shape) {
  const ends = (/** @type {number} */ from) => String(shape.slice(from)) === String(fieldShape);
  let length;
  if (shape[0] === 1 && shape.length === fieldShape.length + 2 && ends(2)) length = shape[1];
  else if (shape.length === fieldShape.length + 1 && ends(1)) length = shape[0];
  else if (product(fieldShape) === 1 && shape[0] === 1 && product(shape.slice(2)) === 1) length = shape[1];
  if (length === undefined) {
    const sizes = ["positions", ...fieldShape].join(", ");
    throw refuse("NNM702", `${where} takes [${sizes}], not [${shape.join(", ")}]`);
  }
  if (length === 0) throw refuse("NNM711", `${where}: the row has no positions`);
  if (length > longest) {
    const hint = "cut it, or export the page with a larger sequence=";
    throw refuse("NNM711", `${where}: the row has ${length} positions, at most ${longest} fit\nhint: ${hint}`);
  }
  return length;
}

/**
 * Return positions with their dimensions in another order.
 *
 * @param {ArrayLike<number>} flat @param {number[]} shape @param {number[]} axes
 * @param {number} positions
 */
export function permute(flat, shape, axes, positions) {
  const width = product(shape);
  let offsets = [0];
  for (const axis of axes) {
    const stride = product(shape.slice(axis + 1));
    offsets = offsets.flatMap((offset) => Array.from({ length: Number(shape[axis]) }, (_, k) => offset + k * stride));
  }
  const result = new Float64Array(positions * width);
  for (let position = 0; position < positions; position += 1) {
    offsets.forEach((offset, index) => {
      result[position * width + index] = Number(flat[position * width + offset]);
    });
  }
  return result;
}

/** @param {string} where @param {ArrayLike<number>} flat @param {string} dtype */
function checkIntegers(where, flat, dtype) {
  const count = 2 ** Number(/\d+/.exec(dtype));
  const lowest = dtype.startsWith("u") ? 0 : -count / 2;
  for (let index = 0; index < flat.length; index += 1) {
    const value = Number(flat[index]);
    if (Number.isInteger(value) && value >= lowest && value < lowest + count) continue;
    throw refuse("NNM702", `${where} takes integers from ${lowest} to ${lowest + count - 1}, element ${index} is ${value}`);
  }
}

/** @param {string} where @param {ArrayLike<number>} flat @param {number} rows */
function checkIds(where, flat, rows) {
  for (let index = 0; index < flat.length; index += 1) {
    const id = Number(flat[index]);
    if (!(id >= 0 && id < rows)) {
      throw refuse("NNM702", `${where}: element ${index} is ${id}, the table has ${rows} rows\nhint: ids are 0 … ${rows - 1}`);
    }
  }
}
