/**
 * Series continued from their recent rows: what Python's webnnm/data/series and
 * webnnm/runtime/inference/forecasting.py do.
 *
 * @module
 */

import { encodeRow, toNumber, toWord } from "./columns.js";
import { DAY_MS, encodeDay, readDate } from "./dates.js";
import { isRecord, refuse } from "./rows.js";

/** How far from a whole number of steps a time may be, as a share of the step. */
const TOLERANCE = 1e-2;
const LAST_YEAR = 9999;
/** The most steps that a series is continued by. */
const MAX_STEPS = 100_000;
/** How many steps may be missing for each row. */
const MAX_GAPS = 10;
/** The least deviation of a window, as a share of that of its series. */
const MIN_DEVIATION = 0.01;
/** Deviations below this share of the mean are rounding errors of a constant. */
const ROUNDING = 1e-12;
const MEDIAN = 0.5;
/** Levels that differ by no more are the same. */
const SAME_LEVEL = 1e-9;
/** Digits of times that are numbers: further ones are rounding errors. */
const TIME_DIGITS = 12;
/** Decimals that times of any size are shown with. */
const MIN_DECIMALS = 6;
/** The id of the only series. */
const ONLY = "";
/** @type {NonNullable<SeriesFormat["step"]>} */
const EACH = ["number", 1];

/**
 * Return the forecast of the only output: of rows, or of the series of the dataset for a number of
 * steps.
 *
 * @param {SeriesFormat} format @param {any} row @param {number | undefined} count
 * @param {(window: number[][][]) => Promise<Record<string, any>>} predict
 */
export async function forecast(format, row, count, predict) {
  const isCount = typeof row === "number";
  const steps = (isCount ? row : count) ?? format.horizon;
  if (!Number.isInteger(steps) || steps < 1) {
    throw refuse("NNM704", `steps is ${steps}\nhint: how many steps to predict, from 1`);
  }
  const series = isCount ? format.recent : readSeries(format, row);
  /** @type {Record<string, any>} */
  const byId = Object.create(null);
  let output = "";
  for (const [id, own] of Object.entries(series)) {
    [output, byId[id]] = await continueSeries(format, own, format.levels[id], steps, predict);
  }
  return { [output]: format.id ? { series: byId } : byId[ONLY] };
}

/**
 * @param {SeriesFormat} format @param {Steps} series @param {Level[] | undefined} known @param {number} count
 * @param {(window: number[][][]) => Promise<Record<string, any>>} predict
 * @returns {Promise<[string, any]>}
 */
async function continueSeries(format, series, known, count, predict) {
  const { quantiles, targets } = format;
  const step = format.step ?? EACH;
  const first = length(series);
  if (count > MAX_STEPS) throw refuse("NNM704", `steps is ${count}\nhint: at most ${MAX_STEPS} steps`);
  /** @type {number[][]} */
  const predicted = [];
  let [steps, output] = [series, ""];
  while (predicted.length < count) {
    const [window, levels] = scaleWindow(format, makeWindow(format, steps), known);
    const [entry] = Object.entries(await predict([window]));
    const [name, { values }] = /** @type {[string, any]} */ (entry);
    const plain = values.map((/** @type {any} */ value) => [value].flat());
    const rows = unscale(format.margins ? widen(plain, format.margins) : plain, levels, targets.length);
    output = name;
    predicted.push(...rows);
    const fresh = rows.map((/** @type {number[]} */ r) => (quantiles.length > 0 ? [findMedian(quantiles, r)] : r));
    steps = keepLast(extend(steps, fresh, step), format.window);
  }
  const shown = predicted.slice(0, count);
  const times = continueTimes(series.times, step, first + count).slice(first, first + count);
  const flat = quantiles.length > 0 ? shown.map((r) => findMedian(quantiles, r)) : shown.map(([value]) => value);
  return [output, {
    times: times.map((time, index) => (format.time && format.step ? showTime(time, format.dates !== null) : index + 1)),
    values: targets.length > 1 ? shown : flat,
    ...(quantiles.length > 0 && {
      quantiles: Object.fromEntries(quantiles.map((level, index) => [String(level), shown.map((r) => r[index])])),
    }),
  }];
}

