/** The look of the editor, with the colours of the surrounding page if it defines them. */

import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const text = "var(--text, light-dark(#1d1f23, #e6e7ea))";
const quiet = "var(--quiet, light-dark(#565b64, #a6acb7))";
const accent = "var(--accent, light-dark(#0b6b74, #6fd0d8))";
const wrong = "var(--wrong, light-dark(#a3261b, #ff9b8e))";
const warn = "var(--warn, light-dark(#8a5a00, #f0b95a))";
const raised = "var(--raised, light-dark(#ffffff, #1d2025))";
const line = "var(--line, light-dark(#dcd8d1, #363b44))";
const shade = "var(--shade, light-dark(rgb(0 0 0 / 0.22), rgb(255 255 255 / 0.26)))";
const onAccent = "var(--on-accent, light-dark(#ffffff, #0c1416))";
const violet = "light-dark(#5b3fa0, #c3b1f5)";
const green = "light-dark(#2b6a2f, #93d197)";
const code = "var(--code, ui-monospace, Menlo, Consolas, monospace)";

const theme = EditorView.theme({
  "&": { color: text, backgroundColor: raised },
  "&.cm-focused": { outline: "none" },
  // Where lines go on beyond the right edge, a shadow that the end of the lines covers.
  ".cm-scroller": {
    fontFamily: code,
    fontSize: "var(--code-size, 0.9rem)",
    lineHeight: "var(--code-line, 1.55)",
    background: `linear-gradient(to left, ${raised} 30%, transparent) right / 2.5rem 100% no-repeat local,
      linear-gradient(to left, ${shade}, transparent) right / 0.75rem 100% no-repeat scroll`,
  },
  ".cm-content": { padding: "0.6rem 0", caretColor: text },
  ".cm-line": { padding: "0 0.75rem" },
  ".cm-gutters": { backgroundColor: raised, color: quiet, borderRight: `1px solid ${line}` },
  ".cm-foldGutter span": { cursor: "pointer", padding: "0 0.25rem" },
  ".cm-cursor": { borderLeftColor: text },
  ".cm-activeLine": { backgroundColor: "transparent", boxShadow: `inset 2px 0 ${line}` },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground": {
    background: `color-mix(in srgb, ${accent} 30%, transparent)`,
  },
  ".cm-selectionBackground": { background: `color-mix(in srgb, ${accent} 20%, transparent)` },
  "&.cm-focused .cm-matchingBracket": {
    backgroundColor: "transparent",
    outline: `1px solid ${accent}`,
  },
  "&.cm-focused .cm-nonmatchingBracket": {
    backgroundColor: "transparent",
    outline: `1px solid ${wrong}`,
  },
  ".cm-foldPlaceholder": { background: "none", borderColor: line, color: quiet },
  ".cm-lintRange-error": { backgroundImage: "none", borderBottom: `2px solid ${wrong}` },
  ".cm-lintRange-warning": { backgroundImage: "none", borderBottom: `2px dotted ${warn}` },
  ".cm-wrongLine": { backgroundColor: "var(--wrong-ground, light-dark(#fbe4e0, #46211d))" },
  ".cm-tooltip, .cm-panels": {
    backgroundColor: raised,
    border: `1px solid ${line}`,
    color: text,
    font: "0.9rem/1.5 var(--body, system-ui, sans-serif)",
  },
  ".cm-tooltip": { borderRadius: "6px", maxWidth: "min(36rem, calc(100vw - 2rem))" },
  ".cm-tooltip.cm-tooltip-autocomplete": {
    "& > ul": { fontFamily: code, maxHeight: "14em" },
    "& > ul > li": { padding: "0.15rem 0.6rem" },
    "& > ul > li[aria-selected]": { background: accent, color: onAccent },
  },
  ".cm-completionDetail": { fontStyle: "normal" },
  ".cm-completionMatchedText": { fontWeight: "650", textDecoration: "none" },
  ".cm-help": { padding: "0.5rem 0.75rem", overflowWrap: "anywhere" },
  ".cm-help code": { fontFamily: code },
  ".cm-help p, .cm-help ul": { margin: "0.2rem 0" },
  ".cm-help ul": { paddingLeft: "1.1rem" },
  ".cm-help mark": { background: "none", color: accent, fontWeight: "650" },
  ".cm-diagnostic": { borderLeftWidth: "3px", padding: "0.35rem 0.75rem", whiteSpace: "pre-wrap" },
  ".cm-diagnostic-error": { borderLeftColor: wrong },
  ".cm-diagnostic-warning": { borderLeftColor: warn },
  ".cm-diagnosticAction": {
    display: "block",
    background: accent,
    borderRadius: "4px",
    color: onAccent,
    font: "inherit",
    margin: "0.2rem 0 0",
    minHeight: "1.7rem",
    padding: "0.1rem 0.6rem",
  },
  ".cm-dialog": { padding: "0.5rem 0.75rem" },
  ".cm-dialog label": { fontSize: "0.9rem" },
  ".cm-dialog-close": { fontSize: "1.1rem", minHeight: "1.5rem", minWidth: "1.5rem" },
  ".cm-textfield, .cm-button": {
    background: raised,
    border: `1px solid ${quiet}`,
    borderRadius: "4px",
    color: text,
    font: "inherit",
    padding: "0.2rem 0.5rem",
  },
  ".cm-button": { backgroundImage: "none", cursor: "pointer" },
  // Where a reader has chosen all colours, backgrounds are gone: lines show what is selected.
  "@media (forced-colors: active)": {
    ".cm-selectionBackground": { outline: `2px solid ${accent}` },
    ".cm-activeLine": { borderLeft: "2px solid" },
    ".cm-wrongLine": { outline: "2px dashed" },
    ".cm-tooltip-autocomplete > ul > li[aria-selected]": { forcedColorAdjust: "none" },
  },
  // Paper has room for all lines.
  "@media print": {
    ".cm-scroller": { overflow: "visible" },
    ".cm-content": { whiteSpace: "pre-wrap" },
    ".cm-foldGutter, .cm-cursorLayer, .cm-selectionLayer": { display: "none" },
  },
});

const colours = HighlightStyle.define([
  { tag: tags.comment, color: quiet, fontStyle: "italic" },
  { tag: tags.string, color: green },
  { tag: tags.number, color: warn },
  { tag: [tags.keyword, tags.typeName, tags.atom], color: violet },
  { tag: tags.standard(tags.function(tags.variableName)), color: accent, fontWeight: "600" },
  { tag: tags.function(tags.variableName), color: accent },
  { tag: tags.namespace, color: text, fontWeight: "600" },
  { tag: tags.propertyName, color: violet },
  { tag: tags.invalid, color: wrong },
]);

export const look = [theme, syntaxHighlighting(colours)];
