/**
 * Cells of a table's row as numbers: what Python's webnnm/data/tables/encoding.py does.
 *
 * @module
 */

import { encodeDate } from "./dates.js";
import { hashWord } from "./hashing.js";
import { isRecord, refuse, refuseColumn } from "./rows.js";

/** What stands for a missing number or date, in lower case. */
const MISSING = new Set(["", "na", "n/a", "nan", "null", "none", "nat", "<na>", "?"]);
/** What Python's `float` reads. */
const PLAIN = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const INFINITE = /^[+-]?inf(inity)?$/i;
const GROUPS = "[\u00a0\u202f\u2009\u2007]";
const SHAPE = /^(\()?([+-])? *([^\d.,'()+\- ]+)? *([+-])?([\d][\d.,' ]*|[.,]\d+)(e[+-]?\d{1,3})?([+-])?( *[^\s\d.,'()+\-"#][^\d.,'()+\-"]{0,11})?(\))?$/i;
const MAX_LISTED = 8;

/**
 * Return the numbers of a row: an object from column to cell, a list with a cell per column, or the
 * cell of the only one.
 *
 * @param {Encoder[]} encoders @param {any} row
 */
export function encodeRow(encoders, row) {
  return encoders.flatMap((encoder, index) => {
    const cell = isRecord(row) ? row[encoder.name] : cellsOf(encoders, row)[index];
    if (isRecord(row) && !Object.hasOwn(row, encoder.name)) throw refuseColumn(encoder.name, row);
    const numbers = encodeCell(encoder, cell);
    return encoder.indicator ? [...numbers, Number(isMissing(encoder, cell))] : numbers;
  });
}

/** @param {Encoder} encoder @param {any} cell @returns {number[]} */
function encodeCell(encoder, cell) {
  if ("dates" in encoder) return encodeDate(encoder, isMissing(encoder, cell) ? null : cell);
  return "categories" in encoder ? encodeWord(encoder, cell) : [encodeNumber(encoder, cell)];
}

/** @param {Encoder} encoder @param {any} cell */
function isMissing(encoder, cell) {
  if ("dates" in encoder) return MISSING.has(String(cell ?? "").trim().toLowerCase());
  return "categories" in encoder ? toWord(cell) === null : Number.isNaN(toNumber(cell, encoder.format ?? {}));
}

/** @param {Encoder[]} encoders @param {any} row @returns {any[]} */
function cellsOf(encoders, row) {
  const list = Array.isArray(row) ? row : [row];
  const cells = list.length === 1 && Array.isArray(list[0]) ? list[0] : list;
  if (cells.length === encoders.length) return cells;
  const names = encoders.map(({ name }) => name).join(", ");
  throw refuse("NNM702", `row 0 is ${JSON.stringify(row)}\nhint: a row has ${encoders.length} cells: ${names}`);
}

/** @param {WordEncoder} encoder @param {any} cell */
function encodeWord({ name, categories, unknown, fill, others = 0 }, cell) {
  const word = toWord(cell);
  if (word === null) {
    if (fill.length === 0) throw missing(name);
    return fill;
  }
  const known = categories.includes(word);
  if (!known && !others && unknown === "error") {
    const listed = categories.slice(0, MAX_LISTED).join(", ");
    throw refuse("NNM706", `row 0, column ${name} is "${word}"\nhint: known: ${listed}`);
  }
  const numbers = categories.map((category) => Number(category === word));
  const rest = Array.from({ length: others }, () => 0);
  if (!known && others) {
    const { bucket, sign } = others > 1 ? hashWord(word, others) : { bucket: 0, sign: 1 };
    rest[bucket] = sign;
  }
  return [...numbers, ...rest];
}

/** The word in a cell, null for a missing one. @param {any} cell */
export function toWord(cell) {
  if (typeof cell === "boolean") return cell ? "True" : "False";
  if (typeof cell !== "string" && (cell === null || cell === undefined || Number.isNaN(cell))) return null;
  return String(cell).trim() || null;
}

/** @param {NumberEncoder} encoder @param {any} cell */
function encodeNumber({ name, fill, format }, cell) {
  const number = toNumber(cell, format ?? {});
  if (number === null) {
    throw refuse("NNM713", `row 0, column ${name} is "${cell}", not a number${format ? " as the training rows have them" : ""}\nhint: give a number, such as ${fill ?? 1.5}`);
  }
  if (!Number.isFinite(Math.fround(number)) && !Number.isNaN(number)) {
    throw refuse("NNM707", `row 0, column ${name} is "${cell}", which is not finite in float32\nhint: give a number below 3.4e38`);
  }
  if (!Number.isNaN(number)) return number;
  if (fill === null) throw missing(name);
  return fill;
}

/** @param {string} name */
function missing(name) {
  return refuse("NNM713", `row 0, column ${name} is empty\nhint: give a value: no cell was empty when the encoder was fitted`);
}

/** The number in a cell, NaN for a missing one, null for a word. @param {any} cell @param {NumberFormat} format */
export function toNumber(cell, format) {
  if (typeof cell === "number" || typeof cell === "boolean") return Number(cell);
  if (cell === null || cell === undefined) return Number.NaN;
  if (typeof cell !== "string") return null;
  const text = cell.trim();
  const lower = text.toLowerCase();
  if (MISSING.has(lower) || format.missing?.includes(lower)) return Number.NaN;
  const decimal = format.decimal ?? ".";
  const formatted = parseFormatted(text, { ...format, decimal });
  if (formatted !== null || decimal !== ".") return formatted;
  if (INFINITE.test(text)) return text.startsWith("-") ? -Infinity : Infinity;
  return PLAIN.test(text) ? Number(text) : null;
}

/** @param {string} text @param {NumberFormat & { decimal: string }} format */
function parseFormatted(text, { decimal, thousands = "", unit = "", currency = "" }) {
  const same = text.replace(new RegExp(GROUPS, "g"), " ").replaceAll("\u2019", "'").replaceAll("\u2212", "-");
  const [, open, sign, before = "", inner, body = "", exponent = "", after, end = "", close] = SHAPE.exec(same) ?? [];
  const signs = [sign, inner, after].filter(Boolean);
  if (!body || Boolean(open) !== Boolean(close) || signs.length + Number(Boolean(open)) > 1) return null;
  let [ownUnit, ownCurrency] = [end.trim(), before.trim()];
  if (ownUnit && ownUnit === currency && !ownCurrency) [ownUnit, ownCurrency] = ["", ownUnit];
  if ((ownUnit || unit) !== unit || (ownCurrency && ownCurrency !== currency)) return null;
  const escape = (/** @type {string} */ mark) => mark.replace(/[.']/g, "\\$&");
  const [point, mark] = [escape(decimal), escape(thousands)];
  const whole = thousands
    ? `(?:\\d+|\\d{1,3}(?:${mark}\\d{3})+|\\d{1,2}(?:${mark}\\d{2})+${mark}\\d{3})` : "\\d+";
  const digits = body.trimEnd();
  if (!new RegExp(`^(?:${whole}(?:${point}\\d*)?|${point}\\d+)$`).test(digits)) return null;
  const plain = (thousands ? digits.replaceAll(thousands, "") : digits).replace(decimal, ".");
  const value = Number(plain + exponent);
  return open || signs.includes("-") ? -value : value;
}
