/**
 * The network of the playground in #network: columns of units, each with a picture of what it makes
 * of the plane, and between them the weights as lines. It is used by network_view.py.
 */

import { colours, paint, shades } from "./shades.js";

const SVG = "http://www.w3.org/2000/svg";
/** The width of lines in pixels: of a weight of 0, and what the largest one has more. */
const THIN = 0.5;
const THICK = 5.5;
/** Pixels from a line within which the pointer is on it. */
const NEAR = 7;
/** How much of its colour an activation has at the end of its range. */
const STRENGTH = 0.9;

/**
 * @typedef {object} Column
 * @property {string} name as in "layer 1"
 * @property {string} about what stands below the name
 * @property {string[]} units the names of those that are drawn
 * @property {number} count how many there are
 * @property {"signed" | "classes"} range what activations are: numbers, or probabilities of classes
 * @property {boolean} resizable whether the number of units can be changed
 * @property {boolean} removable
 * @property {boolean} insertable whether a layer can be put before it
 * @property {string} limit why there is no room for one, "" if there is
 */
/** @typedef {{ column: number, from: number, to: number, path: SVGPathElement, ends: number[] }} Wire */

const host = document.querySelector("#network");
const readout = document.querySelector("#network-readout");
const still = matchMedia("(prefers-reduced-motion: reduce)");
const HINT = readout.textContent;

/** The fields of weights, which come once there are weights. */
/** @type {Promise<typeof import("./weight_fields.js")> | null} */
let coming = null;
/** @type {typeof import("./weight_fields.js") | null} */
let fields = null;
/** @type {Column[]} */
let columns = [];
/** @type {HTMLButtonElement[][]} */
let units = [];
/** The activations of drawn units over the plane, from 0 to 1. @type {Float32Array[][]} */
let pictures = [];
/** Per column its weights and biases, once they are known. */
let numbers = [];
/** @type {Wire[]} */
let wires = [];
let stack = document.createElement("div");
/** What is pointed at or has the focus: a unit, or null. @type {[number, number] | null} */
let chosen = null;
/** Whose weights have fields, or had them last. @type {HTMLButtonElement | null} */
let edited = null;
/** What a finger has touched last: it looks at a unit before it opens its fields. */
let touched = null;
let table = new Uint32Array();
/** The largest weight that can be set. */
let limit = 0;
let visible = false;
/** @type {(action: string) => void} */
let act = () => {};

/** Return whether pictures and weights may be shown anew while a training goes on. */
export function follows() {
  return visible && !still.matches && !document.hidden;
}

/**
 * Draw a network: `text` has its columns as JSON, the inputs first.
 *
 * `callback` is called with what somebody asks for, as JSON: `["units", column, change]`,
 * `["insert", column]`, `["remove", column]`, `["weight", column, from, to, value]`, whose `from` is
 * -1 for a bias, or `["look", column, unit]`, which is `["look"]` once no unit is looked at any more.
 * @param {string} text
 * @param {(action: string) => void} callback
 * @param {number} maximum the largest weight that can be set
 */
export function build(text, callback, maximum) {
  const focused = stack.contains(document.activeElement) ? document.activeElement.dataset.key : "";
  [act, limit] = [callback, maximum];
  columns = JSON.parse(text);
  pictures = columns.map(() => []);
  numbers = columns.map(() => null);
  units = columns.map(() => []);
  wires = [];
  edited = null;
  fields?.close();
  leave();
  sizes.disconnect();
  stack = make("div", "stack");
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("aria-hidden", "true");
  stack.append(svg);
  columns.forEach((column, at) => {
    if (at) stack.append(makeJoin(at));
    stack.append(makeColumn(column, at));
    if (at) makeWires(svg, at);
  });
  host.replaceChildren(stack);
  units[0][0].tabIndex = 0;
  for (const row of units) for (const unit of row) describe(unit);
  sizes.observe(stack);
  place();
  if (focused) nearest(focused).focus();
}

/** Return the button with a key, or the nearest one to where it was. */
function nearest(key) {
  const [kind, at, number] = key.split(" ");
  const others = {
    units: [`units ${at} ${-number}`],
    remove: [`remove ${at - 1}`, `insert ${at}`],
    insert: [`remove ${at}`],
    unit: [],
  }[kind];
  for (const each of [key, ...others]) {
    const button = stack.querySelector(`[data-key="${each}"]:enabled`);
    if (button) return button;
  }
  return units[at]?.[0] ?? units[0][0];
}