/** Return the quantiles of each step with its margins, in ascending order. @param {number[][]} rows @param {number[][]} margins */
const widen = (rows, margins) => rows.map((row, step) => (
  row.map((value, level) => value + Number(margins[step]?.[level])).sort((a, b) => a - b)
));

/**
 * Return a window with its numbers scaled by the level of its series, or by its own, and the levels
 * of the channels (levels.py).
 *
 * @param {SeriesFormat} format @param {number[][]} window @param {Level[] | undefined} known
 * @returns {[number[][], Level[]]}
 */
function scaleWindow(format, window, known) {
  if (format.scaling === "all") return [window, []];
  const kinds = [...format.targets, ...format.past].flatMap((encoder) => (
    Array.from({ length: encodeWidth(encoder) }, () => isNumber(encoder))
  ));
  const channels = kinds.flatMap((numeric, channel) => (numeric ? [channel] : []));
  const levels = channels.map((channel, index) => (
    chooseLevel(window.map((row) => Number(row[channel])), known?.[index], format.scaling)
  ));
  const scaled = window.map((row) => {
    const copy = [...row];
    levels.forEach(([mean, deviation], index) => {
      const channel = Number(channels[index]);
      copy[channel] = (Number(copy[channel]) - mean) / deviation;
    });
    return copy;
  });
  return [scaled, levels];
}

/** @param {number[]} values @param {Level | undefined} known @param {SeriesFormat["scaling"]} scaling @returns {Level} */
function chooseLevel(values, known, scaling) {
  if (scaling === "series" && known) return known;
  const average = (/** @type {number[]} */ numbers) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
  const mean = average(values);
  const deviation = Math.sqrt(average(values.map((value) => (value - mean) ** 2)));
  if (known) return [mean, Math.max(deviation, MIN_DEVIATION * known[1])];
  return [mean, deviation > ROUNDING * Math.abs(mean) ? deviation : Math.abs(mean) || 1];
}

/** Return forecasts in the units of the data; quantiles are all of one target. @param {number[][]} rows @param {Level[]} levels @param {number} targets */
const unscale = (rows, levels, targets) => rows.map((row) => row.map((value, column) => {
  const [mean, deviation] = levels[column % targets] ?? [0, 1];
  return value * deviation + mean;
}));

/** Return the median of quantiles, between two levels by linear interpolation. @param {number[]} levels @param {number[]} quantiles */
function findMedian(levels, quantiles) {
  const at = (/** @type {number[]} */ list, /** @type {number} */ index) => Number(list.at(index));
  const above = levels.findIndex((level) => level > MEDIAN - SAME_LEVEL);
  if (above < 0) return at(quantiles, -1);
  if (above === 0 || Math.abs(at(levels, above) - MEDIAN) < SAME_LEVEL) return at(quantiles, above);
  const share = (MEDIAN - at(levels, above - 1)) / (at(levels, above) - at(levels, above - 1));
  return at(quantiles, above - 1) * (1 - share) + at(quantiles, above) * share;
}

/** The number of steps whose targets are known. @param {Steps} steps */
const length = ({ past }) => past[0]?.length ?? 0;

/** Return the series with further targets. @param {Steps} steps @param {number[][]} targets @param {NonNullable<SeriesFormat["step"]>} step @returns {Steps} */
function extend(steps, targets, step) {
  const past = steps.past.map((column, index) => [
    ...column, ...targets.map((row) => Number(row[index] ?? column.at(-1))),
  ]);
  const times = continueTimes(steps.times, step, Number(past[0]?.length));
  return { times, past, ahead: steps.ahead };
}

