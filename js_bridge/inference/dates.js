/**
 * Dates in cells as numbers: what Python's date_format.py and date_encoding.py of
 * webnnm/data/tables do.
 *
 * @module
 */

import { refuse } from "./rows.js";

const DAYS_OF_YEAR = 365.25;
export const DAY_MS = 86_400_000;
const FIRST_YEAR_OF_TWO_DIGITS = 69;
/** The day after the last one that dates can have in Python. */
const END = Date.UTC(10_000) / DAY_MS;
/** @type {Record<string, number>} */
const MONTHS = {
  jan: 1, feb: 2, mar: 3, apr: 4, may: 5, jun: 6, jul: 7, aug: 8, sep: 9, oct: 10, nov: 11, dec: 12,
  mär: 3, mai: 5, okt: 10, dez: 12,
};
const NAME = `(?<name>${Object.keys(MONTHS).join("|")})(?:uary|uar|ruary|ruar|ch|z|il|e|i|y|ust|t|tember|ober|ember)?`;
const TIME = "(?:(?:[T,] *| +)(?<hour>\\d\\d?):(?<minute>\\d\\d)(?::(?<seconds>\\d\\d(?:\\.\\d+)?))?"
  + "(?: *(?<half>[ap])\\.?m\\.?)?(?: *(?:Z|UTC|[+-]\\d\\d:?\\d\\d))?)?";
const PATTERNS = [
  "(?<year>\\d{4})(?<mark>[-/.])(?<month>\\d\\d?)\\k<mark>(?<day>\\d\\d?)",
  "(?<first>\\d\\d?)(?<mark>[-/.])(?<second>\\d\\d?)\\k<mark>(?<year>\\d{4})",
  "(?<first>\\d\\d?)(?<mark>/)(?<second>\\d\\d?)/(?<year>\\d\\d)",
  "(?<first>[0-3]\\d)(?<mark>\\.)(?<second>[01]\\d)\\.(?<year>\\d\\d)",
  `(?<day>\\d\\d?)[ .-]+${NAME}[ ,.-]+(?<year>\\d\\d(?:\\d\\d)?)`,
  `${NAME}[ .]+(?<day>\\d\\d?),? +(?<year>\\d{4})`,
  "(?<year>[12]\\d{3})(?<mark>-)(?<month>[01]\\d)",
  `${NAME}[ .,-]+(?<year>[12]\\d{3})`,
  `${NAME}(?:-| ?')(?<year>\\d\\d)`,
  `(?<year>[12]\\d{3})[ ./-]?${NAME}(?:[ .-]+(?<day>\\d\\d?))?`,
  "(?<year>[12]\\d{3})[- ]?M(?<month>\\d\\d?)",
  "(?<year>[12]\\d{3})[-/ ]?W(?<week>\\d\\d)",
  "(?<year>[12]\\d{3})[-/ ]?Q(?<quarter>[1-4])",
  "Q(?<quarter>[1-4])[-/ ](?<year>[12]\\d{3})",
].map((pattern) => new RegExp(`^${pattern}${TIME}$`, "iu"));
const EXAMPLES = { ymd: "2024-12-31", dmy: "31.12.2024", mdy: "12/31/2024" };

/**
 * Return the numbers of a date's parts; `fill` those of a missing one.
 *
 * @param {DateEncoder} encoder @param {any} cell
 */
export function encodeDate({ name, dates, parts, origin, fill }, cell) {
  const text = String(cell ?? "").trim();
  if (!text) {
    if (fill.length > 0) return fill;
    throw refuse("NNM713", `row 0, column ${name} is empty\nhint: give a value: no cell was empty when the encoder was fitted`);
  }
  return encodeDay({ parts, origin }, readDate(name, text, dates));
}

/** Return the days since 1970 of a date. @param {string} name @param {string} text @param {DateEncoder["dates"]} dates */
export function readDate(name, text, dates) {
  const day = countDays(text, dates);
  if (day !== null) return day;
  throw refuse("NNM713", `row 0, column ${name} is "${text}", not a date\nhint: write dates as ${EXAMPLES[dates]}`);
}

/** Return the numbers of a day's parts. @param {Pick<DateEncoder, "parts" | "origin">} encoder @param {number} day */
export const encodeDay = ({ parts, origin }, day) => parts.flatMap((part) => partOf(part, day, origin));

/** @param {DateEncoder["parts"][number]} part @param {number} day @param {number} origin */
function partOf(part, day, origin) {
  if (part === "days") return [day - origin];
  if (part === "weekday") {
    const weekday = (((Math.floor(day) + 3) % 7) + 7) % 7;  // 1970 began on a Thursday
    return Array.from({ length: 7 }, (_, number) => Number(number === weekday));
  }
  const share = part === "season" ? day / DAYS_OF_YEAR : day - Math.floor(day);
  return [Math.sin(2 * Math.PI * share), Math.cos(2 * Math.PI * share)];
}

/** The days since 1970, null for anything else. @param {string} text @param {DateEncoder["dates"]} order */
function countDays(text, order) {
  const groups = PATTERNS.map((pattern) => pattern.exec(text)).find(Boolean)?.groups;
  if (!groups || (groups.first && order === "ymd")) return null;
  if (groups.week) return findWeek(Number(groups.year), Number(groups.week));
  const [first, second] = [Number(groups.first), Number(groups.second)];
  const day = groups.first ? (order === "dmy" ? first : second) : Number(groups.day ?? 1);
  const named = MONTHS[(groups.name ?? "").replace("\u017f", "s").toLowerCase()];
  const numbered = groups.quarter ? 3 * Number(groups.quarter) - 2 : Number(groups.month);
  const month = groups.first ? (order === "dmy" ? second : first) : named ?? numbered;
  let year = Number(groups.year);
  if (groups.year?.length === 2) year += year >= FIRST_YEAR_OF_TWO_DIGITS ? 1900 : 2000;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (!year || date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return null;
  const share = readTime(groups);
  const days = date.getTime() / DAY_MS + Number(share);
  return share === null || days >= END ? null : days;
}

/** The days since 1970 of the Monday of a week, null if there is none. @param {number} year @param {number} week */
function findWeek(year, week) {
  const inFirst = Date.UTC(year, 0, 4) / DAY_MS;  // the fourth of January is in the first week
  const monday = inFirst - ((((inFirst + 3) % 7) + 7) % 7) + 7 * (week - 1);
  const thursday = new Date((monday + 3) * DAY_MS);
  return week > 0 && thursday.getUTCFullYear() === year ? monday : null;
}

/** The time as a share of a day, 0 without one, null if there is no such time. @param {Record<string, string>} groups */
function readTime({ hour: hours, minute, seconds = "0", half }) {
  if (!hours) return 0;
  let hour = Number(hours);
  if (half) {
    if (hour < 1 || hour > 12) return null;
    hour = (hour % 12) + (half.toLowerCase() === "p" ? 12 : 0);
  }
  if (hour > 24 || Number(minute) > 59 || Number(seconds) >= 61) return null;
  return (hour * 60 + Number(minute) + Number(seconds) / 60) / 1440;
}
