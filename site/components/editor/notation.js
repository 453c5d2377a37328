/** The notation: colours, folding, brackets, comments, indentation; words are in its grammar. */

import { StreamLanguage, foldService, indentUnit } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { tags } from "@lezer/highlight";
import grammar from "./notation.json" with { type: "json" };

const { patterns } = grammar;
const WORD = new RegExp(`^(?:${patterns.word}|${patterns.compound})`);
const STRING = new RegExp(`^(?:${patterns.string})`);
const NAME = new RegExp(`^(?:${patterns.name})`);
const NUMBER = /^[+-]?(?:\.?\d|Infinity$)/;
const LINE_COMMENT = new RegExp(`^(?:${patterns.comment}).*`);
const words = Object.fromEntries(
  Object.entries(grammar.words).map(([kind, listed]) => [kind, new Set(listed)]),
);

/**
 * What was read of a statement: `part` is what comes next, `open` the number of open brackets.
 *
 * @typedef {{part: "block" | "property" | "body" | "text", property: string, open: number,
 *   comment: boolean}} Reading
 */

/** @type {import("@codemirror/language").StreamParser<Reading>} */
const parser = {
  name: "webnnm",
  startState: () => ({ part: "block", property: "", open: 0, comment: false }),
  token(stream, state) {
    if (state.comment || stream.match("/*")) {
      state.comment = !stream.match(/^.*?\*\//);
      if (state.comment) stream.skipToEnd();
      return "comment";
    }
    if (stream.eatSpace()) return null;
    if (stream.match(LINE_COMMENT)) return "comment";
    if (stream.match(STRING)) return "string";
    if (state.part === "text") {
      state.part = "body";
      if (stream.match(NAME)) return "string";
    }
    if (stream.match(WORD)) return kindOf(stream.current(), stream, state);
    const mark = stream.next() ?? "";
    if (mark === ";") Object.assign(state, parser.startState?.(2));
    else if ("([{".includes(mark)) state.open += 1;
    else if (")]}".includes(mark)) state.open = Math.max(0, state.open - 1);
    return ",:=;()[]{}".includes(mark) ? null : "invalid";
  },
  indent(state, after, { unit }) {
    if (state.part === "block" || state.comment) return state.comment ? null : 0;
    return unit * (1 + state.open - (/^[)\]}]/.test(after) ? 1 : 0));
  },
  tokenTable: {
    block: tags.namespace,
    call: tags.function(tags.variableName),
    operator: tags.standard(tags.function(tags.variableName)),
    option: tags.propertyName,
    type: tags.typeName,
    loss: tags.atom,
  },
  languageData: {
    commentTokens: { line: "#", block: { open: "/*", close: "*/" } },
    closeBrackets: { brackets: ["(", "[", "{", '"', "'"] },
    indentOnInput: /^\s*[)\]}]$/,
  },
};

/**
 * @param {string} word
 * @param {import("@codemirror/language").StringStream} stream
 * @param {Reading} state
 */
function kindOf(word, stream, state) {
  const next = /^\s*([(:=]?)/.exec(stream.string.slice(stream.pos))?.[1];
  if (state.part === "block") {
    state.part = next === ":" ? "property" : "body";
    return "block";
  }
  if (state.part === "property") {
    state.part = word === "name" ? "text" : "body";
    state.property = word;
    return words.properties?.has(word) ? "keyword" : "invalid";
  }
  if (NUMBER.test(word)) return "number";
  if (next === "(") return words.operators?.has(word) ? "operator" : "call";
  if (next === "=") return "option";
  if (state.property === "loss") return words.losses?.has(word) ? "loss" : "invalid";
  if (words.types?.has(word)) return "type";
  return words.values?.has(word) ? "atom" : "variableName";
}

/** The lines that belong to the statement in a line: the indented ones after it. */
const folding = foldService.of((state, from) => {
  const first = state.doc.lineAt(from);
  if (!/^\w+\s*:/.test(first.text)) return null;
  let last = first;
  for (let number = first.number + 1; number <= state.doc.lines; number += 1) {
    const line = state.doc.line(number);
    if (/^[^\s)\]}]/.test(line.text)) break;
    if (line.text.trim()) last = line;
  }
  return last.number > first.number ? { from: first.to, to: last.to } : null;
});

export function notation() {
  return [StreamLanguage.define(parser), folding, indentUnit.of("  "), EditorState.tabSize.of(2)];
}
