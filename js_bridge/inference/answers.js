/**
 * What a model's outputs mean: classes with probabilities, or numbers in the data's units, as
 * Python's webnnm/model/serving.py describes them.
 *
 * @module
 */

import { LENGTH, product } from "./rows.js";
import { undo } from "./scaling.js";

/** How far the sum of the probabilities of a row may be from 1. */
const SUM_TOLERANCE = 1e-3;
const THRESHOLD = 0.5;

/**
 * Return what outputs mean; the numbers of boxes are left to boxes.js.
 *
 * @param {Record<string, AnswerFormat>} formats @param {Numbers} outputs
 * @param {Record<string, number>} lengths
 */
export function describe(formats, outputs, lengths) {
  return Object.fromEntries(Object.entries(formats).map(([name, format]) => {
    const [counted] = Array.from(outputs[LENGTH + name] ?? []);
    const positions = format.positions ? counted ?? Object.values(lengths)[0] ?? 1 : null;
    const width = product(format.shape) * (positions ?? 1);
    const values = Array.from(outputs[name] ?? []).slice(0, width);
    return [name, describeOutput(format, values, positions)];
  }));
}

/** @param {AnswerFormat} format @param {number[]} values @param {number | null} positions @returns {any} */
function describeOutput(format, values, positions) {
  const shape = positions === null ? format.shape : [positions, ...format.shape];
  const { kind, classes = 0, scale, target } = format;
  if (!kind || kind === "boxes") return { values: nest(target ? undo(values, target) : values, shape) };
  const columns = kind === "multilabel" ? 1 : classes;
  const shares = scale ? toProbabilities(values, columns, scale) : values;
  const labels = format.labels ?? Array.from({ length: Math.max(2, classes) }, (_, number) => number);
  const label = decode(shares, shape, kind, classes, labels);
  const nested = /** @type {any[]} */ (nest(shares, shape));
  if (Array.isArray(label) && Array.isArray(nested) && nested.some(Array.isArray)) return { values: label };
  const flat = [nested].flat();
  const probabilities = flat.length === 1 && labels.length === 2 ? [1 - flat[0], ...flat] : flat;
  return { label, labels, probabilities };
}

/**
 * Return the class of a row, or of each of its positions.
 *
 * @param {number[]} shares @param {number[]} shape @param {string} kind @param {number} classes
 * @param {any[]} labels
 */
function decode(shares, shape, kind, classes, labels) {
  const lead = shape.slice(0, -1);
  if (kind === "multilabel" && classes === 1) {
    return nest(shares.map((share) => labels[Number(share >= THRESHOLD)]), lead);
  }
  const decoded = [];
  for (let first = 0; first < shares.length; first += classes) {
    const row = shares.slice(first, first + classes);
    decoded.push(kind === "multilabel"
      ? labels.filter((_, number) => Number(row[number]) >= THRESHOLD)
      : labels[row.indexOf(largest(row.filter((share) => !Number.isNaN(share))))]);
  }
  return nest(decoded, lead);
}

/** @param {number[]} scores @param {number} columns @param {string} scale */
function toProbabilities(scores, columns, scale) {
  if (scale === "logit" && columns === 1) return scores.map((score) => 1 / (1 + Math.exp(-score)));
  const rows = Array.from({ length: scores.length / columns }, (_, row) => scores.slice(row * columns, (row + 1) * columns));
  return rows.flatMap((row) => normalize(row, scale));
}

/** Return the largest number; there may be more than a call of Math.max takes. @param {number[]} values */
const largest = (values) => values.reduce((most, value) => Math.max(most, value), -Infinity);

/** Return the probabilities of a row. @param {number[]} row @param {string} scale */
function normalize(row, scale) {
  const sum = (/** @type {number[]} */ values) => values.reduce((total, value) => total + value, 0);
  if (scale === "logProbability") return row.map((value) => Math.exp(Math.min(value, 0)));
  if (scale === "logit") {
    const top = largest(row);
    const total = top + Math.log(sum(row.map((value) => Math.exp(value - top))));
    return row.map((value) => Math.exp(Math.min(value - total, 0)));
  }
  const clipped = row.map((value) => Math.min(Math.max(value, 0), 1));
  const total = sum(clipped);
  if (row.length === 1 || Math.abs(total - 1) <= SUM_TOLERANCE) return clipped;
  return clipped.map((value) => (total ? value / total : 1 / row.length));
}

/** Return a list as nested lists of a shape. @param {any[]} flat @param {number[]} shape @returns {any} */
function nest(flat, shape) {
  let nested = flat;
  for (const size of shape.slice(1).reverse()) {
    const inner = nested;
    nested = Array.from({ length: inner.length / size }, (_, row) => inner.slice(row * size, (row + 1) * size));
  }
  return shape.length > 0 ? nested : nested[0];
}
