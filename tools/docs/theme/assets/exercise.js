/** Exercises of a document: the button that judges an answer, the verdict, and the solution. */

/**
 * @typedef {object} Exercise The parts of an exercise besides its program.
 * @property {HTMLButtonElement[]} buttons
 * @property {HTMLElement[]} parts
 * @property {(verdict: string) => void} judge Shows what the check says; "" for nothing yet.
 * @property {(start: (pressed: HTMLButtonElement, check: string) => void) => void} onCheck
 */

/** How the check begins if it accepts an answer. */
const RIGHT = "That is right";

/**
 * Return the first element after a block, before the next heading, that a selector matches.
 * @param {Element} place
 * @param {string} selector
 */
function following(place, selector) {
  let next = place.nextElementSibling;
  while (next && !/^H[1-6]$/.test(next.tagName)) {
    if (next.matches(selector)) return next;
    next = next.nextElementSibling;
  }
  throw new Error(`an exercise lacks ${selector}`);
}

/**
 * @param {string} text
 * @param {string} kind
 * @param {string} label
 */
function button(text, kind, label) {
  const element = document.createElement("button");
  element.type = "button";
  element.textContent = text;
  element.className = `example-${kind}`;
  element.setAttribute("aria-label", label);
  return element;
}

/**
 * Take the check and the solution of an exercise out of the text, and return them with buttons.
 * @param {HTMLElement} place
 * @param {number} number
 * @returns {Exercise}
 */
export function takeExercise(place, number) {
  const check = following(place, ".check").querySelector("code")?.textContent ?? "";
  const details = following(place, "details");
  const verdict = document.createElement("p");
  verdict.className = "example-verdict";
  verdict.setAttribute("role", "status");
  const solution = document.createElement("div");
  solution.className = "example-solution";
  solution.id = `solution-${number}`;
  solution.hidden = true;
  details.querySelector("summary")?.remove();
  solution.append(...details.childNodes);
  details.remove();

  const judge = button("Check", "check", `Check example ${number}`);
  const reveal = button("Solution", "reveal", `Solution of example ${number}`);
  reveal.setAttribute("aria-controls", solution.id);
  reveal.setAttribute("aria-expanded", "false");
  reveal.addEventListener("click", () => {
    solution.hidden = !solution.hidden;
    reveal.setAttribute("aria-expanded", String(!solution.hidden));
  });
  return {
    buttons: [judge, reveal],
    parts: [verdict, solution],
    judge: (text) => {
      verdict.textContent = text;
      verdict.classList.toggle("right", text.startsWith(RIGHT));
    },
    onCheck: (start) => judge.addEventListener("click", () => start(judge, check)),
  };
}