/** Return the last known steps, and what is known in advance. @param {Steps} steps @param {number} count @returns {Steps} */
function keepLast(steps, count) {
  const first = Math.max(0, length(steps) - count);
  const cut = (/** @type {number[]} */ column) => column.slice(first);
  return { times: cut(steps.times), past: steps.past.map(cut), ahead: steps.ahead.map(cut) };
}

/** Return the window that ends with the last known step. @param {SeriesFormat} format @param {Steps} steps */
function makeWindow(format, steps) {
  const { window, horizon, calendar, ahead: encoders } = format;
  const end = length(steps);
  const times = continueTimes(steps.times, format.step ?? EACH, end + horizon);
  const parts = calendar ? transpose(times.map((time) => encodeDay(calendar, time))) : [];
  const given = steps.ahead.slice(0, steps.ahead.length - parts.length);
  const short = given.findIndex((column) => column.length < end + horizon);
  if (short >= 0) {
    const names = encoders.map(({ name }) => name).join(", ");
    const missing = showTime(Number(times[Number(given[short]?.length)]), format.dates !== null);
    throw refuse("NNM705", `${names}: known in advance, but not given for ${missing}\nhint: add ${horizon} rows for the steps to predict, with empty targets`);
  }
  return Array.from({ length: window }, (_, position) => {
    const step = end - window + position;
    return [
      ...steps.past.map((column) => Number(column[step])),
      ...[...given, ...parts].map((column) => Number(column[step + horizon])),
    ];
  });
}

/**
 * Return the steps of rows, by the id of their series: numbers, lists of cells in the order of
 * columns, or objects.
 *
 * @param {SeriesFormat} format @param {any} rows @returns {Record<string, Steps>}
 */
function readSeries(format, rows) {
  const { targets, past, ahead, time, dates, id, window, columns } = format;
  const encoders = [...targets, ...past, ...ahead];
  if (!Array.isArray(rows) || rows.length === 0) {
    throw refuse("NNM702", `rows are ${JSON.stringify(rows)}\nhint: give the ${window} most recent rows, with ${columns.join(", ")}`);
  }
  /** @type {Record<string, { time: number, row: any }[]>} */
  const byId = Object.create(null);
  rows.forEach((cells, number) => {
    const row = isRecord(cells) ? cells : nameCells(columns, cells, number);
    const name = id ? toWord(requireCell(row, id)) : ONLY;
    if (name === null) throw refuse("NNM713", `row ${number}, column ${id} has no id\nhint: give each row the id of its series`);
    (byId[name] ??= []).push({ row, time: time ? readTime(time, requireCell(row, time), dates) : number });
  });
  const gaps = encoders.map((encoder) => fillWith(encoder, Number.NaN));
  return Object.fromEntries(Object.entries(byId).map(([name, steps]) => {
    const where = id ? `series "${name}"` : "the series";
    steps.sort((one, other) => one.time - other.time);
    return [name, makeSteps(format, where, steps.map((step, at) => (time ? step.time : at)), steps.map(({ row }) => encodeRow(gaps, row)))];
  }));
}

/** @param {any} encoder */
const isNumber = (encoder) => !("categories" in encoder) && !("dates" in encoder);

/** Return an encoder that writes these numbers for missing cells. @param {any} encoder @param {number} number */
function fillWith(encoder, number) {
  if (isNumber(encoder)) return { ...encoder, fill: number };
  const width = "categories" in encoder ? encoder.categories.length : encodeDay(encoder, 0).length;
  return { ...encoder, fill: Array.from({ length: width }, () => number) };
}

/** @param {string[]} columns @param {any} cells @param {number} number */
function nameCells(columns, cells, number) {
  const list = Array.isArray(cells) ? cells : [cells];
  if (list.length === columns.length) return Object.fromEntries(columns.map((name, at) => [name, list[at]]));
  throw refuse("NNM702", `row ${number} is ${JSON.stringify(cells)}\nhint: a row has ${columns.length} cells: ${columns.join(", ")}`);
}

