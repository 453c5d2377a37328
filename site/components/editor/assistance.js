/** The services that the editor calls while the user writes, and how it shows their answers. */

import { pickedCompletion, startCompletion } from "@codemirror/autocomplete";
import { forEachDiagnostic, linter, lintKeymap } from "@codemirror/lint";
import { Prec, StateEffect, StateField } from "@codemirror/state";
import {
  Decoration,
  EditorView,
  ViewPlugin,
  closeHoverTooltips,
  hasHoverTooltips,
  hoverTooltip,
  keymap,
  showDialog,
  showTooltip,
} from "@codemirror/view";
import { changeTo } from "./changes.js";

/**
 * Offsets are those of JavaScript strings. All functions may return promises.
 *
 * @typedef {{from: number, to: number, insert: string}} Edit
 * @typedef {{label: string, kind: string, insert: string, caret: number, detail: string,
 *   help: string}} Option
 * @typedef {{from: number, to: number, options: Option[]}} Completions
 * @typedef {{from: number, to: number, code: string, help: string, facts: string[]}} Help
 * @typedef {{code: string, help: string, from: number, to: number}} Signature
 * @typedef {{from: number, to: number, severity: "error" | "warning", code: string,
 *   message: string, hint: string, fix: {title: string, edits: Edit[]} | null}} Problem
 * @typedef {{name: string, from: number, to: number}} Name
 *
 * @typedef {object} Services
 * @property {(text: string, offset: number) => Completions | null | Promise<Completions | null>}
 *   complete what can be written at an offset; the editor filters what fits
 * @property {(text: string, offset: number) => Help | null | Promise<Help | null>} hover
 *   what is known of the word at an offset
 * @property {(text: string, offset: number) => Signature | null | Promise<Signature | null>}
 *   signature the signature of the call in whose brackets an offset is
 * @property {(text: string) => Problem[] | Promise<Problem[]>} diagnose the mistakes in a text
 * @property {(text: string, offset: number) => Name | null | Promise<Name | null>} renamed
 *   the name at an offset that can be changed
 * @property {(text: string, offset: number, name: string) =>
 *   {edits?: Edit[], error?: string} | Promise<{edits?: Edit[], error?: string}>} rename
 *   the edits that rename it, or why this is not possible
 * @property {(text: string) => {text?: string, error?: string}
 *   | Promise<{text?: string, error?: string}>} format the formatted text, or why it is not
 */

/** Milliseconds after the last key until the text is checked, and until a signature shows. */
const PAUSE_BEFORE_CHECK = 300;
const PAUSE_BEFORE_SIGNATURE = 120;

/**
 * @param {Partial<Services>} services
 * @param {typeof import("@codemirror/autocomplete").autocompletion} autocompletion
 */
export function assistance(services, autocompletion) {
  return [
    services.complete
      ? autocompletion({ override: [completionSource(services.complete)], icons: false })
      : [],
    services.hover ? hoverTooltip((view, at) => hoverHelp(view, at, services)) : [],
    shownHelp,
    helper.of(services),
    services.diagnose
      ? [linter((view) => diagnostics(view, services), { delay: PAUSE_BEFORE_CHECK }), wrongLines]
      : [],
    Prec.high(
      keymap.of([
        { key: "F1", run: (view) => run(showHelp(view, services)) },
        { key: "F2", run: (view) => run(rename(view, services)) },
        { key: "Shift-Alt-f", run: (view) => run(format(view, services)) },
        { key: "Mod-.", run: mend },
        { key: "Escape", run: hideHelp },
        ...lintKeymap,
      ]),
    ),
  ];
}

/** @param {Promise<unknown>} started */
function run(started) {
  started.catch((error) => console.error(error));
  return true;
}

// Completion.

/** @param {Services["complete"]} complete */
function completionSource(complete) {
  /** @param {import("@codemirror/autocomplete").CompletionContext} context */
  return async (context) => {
    // Without a request, complete only within words and where a word is expected.
    if (!context.explicit && !context.matchBefore(/[\w:=]/)) return null;
    const found = await complete(context.state.doc.toString(), context.pos);
    if (!found || context.aborted) return null;
    return { from: found.from, options: found.options.map(shownOption), validFor: /^[\w-]*$/ };
  };
}

/** @param {Option} option */
function shownOption(option) {
  const { label, kind, detail, help } = option;
  const info = help || detail ? () => helpElement({ code: detail, help, facts: [] }) : undefined;
  return { label, type: kind, detail: help, info: detail ? info : undefined, apply: insert(option) };
}

