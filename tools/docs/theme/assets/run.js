/** Runs the Python of a document in the reader's browser, block by block. */

import { takeExercise } from "./exercise.js";

/**
 * @typedef {object} Block One block of Python, or the set-up of the next one.
 * @property {HTMLElement} place
 * @property {string} session Blocks of one session share their names.
 * @property {string} module Whose names the session begins with, "" for none.
 * @property {string} program
 * @property {number} errors How many errors the block shows, after which it goes on.
 * @property {boolean} done Whether Python has run it as it stands.
 * @property {boolean} alone Whether it is an exercise, whose names other blocks do not get.
 * @property {(text: string) => void} show
 * @property {(chart: string) => void} draw Takes what `Chart.to_page` wrote.
 */

/** @type {HTMLElement} */
const facts = /** @type {HTMLElement} */ (document.querySelector('meta[name="webnnm:examples"]'));
const { runtime = "", assets = "", components = "", files = "" } = facts.dataset;
const PROMPT = /^(>>>|\.\.\.) ?/;
/** Characters of an output that still show. */
const LONGEST = 100_000;
/** @type {Record<string, string>} */
const ENDINGS = { done: "Done", error: "Ended with an error", stopped: "Stopped" };

/** @type {Block[]} */
const blocks = [];
/** @type {Python | null} */
let python = null;
let running = false;

/** The worker with Python, which starts with the first program and ends when one is stopped. */
class Python {
  #worker = new Worker(new URL("python.js", import.meta.url), { type: "module" });
  /**
   * @type {{
   *   show: (text: string) => void, draw: (chart: string) => void,
   *   end: (ending: string) => void, judge: (verdict: string) => void,
   * } | null}
   */
  #current = null;

  constructor() {
    this.#worker.onmessage = ({ data: { text, chart, verdict, ending } }) => {
      if (text !== undefined) this.#current?.show(text);
      if (chart !== undefined) this.#current?.draw(chart);
      if (verdict !== undefined) this.#current?.judge(verdict);
      if (ending !== undefined) this.#current?.end(ending);
    };
    this.#worker.onerror = (event) => {
      const cause = event.message || "its script cannot be loaded";
      this.#current?.show(`Python cannot start here: ${cause}\n`);
      this.stop();
    };
    const absolute = (/** @type {string} */ path) => new URL(path, location.href).href;
    this.#worker.postMessage({
      runtime: absolute(runtime),
      files: files.split(" ").filter(Boolean).map((path) => [
        path, absolute(`${assets}../files/${path}`),
      ]),
    });
  }

  /**
   * Run a program, and return how it ended: "done", "error" or "stopped".
   * @param {Block} block
   * @param {string} [check] A program that judges it afterwards.
   * @param {(verdict: string) => void} [judge] Takes what that says.
   * @returns {Promise<string>}
   */
  run({ program, session, module, errors, alone, show, draw }, check, judge = () => {}) {
    return new Promise((resolve) => {
      this.#current = {
        show,
        draw,
        judge,
        end: (ending) => {
          this.#current = null;
          resolve(ending);
        },
      };
      this.#worker.postMessage({ program, session, module, errors, alone, check });
    });
  }

  /** End Python with all that it knows, and the program that runs. */
  stop() {
    this.#worker.terminate();
    python = null;
    for (const block of blocks) block.done = false;
    this.#current?.end("stopped");
  }
}

/**
 * Return the program of a block, without prompts and answers.
 * @param {string} text
 */
function programOf(text) {
  if (!/^>>> /m.test(text)) return text;
  const lines = text.split("\n").filter((line) => PROMPT.test(line));
  return lines.map((line) => line.replace(PROMPT, "")).join("\n");
}

/**
 * Return the name of the session that a block belongs to: one for the page, or one for each section
 * where examples know nothing of one another.
 * @param {Element} place
 */
function sessionOf(place) {
  if (!("alone" in facts.dataset)) return "page";
  let before = place.previousElementSibling;
  while (before && !/^H[1-6]$/.test(before.tagName)) before = before.previousElementSibling;
  return before?.id ?? "page";
}

/**
 * Return a function that writes text into an element; a carriage return begins the line anew.
 * @param {HTMLElement} target
 */
function writer(target) {
  return (/** @type {string} */ text) => {
    const whole = (target.textContent ?? "") + text;
    target.textContent = whole.replaceAll("\r\n", "\n").replace(/^.*\r(?=.)/gm, "").slice(-LONGEST);
    target.hidden = false;
    target.scrollTop = target.scrollHeight;
  };
}

/**
 * Draw a chart below others, with the component of the pages, which is fetched for the first one.
 * @param {HTMLElement} target
 * @param {string} chart
 * @param {(text: string) => void} show Takes what went wrong.
 */
async function drawChart(target, chart, show) {
  const holder = document.createElement("div");
  holder.className = "example-chart";
  target.append(holder);
  try {
    const address = new URL(`${components}charts.js`, location.href).href;
    (await import(address)).show(holder, chart);
  } catch (error) {
    holder.remove();
    show(`The chart cannot be drawn here: ${error instanceof Error ? error.message : error}\n`);
  }
}

/**
 * @param {string} label
 * @param {string} kind
 */
function button(label, kind) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = label;
  made.className = `example-${kind}`;
  return made;
}

/**
 * Begin a line as the line before it is indented, and further after a colon.
 * @param {HTMLTextAreaElement} field
 */
function breakLine(field) {
  const line = field.value.slice(0, field.selectionStart).split("\n").at(-1) ?? "";
  const indent = `${/^ */.exec(line)?.[0] ?? ""}${/:\s*$/.test(line) ? "    " : ""}`;
  // Unlike setRangeText, this can be undone.
  document.execCommand("insertText", false, `\n${indent}`);
}