/** @param {any} row @param {string} name */
function requireCell(row, name) {
  if (Object.hasOwn(row, name)) return row[name];
  throw refuse("NNM710", `no column "${name}"\nhint: the row has: ${Object.keys(row).join(", ") || "nothing"}`);
}

/** @param {string} name @param {any} cell @param {SeriesFormat["dates"]} dates */
function readTime(name, cell, dates) {
  const text = String(cell ?? "").trim();
  if (!text) throw refuse("NNM713", `column ${name}: a row has no time`);
  if (dates) return readDate(name, text, dates);
  const number = toNumber(cell, {});
  if (Number.isFinite(number)) return Number(number);
  throw refuse("NNM713", `column ${name} is "${text}", not a number`);
}

/**
 * Return the steps of a series, with missing ones filled as the dataset's were.
 *
 * @param {SeriesFormat} format @param {string} where @param {number[]} times @param {number[][]} rows
 * @returns {Steps}
 */
function makeSteps({ targets, past, ahead, dates, calendar, missing, step, window }, where, times, rows) {
  const width = [...targets, ...past, ...ahead].reduce((sum, one) => sum + encodeWidth(one), 0);
  const pastWidth = [...targets, ...past].reduce((sum, one) => sum + encodeWidth(one), 0);
  const isKnown = (/** @type {number[]} */ row) => row.slice(0, targets.length).every((value) => !Number.isNaN(value));
  const show = (/** @type {number | undefined} */ time) => showTime(Number(time), dates !== null);
  for (const [index, time] of times.entries()) {
    if (time === times[index - 1]) throw refuse("NNM713", `${where} has two rows at ${show(time)}`);
  }
  const first = rows.findIndex(isKnown);
  if (first < 0) throw refuse("NNM705", `${where} has no step with a target`);
  [times, rows] = [times.slice(first), rows.slice(first)];
  if (step && missing !== "ignore") {
    const [full, all] = insertGaps(where, times, rows, step, width);
    if (full.length > times.length && missing === "error") {
      throw refuse("NNM713", `${where} lacks ${full.length - times.length} steps`);
    }
    [times, rows] = [full, all];
  }
  const end = rows.findLastIndex(isKnown) + 1;
  if (pastWidth === width) times = times.slice(0, end);
  const columns = transpose(rows).map((column, index) => (index < pastWidth ? column.slice(0, end) : column));
  for (const column of columns) {
    const hole = column.findIndex(Number.isNaN);
    if (hole >= 0 && missing === "error") throw refuse("NNM713", `${where} has an empty cell at ${show(times[hole])}`);
    fillHoles(column);
  }
  if (end < window) {
    throw refuse("NNM705", `${where} has ${end} steps, the model looks back ${window}\nhint: give at least the ${window} most recent rows`);
  }
  const parts = calendar ? transpose(times.map((time) => encodeDay(calendar, time))) : [];
  return { times, past: columns.slice(0, pastWidth), ahead: [...columns.slice(pastWidth), ...parts] };
}

/** The numbers that a cell becomes. @param {Encoder} encoder */
const encodeWidth = (encoder) => [fillWith(encoder, 0).fill].flat().length;

/** @param {number[][]} rows @returns {number[][]} */
const transpose = (rows) => (rows[0] ?? []).map((_, index) => rows.map((row) => Number(row[index])));

/**
 * Return times and rows with a row of NaN for each missing step.
 *
 * @param {string} where @param {number[]} times @param {number[][]} rows
 * @param {NonNullable<SeriesFormat["step"]>} step @param {number} width @returns {[number[], number[][]]}
 */
function insertGaps(where, times, rows, step, width) {
  /** @type {number[]} */
  const allTimes = [];
  /** @type {number[][]} */
  const allRows = [];
  const gaps = times.map((time, index) => countMissing(step, time, times[index + 1] ?? time));
  const missing = gaps.reduce((sum, count) => sum + count, 0);
  if (missing > MAX_GAPS * times.length) {
    throw refuse("NNM713", `${where} lacks ${missing} steps between ${times.length} rows\nhint: correct the times`);
  }
  times.forEach((time, index) => {
    allTimes.push(time);
    allRows.push(rows[index] ?? []);
    for (let count = 1; count <= Number(gaps[index]); count += 1) {
      allTimes.push(advance(step, time, count));
      allRows.push(Array.from({ length: width }, () => Number.NaN));
    }
  });
  return [allTimes, allRows];
}

