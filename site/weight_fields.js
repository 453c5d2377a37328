/**
 * The weights of a unit of the playground as fields in #weights, a popover beside the unit. It is
 * used by network.js.
 */

/** Pixels between the fields and what they belong to, and to the edges of the window. */
const GAP = 8;
const DIGITS = 3;

/** @typedef {{ label: string, from: number, value: number }} Weight `from` is -1 for the bias */

const host = /** @type {HTMLElement} */ (document.querySelector("#weights"));
/** @type {Map<number, HTMLInputElement>} */
const fields = new Map();
/** @type {(from: number, value: number) => void} */
let onSet = () => {};

/**
 * Show fields beside an element.
 * @param {string} title what the unit is called
 * @param {Weight[]} weights
 * @param {DOMRect} beside where the unit, or the line to it, is in the window
 * @param {number | undefined} focused the weight that is to be changed, the first one by default
 * @param {(from: number, value: number) => void} callback called with what somebody writes
 */
export function open(title, weights, beside, focused, callback) {
  onSet = callback;
  fields.clear();
  host.firstElementChild.textContent = `Weights of ${title}`;
  const rows = weights.map(({ label, from, value }) => {
    const row = document.createElement("label");
    const field = document.createElement("input");
    Object.assign(field, { type: "number", step: "0.1", value: value.toFixed(DIGITS) });
    field.addEventListener("change", () => {
      if (field.value && Number.isFinite(field.valueAsNumber)) onSet(from, field.valueAsNumber);
    });
    row.append(label, field);
    fields.set(from, field);
    return row;
  });
  host.lastElementChild.replaceChildren(...rows);
  host.showPopover();
  const { offsetWidth: width, offsetHeight: height } = host;
  // To the left, where there is room: the plane, to the right, shows what a weight does.
  const left = beside.left > width + 2 * GAP ? beside.left - GAP - width : beside.right + GAP;
  host.style.left = `${Math.max(GAP, Math.min(left, innerWidth - width - GAP))}px`;
  host.style.top = `${Math.max(GAP, Math.min(beside.top, innerHeight - height - GAP))}px`;
  const field = fields.get(focused ?? weights[0].from);
  field.focus();
  field.select();
}

/** Show weights that a training has changed, but for the field that somebody writes in. */
export function update(/** @type {Weight[]} */ weights) {
  for (const { from, value } of weights) {
    const field = fields.get(from);
    if (field && field !== document.activeElement) field.value = value.toFixed(DIGITS);
  }
}

/** Show nothing: the unit is no longer there. */
export function close() {
  if (host.matches(":popover-open")) host.hidePopover();
}