/**
 * Give a block its buttons and the place of its output.
 * @param {HTMLElement} place
 * @param {number} number
 */
function equip(place, number) {
  const code = /** @type {HTMLElement} */ (place.querySelector("pre code"));
  const text = code.textContent ?? "";
  const original = programOf(text).trimEnd();
  const errors = text.match(/^Traceback /gm)?.length ?? 0;
  /** @type {Block} */
  const block = {
    place,
    session: sessionOf(place),
    module: place.dataset.module ?? "",
    program: original,
    errors,
    done: false,
    alone: place.classList.contains("exercise"),
    show: () => {},
    draw: () => {},
  };
  blocks.push(block);
  if (place.classList.contains("setup")) return;

  const bar = document.createElement("div");
  bar.className = "example-bar";
  const run = button("Run", "run");
  const stop = button("Stop", "stop");
  const edit = button("Edit", "edit");
  const copy = button("Copy", "copy");
  const status = document.createElement("span");
  status.setAttribute("role", "status");
  stop.hidden = true;
  run.setAttribute("aria-label", `Run example ${number}`);
  stop.setAttribute("aria-label", `Stop example ${number}`);
  edit.setAttribute("aria-label", `Edit example ${number}`);
  copy.setAttribute("aria-label", `Copy example ${number}`);
  const exercise = block.alone ? takeExercise(place, number) : null;
  bar.append(run, ...(exercise?.buttons ?? []), stop, edit, copy, status);
  const output = document.createElement("pre");
  output.className = "example-output";
  output.tabIndex = 0;
  output.hidden = true;
  output.setAttribute("role", "region");
  output.setAttribute("aria-label", `Output of example ${number}`);
  const shown = /** @type {HTMLElement | null} */ (place.nextElementSibling);
  place.after(bar, ...(exercise?.parts ?? []), output);
  /** @type {HTMLTextAreaElement | null} */
  let editor = null;
  block.show = writer(output);
  const drawn = document.createElement("div");
  drawn.className = "example-charts";
  output.after(drawn);
  block.draw = (chart) => drawChart(drawn, chart, block.show);

  /**
   * @param {HTMLButtonElement} pressed
   * @param {string} [check]
   */
  const start = async (pressed, check) => {
    if (running) return;
    running = true;
    if (editor) block.program = editor.value;
    pressed.hidden = true;
    stop.hidden = false;
    stop.focus();
    exercise?.judge("");
    output.textContent = "";
    output.hidden = true;
    drawn.replaceChildren();
    // What it printed once makes room for what it prints now.
    if (shown?.matches(".output")) shown.hidden = true;
    status.textContent = python ? "Running …" : "Starting Python …";
    const tell = (/** @type {string} */ text) => { status.textContent = text; };
    const ending = await runInOrder(block, tell, check, exercise?.judge);
    status.textContent = ENDINGS[ending] ?? ending;
    running = false;
    stop.hidden = true;
    pressed.hidden = false;
    pressed.focus();
  };
  run.addEventListener("click", () => start(run));
  exercise?.onCheck(start);
  stop.addEventListener("click", () => python?.stop());
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(editor?.value ?? block.program);
      status.textContent = "Copied";
    } catch (error) {
      status.textContent = `Not copied: ${error instanceof Error ? error.message : error}`;
    }
  });
  const openEditor = () => {
    editor = document.createElement("textarea");
    editor.className = "example-editor";
    editor.spellcheck = false;
    editor.autocapitalize = "off";
    editor.setAttribute("aria-label", `Program of example ${number}; Ctrl and Enter run it`);
    editor.value = block.program;
    editor.rows = block.program.split("\n").length + 1;
    editor.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        start(run);
      } else if (!event.shiftKey && !event.isComposing) {
        event.preventDefault();
        breakLine(/** @type {HTMLTextAreaElement} */ (event.target));
      }
    });
    place.before(editor);
    place.hidden = true;
    edit.textContent = "Restore";
    edit.setAttribute("aria-label", `Restore example ${number}`);
  };
  edit.addEventListener("click", () => {
    if (editor) editor.value = original;
    else openEditor();
    editor?.focus();
  });
  if (exercise) openEditor();
}

/**
 * Run a block after those of its session before it that Python does not know yet.
 * @param {Block} block
 * @param {(text: string) => void} tell
 * @param {string} [check] A program that judges it afterwards.
 * @param {(verdict: string) => void} [judge] Takes what that says.
 */
async function runInOrder(block, tell, check, judge) {
  const session = blocks.filter((other) => other.session === block.session);
  const earlier = session.slice(0, session.indexOf(block));
  const before = earlier.filter((other) => !other.done && !other.alone);
  for (const other of before) {
    python ??= new Python();
    tell("Running the examples before this one …");
    const ending = await python.run({ ...other, show: () => {}, draw: () => {} });
    if (ending === "stopped") return ending;
    other.done = ending === "done";
  }
  python ??= new Python();
  const ending = await python.run(block, check, judge);
  block.done = ending === "done";
  return ending;
}

// Readers count what they see, which set-ups are not.
let examples = 0;
for (const place of document.querySelectorAll(".highlight.run, .highlight.setup")) {
  if (place.classList.contains("run")) examples += 1;
  equip(/** @type {HTMLElement} */ (place), examples);
}

/** Let the keyboard reach what scrolls: blocks, and the tables that Material wraps. */
function reach() {
  for (const wide of document.querySelectorAll(".md-typeset pre > code, .md-typeset__scrollwrap")) {
    if (wide.scrollWidth > wide.clientWidth) wide.setAttribute("tabindex", "0");
    else wide.removeAttribute("tabindex");
  }
}

reach();
addEventListener("load", reach);
new ResizeObserver(reach).observe(document.body);