/** How many steps are missing between two times, 0 if they are not on one grid. @param {NonNullable<SeriesFormat["step"]>} step @param {number} first @param {number} last */
function countMissing(step, first, last) {
  const [unit, size] = step;
  let count = 0;
  if (unit === "number") count = (last - first) / size;
  else if (unit === "day") count = Math.round((last - first) * DAY_MS) / Math.round(size * DAY_MS);
  else {
    while (advance(step, first, count + 1) <= last) count += 1;
    if (advance(step, first, count) !== last) return 0;
  }
  const whole = Math.round(count);
  return Math.abs(count - whole) < TOLERANCE ? Math.max(0, whole - 1) : 0;
}

/** Replace missing numbers by the last one before, those at the beginning by the first one. @param {number[]} column */
function fillHoles(column) {
  let last = column.find((number) => !Number.isNaN(number)) ?? 0;
  for (const [step, number] of column.entries()) {
    if (!Number.isNaN(number)) last = number;
    column[step] = last;
  }
}

/** Return this many times, the last ones by the step. @param {number[]} times @param {NonNullable<SeriesFormat["step"]>} step @param {number} count */
function continueTimes(times, step, count) {
  const last = Number(times.at(-1));
  const further = Math.max(0, count - times.length);
  return [...times, ...Array.from({ length: further }, (_, index) => advance(step, last, index + 1))];
}

/** Return the time that is some steps later. @param {NonNullable<SeriesFormat["step"]>} step @param {number} time @param {number} count */
function advance([unit, size], time, count) {
  if (unit === "month") return addMonths(time, count * size);
  if (unit === "day") return (Math.round(time * DAY_MS) + count * Math.round(size * DAY_MS)) / DAY_MS;
  if (unit === "number") return time + count * size;
  const day = Math.floor(time) + 3;  // 1970 began on a Thursday
  const week = Math.floor(day / 7);
  const position = week * 5 + Math.min(day - week * 7, 5) + count;
  return Math.floor(position / 5) * 7 + (position - Math.floor(position / 5) * 5) - 3 + (time - Math.floor(time));
}

/** Return the same day some months later; the last day of a month stays the last one. @param {number} time @param {number} months */
function addMonths(time, months) {
  const start = new Date(Math.round(time * DAY_MS));
  const lastDay = (/** @type {number} */ month) => new Date(Date.UTC(start.getUTCFullYear(), month + 1, 0)).getUTCDate();
  const [month, day] = [start.getUTCMonth() + months, start.getUTCDate()];
  const isLast = day === lastDay(start.getUTCMonth());
  const moved = Date.UTC(start.getUTCFullYear(), month, isLast ? lastDay(month) : Math.min(day, lastDay(month)));
  return moved / DAY_MS + (time - Math.floor(time));
}

/** Return a time as people write it. @param {number} time @param {boolean} isDate */
function showTime(time, isDate) {
  if (!isDate) {
    const whole = String(Math.trunc(Math.abs(time))).length;
    return Number.isInteger(time) ? time : Number(time.toFixed(Math.max(MIN_DECIMALS, TIME_DIGITS - whole)));
  }
  const moment = new Date(Math.round(time * DAY_MS));
  if (!(moment.getUTCFullYear() <= LAST_YEAR)) throw refuse("NNM704", `dates end with the year ${LAST_YEAR}\nhint: fewer steps ahead`);
  const text = moment.toISOString().slice(0, 23).replace("T", " ").replace(/\.000$/, "");
  return text.replace(/ 00:00:00$/, "").replace(/:00$/, "");
}