/** @param {Option} option */
function insert({ label, insert: whole, caret }) {
  /**
   * @param {EditorView} view
   * @param {import("@codemirror/autocomplete").Completion} completion
   * @param {number} from
   * @param {number} to
   */
  return (view, completion, from, to) => {
    // A bracket or mark that already follows the word is not inserted again.
    const next = view.state.sliceDoc(to, to + 1);
    const there = next !== "" && next === whole[label.length];
    view.dispatch({
      changes: { from, to, insert: there ? label : whole },
      selection: { anchor: from + (there ? label.length : caret) },
      annotations: pickedCompletion.of(completion),
      userEvent: "input.complete",
    });
    if (!there && /[:=]$/.test(whole)) startCompletion(view);
  };
}

// Documentation.

/** @type {import("@codemirror/state").StateEffectType<import("@codemirror/view").Tooltip | null>} */
const setHelp = StateEffect.define();
const shownHelp = StateField.define({
  create: () => /** @type {import("@codemirror/view").Tooltip | null} */ (null),
  update(shown, transaction) {
    for (const effect of transaction.effects) if (effect.is(setHelp)) return effect.value;
    if (!shown || !transaction.docChanged) return shown;
    // With the same `create`, it is the same tooltip, only moved.
    return { ...shown, pos: transaction.changes.mapPos(shown.pos) };
  },
  provide: (field) => showTooltip.from(field),
});

/**
 * @param {number} pos
 * @param {Parameters<typeof helpElement>[0]} help
 */
function tooltip(pos, help) {
  const dom = helpElement(help);
  return { pos, above: true, create: () => ({ dom }) };
}

/** @param {{code: string, help: string, facts: string[], from?: number, to?: number}} help */
function helpElement({ code, help, facts, from = 0, to = 0 }) {
  const box = document.createElement("div");
  box.className = "cm-help";
  if (code) {
    const shown = box.appendChild(document.createElement("code"));
    const mark = document.createElement("mark");
    mark.textContent = code.slice(from, to);
    shown.append(code.slice(0, from), ...(to > from ? [mark] : []), code.slice(to));
  }
  if (help) box.appendChild(document.createElement("p")).textContent = help;
  if (facts.length) {
    const list = box.appendChild(document.createElement("ul"));
    for (const fact of facts) {
      list.appendChild(document.createElement("li")).textContent = fact;
    }
  }
  return box;
}

/**
 * @param {EditorView} view
 * @param {number} at
 * @param {Partial<Services>} services
 */
async function hoverHelp(view, at, services) {
  const found = await services.hover?.(view.state.doc.toString(), at);
  if (!found || view.plugin(helper)?.hides(found.from)) return null;
  const { from, to, code, help, facts } = found;
  return { ...tooltip(from, { code, help, facts }), end: to };
}

/**
 * Show what is known about the word at the cursor, and announce it to screen readers.
 *
 * @param {EditorView} view
 * @param {Partial<Services>} services
 */
export async function showHelp(view, services) {
  const { doc, selection } = view.state;
  const found = await view
    .plugin(helper)
    ?.answered(async () => services.hover?.(doc.toString(), selection.main.head));
  if (!found) return;
  const { code, help, facts } = found;
  view.dispatch({
    effects: [
      setHelp.of(tooltip(found.from, { code, help, facts })),
      closeHoverTooltips,
      EditorView.announce.of([code, help, ...facts].join(". ")),
    ],
  });
}

/** @param {EditorView} view */
function hideHelp(view) {
  return view.plugin(helper)?.hide() ?? false;
}

/** The latest request for help: its answer is shown, unless help was closed in the meantime. */
class Helper {
  /**
   * @param {EditorView} view
   * @param {Partial<Services>} services
   */
  constructor(view, services) {
    this.view = view;
    this.signature = services.signature;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    /** @type {object | null} */
    this.asked = null;
    /** Where the pointer rested when help was closed. @type {string | null} */
    this.closedAt = null;
    this.pointer = "";
  }

  /**
   * The answer to a question, or undefined if another was asked, or help closed, meanwhile.
   *
   * @template T
   * @param {() => Promise<T>} question
   */
  async answered(question) {
    clearTimeout(this.timer);
    const asked = (this.asked = {});
    const answer = await question();
    if (this.asked !== asked) return undefined;
    this.asked = null;
    return answer;
  }

  /** Close all help; return whether any was open. */
  hide() {
    const { state } = this.view;
    const open = state.field(shownHelp) || hasHoverTooltips(state) || this.asked;
    clearTimeout(this.timer);
    this.asked = null;
    this.closedAt = this.pointer;
    if (open) this.view.dispatch({ effects: [setHelp.of(null), closeHoverTooltips] });
    return Boolean(open);
  }

  /**
   * Whether the pointer requests help that is already shown, or that was just closed.
   *
   * @param {number} at
   */
  hides(at) {
    return this.closedAt === this.pointer || this.view.state.field(shownHelp)?.pos === at;
  }

