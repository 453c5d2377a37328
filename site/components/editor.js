/**
 * An editor in the place of a `<textarea>`, which stays the value of its form: the editor writes
 * every change into it and fires `input` there, and `change` when it is left. It knows no language beyond the colours of the
 * notation: what it completes, explains, checks and renames it asks of functions that it is given
 * (docs/editor.md).
 */

import { autocompletion, closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, foldGutter, foldKeymap, indentOnInput } from "@codemirror/language";
import { Compartment, EditorState } from "@codemirror/state";
import {
  EditorView,
  drawSelection,
  highlightActiveLine,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { assistance, format, mend, rename, showHelp } from "./editor/assistance.js";
import { changeTo } from "./editor/changes.js";
import { look } from "./editor/look.js";
import { notation } from "./editor/notation.js";

/** @typedef {import("./editor/assistance.js").Services} Services */

/**
 * Put an editor in the place of a text field.
 *
 * @param {HTMLTextAreaElement} area the field; it is hidden, and has the text at every moment
 * @param {Partial<Services>} services what the editor asks; it does without those that are missing
 */
export function enhance(area, services = {}) {
  const host = document.createElement("div");
  host.className = "rich-editor";
  area.after(host);
  // In a shadow root styles come as objects, which a policy without inline styles allows.
  const root = host.attachShadow({ mode: "open" });
  const invalid = new Compartment();
  const label = [...(area.labels ?? [])].map((each) => each.textContent?.trim()).join(" ");
  const view = new EditorView({
    parent: root,
    root,
    state: EditorState.create({
      doc: area.value,
      extensions: [
        lineNumbers(),
        foldGutter({ markerDOM: foldMarker }),
        highlightSpecialChars(),
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        closeBrackets(),
        highlightActiveLine(),
        notation(),
        look,
        assistance(services, autocompletion),
        // Tab is left to the browser: it goes to the next control, as from the plain field.
        keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...foldKeymap]),
        EditorView.contentAttributes.of({
          "aria-label": area.ariaLabel ?? (label || "Text"),
          autocapitalize: "off",
          tabindex: "0",
          spellcheck: "false",
        }),
        invalid.of([]),
        EditorView.updateListener.of((update) => {
          if (update.focusChanged) noteFocus(update.view.hasFocus);
          if (update.docChanged) write(update.state.doc.toString());
          if (update.docChanged || update.selectionSet) {
            const { from, to } = update.state.selection.main;
            area.setSelectionRange(from, to);
          }
        }),
      ],
    }),
  });
  describe(view.contentDOM, area);

  /** @param {string} text */
  function write(text) {
    if (area.value === text) return;
    area.value = text;
    area.dispatchEvent(new Event("input", { bubbles: true }));
  }

  let before = area.value;
  /** Tell of the change when the editor is left, as the field does.
   * @param {boolean} focused */
  function noteFocus(focused) {
    if (!focused && area.value !== before) {
      area.dispatchEvent(new Event("change", { bubbles: true }));
    }
    before = area.value;
  }

  /** Take over what else was written into the field. */
  function read() {
    if (area.value !== view.state.doc.toString()) setText(area.value);
  }

  /** Set the text; what was there before can be had back by undoing.
   * @param {string} text */
  function setText(text) {
    const change = changeTo(view.state.doc.toString(), text.replaceAll("\r\n", "\n"));
    if (change) view.dispatch({ changes: change, userEvent: "input.replace" });
  }

  const hadFocus = area.getRootNode() instanceof Document && document.activeElement === area;
  const { selectionStart, selectionEnd } = area;
  const ending = new AbortController();
  const { signal } = ending;
  area.addEventListener("input", read, { signal });
  area.form?.addEventListener("reset", () => queueMicrotask(read), { signal });
  for (const each of area.labels ?? []) {
    each.addEventListener("click", () => view.focus(), { signal });
  }
  area.hidden = true;
  if (hadFocus) {
    view.focus();
    view.dispatch({ selection: { anchor: selectionStart, head: selectionEnd } });
  }

  return {
    view,
    setText,
    focus: () => view.focus(),
    /** Put the cursor at a stretch of the text, in UTF-16 units.
     * @param {number} from
     * @param {number} to */
    select(from, to) {
      const end = view.state.doc.length;
      const selection = { anchor: Math.min(from, end), head: Math.min(to, end) };
      view.focus();
      view.dispatch({ selection, scrollIntoView: true });
    },
    /** Say whether the text is wrong.
     * @param {boolean} wrong */
    setInvalid(wrong) {
      const attributes = EditorView.contentAttributes.of({ "aria-invalid": String(wrong) });
      view.dispatch({ effects: invalid.reconfigure(attributes) });
    },
    format: () => format(view, services),
    rename: () => rename(view, services),
    mend: () => mend(view),
    help: () => showHelp(view, services),
    /** Give the place back to the plain field. */
    destroy() {
      ending.abort();
      view.destroy();
      host.remove();
      area.hidden = false;
    },
  };
}

/** Point to what describes the field, from within the shadow root.
 * @param {HTMLElement} content
 * @param {HTMLTextAreaElement} area */
function describe(content, area) {
  const ids = area.getAttribute("aria-describedby")?.split(" ") ?? [];
  const found = ids.map((id) => document.getElementById(id)).filter((each) => each !== null);
  if (found.length && "ariaDescribedByElements" in content) content.ariaDescribedByElements = found;
}

/** @param {boolean} open */
function foldMarker(open) {
  const marker = document.createElement("span");
  marker.textContent = open ? "⌄" : "›";
  marker.title = open ? "Fold" : "Unfold";
  return marker;
}
