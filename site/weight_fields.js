/**
 * The weights of a unit of the playground as fields in #weights, a popover beside the unit. It is
 * used by network.js.
 */

/** Pixels between the fields and what they belong to, and to the edges of the window. */
const GAP = 8;
const DIGITS = 3;

/** @typedef {{ label: string, from: number, value: number }} Weight `from` is -1 for the bias */
/**
 * @typedef {object} Unit
 * @property {string} title what the unit is called
 * @property {Weight[]} weights
 * @property {number} unlisted how many weights it has besides
 * @property {number} limit the largest weight that can be set
 * @property {HTMLElement} owner what has the focus once the fields are left
 */

const host = /** @type {HTMLElement} */ (document.querySelector("#weights"));
/** @type {Map<number, HTMLInputElement>} */
const fields = new Map();
/** @type {HTMLElement | null} */
let owner = null;

/**
 * Show fields beside an element.
 * @param {Unit} unit
 * @param {DOMRect} beside where the unit, or the line to it, is in the window
 * @param {number | undefined} focused the weight that is to be changed, the first one by default
 * @param {(from: number, value: number) => void} callback called with what somebody writes
 */
export function open(unit, beside, focused, callback) {
  const { title, weights, unlisted, limit } = unit;
  owner = unit.owner;
  fields.clear();
  host.firstElementChild.textContent = `Weights of ${title}`;
  const reason = document.createElement("p");
  reason.setAttribute("role", "alert");
  const rows = weights.map(({ label, from, value }) => {
    const row = document.createElement("label");
    const field = document.createElement("input");
    const range = { min: `${-limit}`, max: `${limit}`, step: "0.1" };
    Object.assign(field, { type: "number", ...range, value: value.toFixed(DIGITS) });
    field.addEventListener("change", () => {
      const fits = Math.abs(field.valueAsNumber) <= limit; // which NaN, of no number, does not
      const most = limit.toLocaleString("en");
      reason.textContent = fits ? "" : `A weight is a number from −${most} to ${most}.`;
      field.ariaInvalid = `${!fits}`;
      keepInside(); // with what it says now
      if (fits) callback(from, field.valueAsNumber);
    });
    row.append(label, field);
    fields.set(from, field);
    return row;
  });
  const others = document.createElement("p");
  const [noun, verb] = unlisted === 1 ? ["weight", "is"] : ["weights", "are"];
  others.textContent = unlisted ? `${unlisted} more ${noun}, of units not drawn, ${verb} not shown.` : "";
  host.lastElementChild.replaceChildren(...rows, others, reason);
  host.showPopover();
  const width = host.offsetWidth;
  // To the left, where there is room: the plane, to the right, shows what a weight does.
  const left = beside.left > width + 2 * GAP ? beside.left - GAP - width : beside.right + GAP;
  host.style.left = `${Math.max(GAP, Math.min(left, innerWidth - width - GAP))}px`;
  host.style.top = `${beside.top}px`;
  keepInside();
  const field = fields.get(focused ?? weights[0].from);
  field.focus();
  field.select();
}

/** Move the fields up or down into the window. */
function keepInside() {
  const top = Math.min(Number.parseFloat(host.style.top), innerHeight - host.offsetHeight - GAP);
  host.style.top = `${Math.max(GAP, top)}px`;
}

/** Show weights that a training has changed, but for the field that somebody writes in. */
export function update(/** @type {Weight[]} */ weights) {
  for (const { from, value } of weights) {
    const field = fields.get(from);
    if (field && field !== document.activeElement) field.value = value.toFixed(DIGITS);
  }
}

/** Go back to the unit from the first field or the last one, rather than out of the network. */
host.addEventListener("keydown", (event) => {
  if (event.key !== "Tab" || !owner) return;
  const edge = [...fields.values()].at(event.shiftKey ? 0 : -1);
  if (event.target !== edge) return;
  event.preventDefault();
  owner.focus();
  close();
});

/** Show nothing: the unit is no longer there. */
export function close() {
  if (host.matches(":popover-open")) host.hidePopover();
}