  /** @param {import("@codemirror/view").ViewUpdate} update */
  update(update) {
    if (!update.docChanged && !update.selectionSet && !update.focusChanged) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => run(this.showSignature()), PAUSE_BEFORE_SIGNATURE);
  }

  async showSignature() {
    const { doc, selection } = this.view.state;
    const { head, empty } = selection.main;
    const inside = this.view.hasFocus && empty;
    const found = await this.answered(async () =>
      inside ? ((await this.signature?.(doc.toString(), head)) ?? null) : null,
    );
    if (found === undefined || this.view.state.doc !== doc) return;
    if (!found && !this.view.state.field(shownHelp)) return;
    const shown = found && tooltip(head, { ...found, facts: [] });
    this.view.dispatch({ effects: setHelp.of(shown) });
  }

  destroy() {
    clearTimeout(this.timer);
  }
}

const helper = ViewPlugin.fromClass(Helper, {
  eventHandlers: {
    mousemove(event) {
      // Browsers also send the event when the page moves below a pointer at rest.
      const pointer = `${event.screenX},${event.screenY}`;
      if (pointer !== this.pointer) this.closedAt = null;
      this.pointer = pointer;
    },
  },
});

// Mistakes.

const wrongLine = Decoration.line({ class: "cm-wrongLine" });
const wrongLines = EditorView.decorations.of((view) => {
  /** @type {Set<number>} */
  const starts = new Set();
  forEachDiagnostic(view.state, (problem, from) => {
    if (problem.severity === "error") starts.add(view.state.doc.lineAt(from).from);
  });
  return Decoration.set([...starts].sort((a, b) => a - b).map((start) => wrongLine.range(start)));
});

/**
 * @param {EditorView} view
 * @param {Partial<Services>} services
 */
async function diagnostics(view, services) {
  const { doc } = view.state;
  const found = (await services.diagnose?.(doc.toString())) ?? [];
  return found.map(({ from, to, severity, code, message, hint, fix }) => ({
    from,
    to,
    severity,
    source: code,
    message: hint ? `${message}\n${hint}` : message,
    actions: fix
      ? [{ name: fix.title, apply: () => carryOut(view, doc, fix.edits) }]
      : [],
  }));
}

/**
 * @param {EditorView} view
 * @param {import("@codemirror/state").Text} doc the text that the edits apply to
 * @param {Edit[]} edits
 */
function carryOut(view, doc, edits) {
  // A changed text is checked again in a moment, and has its own fixes.
  if (!view.state.doc.eq(doc)) return;
  view.dispatch({ changes: edits, userEvent: "input.fix" });
  view.focus();
}

/**
 * Apply the first fix for the line of the cursor, or else for the whole text.
 *
 * @param {EditorView} view
 */
export function mend(view) {
  const line = view.state.doc.lineAt(view.state.selection.main.head);
  /** @type {{here: boolean, carryOut: () => void}[]} */
  const fixes = [];
  forEachDiagnostic(view.state, (problem, from, to) => {
    const action = problem.actions?.[0];
    const here = from <= line.to && to >= line.from;
    if (action) fixes.push({ here, carryOut: () => action.apply(view, from, to) });
  });
  const chosen = fixes.find((fix) => fix.here) ?? fixes[0];
  chosen?.carryOut();
  return chosen !== undefined;
}

// Names and layout.

/**
 * Ask for a new name for the name at the cursor, and rename it.
 *
 * @param {EditorView} view
 * @param {Partial<Services>} services
 */
export async function rename(view, services) {
  if (!services.renamed || !services.rename) return;
  const { doc, selection } = view.state;
  const { head } = selection.main;
  const found = await services.renamed(doc.toString(), head);
  if (!found) {
    tell(view, "The cursor is not at a name that is defined in this text");
    return;
  }
  const { result } = showDialog(view, {
    label: `New name for ${found.name}`,
    input: { name: "name", value: found.name, autocomplete: "off" },
    submitLabel: "Rename",
    focus: true,
  });
  const form = await result;
  view.focus();
  if (!form || !view.state.doc.eq(doc)) return;
  const name = String(new FormData(form).get("name"));
  const { edits, error } = await services.rename(doc.toString(), head, name);
  if (error) tell(view, error);
  else if (edits) view.dispatch({ changes: edits, userEvent: "input.rename" });
}

/**
 * Format the text.
 *
 * @param {EditorView} view
 * @param {Partial<Services>} services
 */
export async function format(view, services) {
  const { doc } = view.state;
  const { text, error } = (await services.format?.(doc.toString())) ?? {};
  if (!view.state.doc.eq(doc)) return;
  if (error) tell(view, `The text cannot be formatted: ${error}`);
  const change = text === undefined ? null : changeTo(doc.toString(), text);
  if (change) view.dispatch({ changes: change, userEvent: "input.format" });
}

/**
 * Show a sentence below the text, and announce it to screen readers.
 *
 * @param {EditorView} view
 * @param {string} sentence
 */
function tell(view, sentence) {
  showDialog(view, { label: sentence, submitLabel: "Close", class: "cm-told" });
  view.dispatch({ effects: EditorView.announce.of(sentence) });
}