function make(tag, className, text = "") {
  const node = document.createElement(tag);
  node.className = className;
  node.textContent = text;
  return node;
}

/** Return a button that asks for an action. */
function makeButton(text, label, action, enabled = true) {
  const button = make("button", "edit", text);
  button.type = "button";
  button.ariaLabel = button.title = label;
  button.dataset.key = action.join(" ");
  button.disabled = !enabled;
  button.addEventListener("click", () => act(JSON.stringify(action)));
  return button;
}

/** Return the gap before a column, where a layer can be put. */
function makeJoin(at) {
  const join = make("div", "join");
  const { name, insertable, limit } = columns[at];
  const label = limit || `Add a layer before ${name}`;
  if (insertable) join.append(makeButton("+", label, ["insert", at], !limit));
  return join;
}

/** @param {Column} column @param {number} at */
function makeColumn(column, at) {
  const kind = at === 0 ? "inputs" : at === columns.length - 1 ? "outputs" : "hidden";
  const node = make("div", `column ${kind}`);
  const head = make("div", "head");
  head.append(make("span", "name", column.name), make("span", "about", column.about));
  if (column.resizable || column.removable) {
    const buttons = make("div", "edits");
    if (column.resizable) {
      const { name, count } = column;
      buttons.append(
        makeButton("−", `Remove a unit from ${name}`, ["units", at, -1], count > 1),
        makeButton("+", `Add a unit to ${name}`, ["units", at, 1]),
      );
    }
    if (column.removable) {
      buttons.append(makeButton("×", `Remove ${column.name}`, ["remove", at]));
    }
    head.append(buttons);
  }
  node.append(head);
  column.units.forEach((name, number) => {
    const unit = make("button", "unit");
    unit.type = "button";
    unit.tabIndex = -1;
    unit.dataset.key = `unit ${at} ${number}`;
    Object.assign(unit, { column: at, number });
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = 1;
    unit.append(canvas);
    if (kind !== "hidden") unit.append(make("span", "label", name));
    units[at].push(unit);
    node.append(unit);
  });
  const more = column.count - column.units.length;
  if (more > 0) node.append(make("p", "more", `and ${more} more`));
  return node;
}

function makeWires(svg, column) {
  units[column].forEach((_, to) => {
    units[column - 1].forEach((_unit, from) => {
      const path = document.createElementNS(SVG, "path");
      svg.append(path);
      wires.push({ column, from, to, path, ends: [] });
    });
  });
}

/** Draw the lines from where the units are. */
function place() {
  const svg = stack.querySelector("svg");
  if (!svg || !stack.isConnected) return;
  svg.setAttribute("width", `${stack.scrollWidth}`);
  svg.setAttribute("height", `${stack.scrollHeight}`);
  const middle = ({ offsetTop, offsetHeight }) => offsetTop + offsetHeight / 2;
  for (const wire of wires) {
    const from = units[wire.column - 1][wire.from];
    const to = units[wire.column][wire.to];
    const [x, y] = [from.offsetLeft + from.offsetWidth, middle(from)];
    const [u, v] = [to.offsetLeft, middle(to)];
    wire.ends = [x, y, u, v];
    wire.path.setAttribute("d", `M${x} ${y}C${(x + u) / 2} ${y} ${(x + u) / 2} ${v} ${u} ${v}`);
  }
}

/**
 * Show the activations of a column: for each cell of the plane, row by row from the bottom, a number
 * for each unit.
 * @param {number} column
 * @param {Float32Array} values
 */
export function showActivations(column, values) {
  const { count, range } = columns[column];
  pictures[column] = units[column].map((unit, number) => {
    const shares = new Float32Array(values.length / count);
    let largest = 0;
    for (let cell = 0; cell < shares.length; cell += 1) {
      const value = values[cell * count + number];
      shares[cell] = Number.isFinite(value) ? value : 0; // weights can be too large for float32
      largest = Math.max(largest, Math.abs(shares[cell]));
    }
    // Small activations stay pale: those of a unit that does nothing are no pattern.
    let scale = 2 * Math.max(1, largest);
    if (range === "classes" && number === 0 && count > 1) scale = -scale; // of the first class
    const isShare = range === "classes" && count === 1;
    for (let cell = 0; cell < shares.length; cell += 1) {
      if (!isShare) shares[cell] = 0.5 + shares[cell] / scale;
    }
    unit.classList.toggle("still", largest === 0);
    return shares;
  });
  paintColumn(column);
}

