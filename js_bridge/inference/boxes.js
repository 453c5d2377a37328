/**
 * Boxes around the objects of a picture, from the numbers of a grid: what Python's
 * webnnm/data/pictures/box_grid.py and webnnm/runtime/inference/detections.py do.
 *
 * @module
 */

/** The numbers of a cell after its classes: offset (x, y), width and height, in cells. */
const SHAPE_VALUES = 4;
const MIN_SCORE = 0.05;
const MIN_LOGIT = Math.log(MIN_SCORE / (1 - MIN_SCORE));
const MAX_OVERLAP = 0.5;
const MAX_BOXES = 100;
/** Boxes with a lower score are not shown. */
const SHOWN_SCORE = 0.3;

/**
 * Return the boxes that a grid predicts, in pixels of the picture that was passed.
 *
 * @param {AnswerFormat} format @param {ArrayLike<number>} output @param {any} row
 * @returns {Promise<PredictedBox[]>}
 */
export async function findBoxes(format, output, row) {
  const [rows = 1, columns = 1] = format.shape;
  const { input = "", width = columns, height = rows } = format.picture ?? {};
  const cell = { width: width / columns, height: height / rows };
  const boxes = decode(Array.from(output), rows, columns, format.classes ?? 1, cell);
  const place = format.picture ? await findPlace(format.picture, selectPicture(row, input)) : null;
  const names = format.labels;
  return boxes.flatMap((box) => {
    const moved = place ? moveToPicture(box, place) : clip(box, width, height);
    return moved && moved.score >= SHOWN_SCORE ? [{ ...moved, label: names ? names[box.label] : box.label }] : [];
  });
}

/** Return the picture of a row that may be by input. @param {any} row @param {string} input */
function selectPicture(row, input) {
  const isRecord = Object.getPrototypeOf(row ?? 0) === Object.prototype;
  return isRecord ? row[input] ?? row[`${input}:input`] : row;
}

/**
 * Return the boxes of a grid, the most probable first, with the numbers of their classes.
 *
 * @param {number[]} values @param {number} rows @param {number} columns @param {number} classes
 * @param {{ width: number, height: number }} cell
 */
function decode(values, rows, columns, classes, cell) {
  const depth = classes + SHAPE_VALUES;
  /** @type {PredictedBox[]} */
  const boxes = [];
  for (let label = 0; label < classes; label += 1) {
    const scores = Array.from({ length: rows * columns }, (_, index) => Number(values[index * depth + label]));
    const candidates = scores.flatMap((score, index) => {
      if (!(score >= MIN_LOGIT) || !isPeak(scores, index, rows, columns)) return [];
      const start = index * depth + classes;
      const [x = 0, y = 0, across = 0, down = 0] = values.slice(start, start + SHAPE_VALUES);
      const [width, height] = [across * cell.width, down * cell.height];
      if (!(width > 0 && height > 0)) return [];
      const [row, column] = [Math.floor(index / columns), index % columns];
      return [{
        x: (column + x) * cell.width - width / 2,
        y: (row + y) * cell.height - height / 2,
        width,
        height,
        label,
        score: 1 / (1 + Math.exp(-score)),
      }];
    });
    boxes.push(...suppressOverlaps(candidates.sort(byScore)));
  }
  return boxes.sort(byScore).slice(0, MAX_BOXES);
}

/** @param {PredictedBox} one @param {PredictedBox} other */
const byScore = (one, other) => other.score - one.score;

/** Return whether no neighbour has a higher score. @param {number[]} scores @param {number} index @param {number} rows @param {number} columns */
function isPeak(scores, index, rows, columns) {
  const [row, column] = [Math.floor(index / columns), index % columns];
  for (let line = Math.max(0, row - 1); line < Math.min(rows, row + 2); line += 1) {
    for (let at = Math.max(0, column - 1); at < Math.min(columns, column + 2); at += 1) {
      if (!(Number(scores[line * columns + at]) <= Number(scores[index]))) return false;
    }
  }
  return true;
}

/** Return the boxes that overlap no better one. @param {PredictedBox[]} ordered the best one first */
function suppressOverlaps(ordered) {
  /** @type {PredictedBox[]} */
  const kept = [];
  for (const box of ordered) {
    if (kept.length >= MAX_BOXES) break;
    if (!kept.some((better) => overlaps(box, better))) kept.push(box);
  }
  return kept;
}

/** @param {PredictedBox} one @param {PredictedBox} other */
function overlaps(one, other) {
  const across = Math.min(one.x + one.width, other.x + other.width) - Math.max(one.x, other.x);
  const down = Math.min(one.y + one.height, other.y + other.height) - Math.max(one.y, other.y);
  const shared = Math.max(0, across) * Math.max(0, down);
  return shared > 0 && shared > MAX_OVERLAP * (one.width * one.height + other.width * other.height - shared);
}

/**
 * Return where a picture of any size lies in that of the model, null if it has the model's size.
 *
 * @param {NonNullable<AnswerFormat["picture"]>} form @param {any} picture
 */
async function findPlace(form, picture) {
  if (!form.fit || Array.isArray(picture) || ArrayBuffer.isView(picture)) return null;
  const { findPart, measurePicture } = await import("../page/fitting.js");
  const size = await measurePicture(picture);
  const { left, top, right, bottom, across, down } = findPart(size, { ...form, fit: form.fit });
  const scale = { x: across / (right - left), y: down / (bottom - top) };
  const [x, y] = [Math.floor((form.width - across) / 2), Math.floor((form.height - down) / 2)];
  return { ...size, scale, left: x - left * scale.x, top: y - top * scale.y };
}

/** @param {PredictedBox} box @param {NonNullable<Awaited<ReturnType<typeof findPlace>>>} place */
function moveToPicture(box, { width, height, scale, left, top }) {
  const [x, y] = [(box.x - left) / scale.x, (box.y - top) / scale.y];
  return clip({ ...box, x, y, width: box.width / scale.x, height: box.height / scale.y }, width, height);
}

/** Return the part of a box that a picture shows, null without one. @param {PredictedBox} box @param {number} width @param {number} height */
function clip(box, width, height) {
  const [x, y] = [Math.max(0, box.x), Math.max(0, box.y)];
  const across = Math.min(width, box.x + box.width) - x;
  const down = Math.min(height, box.y + box.height) - y;
  return across > 0 && down > 0 ? { ...box, x, y, width: across, height: down } : null;
}
