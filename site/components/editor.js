/**
 * An editor in place of a `<textarea>`, which still holds the value for its form: the editor writes
 * every change into it and fires `input` there, and `change` when it loses the focus. It only knows
 * the colours of the notation: for completions, help, checks and renaming it calls functions that
 * it is given (docs/editor.md).
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
 * Replace a text field by an editor.
 *
 * @param {HTMLTextAreaElement} area the field; it is hidden, and always has the current text
 * @param {Partial<Services>} services functions that the editor calls; any of them may be missing
 */
export function enhance(area, services = {}) {
  const host = document.createElement("div");
  host.className = "rich-editor";
  area.after(host);
  // A shadow root takes styles as objects, which a policy without inline styles allows.
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
        // Tab is left to the browser: it moves to the next control, as in the plain field.
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
  /** Fire `change` when the editor loses the focus, as the field does.
   * @param {boolean} focused */
  function noteFocus(focused) {
    if (!focused && area.value !== before) {
      area.dispatchEvent(new Event("change", { bubbles: true }));
    }
    before = area.value;
  }

  /** Take over text that was written into the field by others. */
  function read() {
    if (area.value !== view.state.doc.toString()) setText(area.value);
  }

  /** Set the text; undoing brings the previous text back.
   * @param {string} text */
  function setText(text) {
    const change = changeTo(view.state.doc.toString(), text.replaceAll("\r\n", "\n"));
    if (change) view.dispatch({ changes: change, userEvent: "input.replace" });
    // A form that was reset just now has changed the field alone.
    write(view.state.doc.toString());
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
    /** Select a range of the text, in UTF-16 units.
     * @param {number} from
     * @param {number} to */
    select(from, to) {
      const end = view.state.doc.length;
      const selection = { anchor: Math.min(from, end), head: Math.min(to, end) };
      view.focus();
      view.dispatch({ selection, scrollIntoView: true });
    },
    /** Mark the text as valid or invalid.
     * @param {boolean} wrong */
    setInvalid(wrong) {
      const attributes = EditorView.contentAttributes.of({ "aria-invalid": String(wrong) });
      view.dispatch({ effects: invalid.reconfigure(attributes) });
    },
    format: () => format(view, services),
    rename: () => rename(view, services),
    mend: () => mend(view),
    help: () => showHelp(view, services),
    /** Remove the editor and show the plain field again. */
    destroy() {
      ending.abort();
      view.destroy();
      host.remove();
      area.hidden = false;
    },
  };
}

/** Refer to the descriptions of the field from within the shadow root.
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