function paintColumn(column) {
  if (!table.length) {
    const names = ["--first-class", "--second-class", "--unit-ground"];
    table = shades(colours(host, names), STRENGTH);
  }
  pictures[column].forEach((shares, number) => {
    paint(units[column][number].querySelector("canvas"), shares, table);
  });
}

/**
 * Show the weights of a column: for each unit of the column before it, a number for each unit.
 * @param {number} column
 * @param {Float32Array} weights
 * @param {Float32Array | null} bias
 */
export function showWeights(column, weights, bias) {
  numbers[column] = { weights, bias };
  coming ??= import("./weight_fields.js");
}

/** Draw the lines as thick as the weights that were shown. */
export function drawWeights() {
  const values = wires.map((wire) => weightOf(wire));
  const largest = Math.max(1, ...values.map((value) => Math.abs(value ?? 0)));
  wires.forEach(({ path }, at) => {
    const value = values[at];
    if (value === null) return;
    const share = Math.abs(value) / largest;
    path.setAttribute("stroke-width", (THIN + THICK * share).toFixed(2));
    path.setAttribute("class", value < 0 ? "negative" : "positive");
    path.setAttribute("opacity", (0.35 + 0.65 * share).toFixed(2));
  });
  for (const row of units) for (const unit of row) describe(unit);
  if (chosen) choose(...chosen);
  if (edited) fields?.update(weightsOf(edited));
}

/** @param {{ column: number, from: number, to: number }} wire */
function weightOf({ column, from, to }) {
  const known = numbers[column];
  return known && known.weights[from * columns[column].count + to];
}

/** Return what a unit is called. */
export function title(column, number) {
  const name = columns[column].units[number];
  if (column === 0) return `Input ${name}`;
  return column === columns.length - 1 ? `Output ${name}` : `Unit ${name} of layer ${column}`;
}

/** Return how many units that lead to a unit are not drawn. */
function undrawn({ column }) {
  const { units: sources, count } = columns[column - 1];
  return count - sources.length;
}

/** Return the weights of a unit that are drawn, and its bias, last. */
function weightsOf({ column, number }) {
  const { weights, bias } = numbers[column];
  const { count } = columns[column];
  const entries = columns[column - 1].units.map((label, from) => {
    const source = column === 1 ? label : `unit ${label}`;
    return { label: `from ${source}`, from, value: weights[from * count + number] };
  });
  if (bias) entries.push({ label: "bias", from: -1, value: bias[number] });
  return entries;
}

/** Open the fields of a unit's weights, beside it or beside a line to it. */
async function edit(unit, beside, from) {
  fields = await coming;
  if (!unit.isConnected) return; // another network is drawn by now
  edited = unit;
  const name = lower(title(unit.column, unit.number));
  const parts = { title: name, weights: weightsOf(unit), unlisted: undrawn(unit), limit, owner: unit };
  fields.open(parts, beside, from, (source, value) => {
    act(JSON.stringify(["weight", unit.column, source, unit.number, value]));
  });
}

/** Return what a screen reader and the line below the drawing say of a unit. */
function inWords(unit) {
  const { column, number } = unit;
  const name = title(column, number);
  if (!column) return name;
  const known = numbers[column];
  if (!known) return `${name}. Its weights show once it is trained`;
  const { units: sources, count } = columns[column - 1];
  const parts = sources.map((source, from) => `${source}: ${round(weightOf({ column, from, to: number }))}`);
  const others = undrawn(unit);
  if (others) parts.push(`and ${others} more`);
  const from = column === 1 ? "" : count === 1 ? "unit " : "units ";
  const bias = known.bias ? `. Bias: ${round(known.bias[number])}` : "";
  const nothing = units[column][number].classList.contains("still") ? ". It is 0 everywhere" : "";
  return `${name}. Weights from ${from}${parts.join(", ")}${bias}${nothing}`;
}

function describe(unit) {
  unit.ariaLabel = inWords(unit);
}

const lower = (/** @type {string} */ text) => text[0].toLowerCase() + text.slice(1);
const round = (/** @type {number} */ value) => value.toFixed(2).replace("-", "−");

/** Return the picture of a unit as JSON, "" if there is none yet. */
export function picture(column, number) {
  const shares = pictures[column]?.[number];
  return shares ? JSON.stringify(Array.from(shares, (share) => Number(share.toFixed(3)))) : "";
}

function choose(column, number) {
  chosen = [column, number];
  const unit = units[column][number];
  readout.textContent = `${inWords(unit)}.${numbers[column] ? " Press it to change them." : ""}`;
  for (const wire of wires) {
    wire.path.classList.toggle("chosen", wire.column === column && wire.to === number);
  }
  stack.classList.add("choosing");
}

function leave() {
  if (chosen) act(JSON.stringify(["look"]));
  chosen = null;
  readout.textContent = HINT;
  for (const wire of wires) wire.path.classList.remove("chosen");
  stack.classList.remove("choosing");
}

function look(event) {
  const unit = event.target.closest?.(".unit");
  if (!unit || (chosen && chosen[0] === unit.column && chosen[1] === unit.number)) return;
  choose(unit.column, unit.number);
  act(JSON.stringify(["look", unit.column, unit.number]));
}

/** Return the line with a weight that a pointer is near, or null. */
function lineAt({ clientX, clientY }) {
  const box = stack.getBoundingClientRect();
  const zoom = box.width / stack.offsetWidth;
  const [x, y] = [(clientX - box.left) / zoom, (clientY - box.top) / zoom];
  let [nearest, distance] = [null, NEAR];
  for (const wire of wires) {
    const [left, up, right, down] = wire.ends;
    if (x < left || x > right) continue;
    const away = Math.abs(heightAt((x - left) / (right - left), up, down) - y);
    if (away < distance && weightOf(wire) !== null) [nearest, distance] = [wire, away];
  }
  return nearest;
}

/** Open the fields of the unit that is clicked, or to which a line leads. */
function press(event) {
  const unit = event.target.closest(".unit");
  const looks = event.pointerType === "touch" && unit !== touched;
  touched = unit;
  if (unit) {
    if (numbers[unit.column] && !looks) edit(unit, unit.getBoundingClientRect());
    return;
  }
  const wire = event.target.closest("button") ? null : lineAt(event);
  if (wire) {
    edit(units[wire.column][wire.to], new DOMRect(event.clientX, event.clientY), wire.from);
  }
}

/** Show the weight of the line that the pointer is near. */
function point(event) {
  if (event.target.closest(".unit, .edit")) return;
  const nearest = lineAt(event);
  if (!nearest && chosen) {
    choose(...chosen);
    return;
  }
  for (const wire of wires) wire.path.classList.toggle("chosen", wire === nearest);
  stack.classList.toggle("choosing", nearest !== null);
  if (!nearest) {
    readout.textContent = HINT;
    return;
  }
  const [from, to] = [title(nearest.column - 1, nearest.from), title(nearest.column, nearest.to)];
  readout.textContent = `${from} to ${lower(to)}: weight ${round(weightOf(nearest))}. Press it to change it.`;
}

/** Return the height of a line at a share of its width. */
function heightAt(share, up, down) {
  // Its horizontal position is 1.5 t − 1.5 t² + t³, which grows with t.
  let [low, high] = [0, 1];
  for (let turn = 0; turn < 12; turn += 1) {
    const t = (low + high) / 2;
    if (1.5 * t - 1.5 * t * t + t ** 3 < share) low = t;
    else high = t;
  }
  return up + (down - up) * low * low * (3 - 2 * low);
}

/** Go to the next unit by the arrows. */
function move(event) {
  const unit = event.target.closest(".unit");
  const step = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[event.key];
  if (!unit || !step) return;
  event.preventDefault();
  const column = units[unit.column + step[0]];
  const next = column?.[Math.min(Math.max(unit.number + step[1], 0), column.length - 1)];
  if (!next) return;
  unit.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

const sizes = new ResizeObserver(() => requestAnimationFrame(place));
host.addEventListener("pointerover", look);
host.addEventListener("focusin", look);
host.addEventListener("keydown", move);
host.addEventListener("pointermove", point);
host.addEventListener("click", press);
host.addEventListener("pointerout", (event) => {
  if (event.target.closest?.(".unit") && !event.relatedTarget?.closest?.(".unit")) leave();
});
host.addEventListener("focusout", leave);
new IntersectionObserver(([entry]) => { visible = entry.isIntersecting; }).observe(host);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  table = new Uint32Array();
  columns.forEach((_, column) => paintColumn(column));
});
