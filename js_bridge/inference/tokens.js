/**
 * Texts as the tokens of a `tokenizer.json`, as Hugging Face's tokenizers read it.
 *
 * @module
 * @typedef {Record<string, any>} Part
 * @typedef {{ encode: (text: string) => number[] }} Tokenizer
 */

/** @type {Map<string, Promise<Tokenizer>>} */
const opened = new Map();

/** Return the tokens of a text, by the tokenizer at an address, which is fetched once. @param {string} url @param {string} text */
export async function encodeText(url, text) {
  let tokenizer = opened.get(url);
  if (!tokenizer) {
    tokenizer = fetchTokenizer(url);
    opened.set(url, tokenizer);
    tokenizer.catch(() => opened.delete(url));
  }
  return (await tokenizer).encode(text);
}

/** @param {string} url */
async function fetchTokenizer(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} cannot be fetched: ${response.status} ${response.statusText}`);
  return openTokenizer(await response.json());
}

/** @param {Part} file the contents of a `tokenizer.json` @returns {Tokenizer} */
export function openTokenizer({ normalizer, pre_tokenizer: splitter, model, post_processor: ends, added_tokens: added = [] }) {
  const normalize = makeNormalizer(normalizer);
  const split = makeSplitter(splitter);
  const look = /** @type {any} */ (MODELS)[model.type ?? "WordPiece"](model);
  const finish = makePostProcessor(ends);
  const early = makeCutter(added.filter((/** @type {Part} */ { normalized }) => !normalized), (text) => text);
  const late = makeCutter(added.filter((/** @type {Part} */ { normalized }) => normalized), normalize);
  return {
    encode(text) {
      /** @type {number[]} */
      const ids = [];
      let isFirst = true;
      for (const part of early(text)) {
        for (const piece of typeof part === "number" ? [part] : late(normalize(part))) {
          if (typeof piece === "number") ids.push(piece);
          else for (const word of split([piece], isFirst)) for (const id of look(word)) ids.push(id);
          isFirst = false;
        }
      }
      return finish(ids);
    },
  };
}

const escape = (/** @type {string} */ text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");

/**
 * Return what cuts texts at words for tokens: parts of text, and numbers of tokens.
 *
 * @param {Part[]} added @param {(text: string) => string} normalize
 * @returns {(text: string) => (string | number)[]}
 */
function makeCutter(added, normalize) {
  /** @type {Part[]} */
  const tokens = added.map((token) => ({ ...token, word: normalize(token.content) }));
  const words = tokens.filter(({ word }) => word);
  if (words.length === 0) return (text) => (text ? [text] : []);
  words.sort((one, other) => other.word.length - one.word.length);
  const patterns = words.map(({ word, lstrip, rstrip, single_word: single }) => {
    const [before, after] = single ? ["(?<![\\p{L}\\p{N}_])", "(?![\\p{L}\\p{N}_])"] : ["", ""];
    return `${lstrip ? "\\s*" : ""}(${before}${escape(word)}${after})${rstrip ? "\\s*" : ""}`;
  });
  const pattern = makePattern(patterns.join("|"));
  return (text) => {
    /** @type {(string | number)[]} */
    const parts = [];
    let end = 0;
    for (const match of text.matchAll(pattern)) {
      if (match.index > end) parts.push(text.slice(end, match.index));
      const [whole, ...groups] = match;
      parts.push(words[groups.findIndex((group) => group !== undefined)]?.id);
      end = match.index + whole.length;
    }
    if (end < text.length) parts.push(text.slice(end));
    return parts;
  };
}

/** The letters of words, as Oniguruma has them, which reads these patterns in Python. */
const WORD = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\u00b2\u00b3\u00b9\u00bc-\u00be";
/** What escapes stand for that JavaScript reads in another way. @type {Record<string, string>} */
const CLASSES = {
  s: "\\p{White_Space}", S: "\\P{White_Space}", d: "\\p{Nd}", D: "\\P{Nd}", w: `[${WORD}]`, W: `[^${WORD}]`,
};

/** Return a pattern as JavaScript has it. @param {string} source */
function makePattern(source) {
  const cases = (/** @type {string} */ letter) => (
    `[${letter.toLowerCase()}${letter.toUpperCase()}${letter.toLowerCase() === "s" ? "\u017f" : ""}]`);
  const plain = source.replace(/\(\?i:([^()]*)\)/g, (_, body) => `(?:${body.replace(/[a-z]/gi, cases)})`);
  // Brackets are matched whole: in them other characters need a backslash.
  return new RegExp(plain.replace(/\[(?:\\.|[^\\\]])*\]|\\(.)/gs, (part, letter) => {
    if (letter === undefined) return part.replace(/\\(.)/gs, (same, inner) => (inner === "w" ? WORD : CLASSES[inner] ?? same));
    return CLASSES[letter] ?? (/[a-z\d]/i.test(letter) ? part : escape(letter));
  }), "gu");
}

/** @param {Part} pattern */
const readPattern = ({ Regex: source, String: text }) => makePattern(source ?? escape(text));

/** Change each character. @param {string} text @param {(letter: string) => string} change */
const map = (text, change) => Array.from(text, change).join("");
/** Lower case, without what depends on neighbours. @param {string} text */
const lower = (text) => map(text, (letter) => letter.toLowerCase());
const CHINESE = /[\u4E00-\u9FFF\u3400-\u4DBF\u{20000}-\u{2A6DF}\u{2A700}-\u{2B73F}\u{2B740}-\u{2B81F}\u{2B920}-\u{2CEAF}\uF900-\uFAFF\u{2F800}-\u{2FA1F}]/gu;

/** What changes texts, by its type in the file. @type {Record<string, (part: Part) => (text: string) => string>} */
const NORMALIZERS = {
  BertNormalizer: ({ clean_text: clean, handle_chinese_chars: chinese, strip_accents: strip, lowercase }) => (text) => {
    let result = text;
    if (clean) result = result.replace(/[\0\uFFFD]|(?![\t\n\r])[\p{Cc}\p{Cf}\p{Co}]/gu, "").replace(/\p{White_Space}/gu, " ");
    if (chinese) result = result.replace(CHINESE, " $& ");
    if (strip ?? lowercase) result = result.normalize("NFD").replace(/\p{Mn}/gu, "");
    return lowercase ? lower(result) : result;
  },
  ByteLevel: () => spellBytes,
  Lowercase: () => lower,
  NFC: () => (text) => text.normalize("NFC"),
  NFD: () => (text) => text.normalize("NFD"),
  NFKC: () => (text) => text.normalize("NFKC"),
  NFKD: () => (text) => text.normalize("NFKD"),
  Prepend: ({ prepend }) => (text) => (text ? prepend + text : text),
  Replace: ({ pattern, content }) => (text) => text.replace(readPattern(pattern), () => content),
  Sequence: ({ normalizers }) => {
    const steps = normalizers.map(makeNormalizer);
    return (text) => steps.reduce((/** @type {string} */ result, /** @type {any} */ step) => step(result), text);
  },
  Strip: ({ strip_left: left, strip_right: right }) => (text) => {
    const begun = left ? text.replace(/^\p{White_Space}+/u, "") : text;
    return right ? begun.replace(/\p{White_Space}+$/u, "") : begun;
  },
  StripAccents: () => (text) => text.replace(/\p{M}/gu, ""),
};

/** @param {Part | null} part @returns {(text: string) => string} */
const makeNormalizer = (part) => (part ? find(NORMALIZERS, part)(part) : (text) => text);

/** @template Table @param {Record<string, Table>} table @param {Part} part */
function find(table, part) {
  const entry = table[part.type];
  if (!entry) throw new Error(`a page has no "${part.type}" of tokenizers`);
  return entry;
}

/**
 * Cut a text at a pattern, or at what is between its matches, as `behavior` says.
 *
 * @param {string} text @param {RegExp} pattern @param {string} behavior @param {boolean} [isBetween]
 */
function cut(text, pattern, behavior, isBetween = false) {
  /** @type {[string, boolean][]} */
  const parts = [];
  let end = 0;
  for (const { 0: whole, index } of text.matchAll(pattern)) {
    if (!whole) continue;
    if (index > end) parts.push([text.slice(end, index), isBetween]);
    parts.push([whole, !isBetween]);
    end = index + whole.length;
  }
  if (end < text.length) parts.push([text.slice(end), isBetween]);
  if (behavior === "Isolated") return parts.map(([part]) => part);
  if (behavior === "Removed") return parts.filter(([, matches]) => !matches).map(([part]) => part);
  /** @type {string[]} */
  const joined = [];
  let before = false;
  parts.forEach(([part, matches], index) => {
    const joins = index > 0 && (behavior === "Contiguous" ? matches === before
      : behavior === "MergedWithNext" ? before && !matches : matches && !before);
    if (joins) joined.push(joined.pop() + part);
    else joined.push(part);
    before = matches;
  });
  return joined;
}

const BYTES = makePattern("'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+");
const PUNCTUATION = /[!-/:-@[-\x60{-~\p{P}]/gu;
const WORDS = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]+|[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}\p{White_Space}]+/gu;
const SPACES = /\p{White_Space}+/gu;
const encoder = new TextEncoder();
/** The letters that stand for bytes: printable ones for themselves, the others from 256 on. */
const LETTERS = (() => {
  let other = 256;
  const isPrintable = (/** @type {number} */ byte) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(isPrintable(byte) ? byte : other++));
})();

/** Return a letter for each byte. @param {string} text */
function spellBytes(text) {
  return Array.from(encoder.encode(text), (byte) => LETTERS[byte]).join("");
}

/** @typedef {(text: string, isFirst: boolean) => string[]} Split of one part, the first of a text or not */

/** What cuts texts into words, by its type in the file. @type {Record<string, (part: Part) => Split>} */
const SPLITTERS = {
  BertPreTokenizer: () => (text) => cut(text, SPACES, "Removed").flatMap((part) => cut(part, PUNCTUATION, "Isolated")),
  ByteLevel: ({ add_prefix_space: prefix, use_regex: regex = true }) => (text) => {
    const whole = prefix && !text.startsWith(" ") ? ` ${text}` : text;
    const words = regex ? cut(whole, BYTES, "Isolated") : [whole];
    return words.map(spellBytes);
  },
  Digits: ({ individual_digits: single }) => (text) => cut(text, /\p{N}/gu, single ? "Isolated" : "Contiguous"),
  Metaspace: ({ replacement, prepend_scheme: scheme = "always", add_prefix_space: old = true, split = true }) => (text, isFirst) => {
    const marked = text.replaceAll(" ", replacement);
    const prepends = scheme === "always" ? old : scheme === "first" && isFirst;
    const whole = prepends && !marked.startsWith(replacement) ? replacement + marked : marked;
    return split ? cut(whole, makePattern(escape(replacement)), "MergedWithNext") : [whole];
  },
  Punctuation: ({ behavior = "Isolated" }) => (text) => cut(text, PUNCTUATION, behavior),
  Sequence: ({ pretokenizers }) => {
    const steps = pretokenizers.map(makeSplitter);
    return (text, isFirst) => steps.reduce((/** @type {string[]} */ parts, /** @type {any} */ step) => step(parts, isFirst), [text]);
  },
  Split: ({ pattern, behavior, invert }) => {
    const expression = readPattern(pattern);
    return (text) => cut(text, expression, behavior, invert);
  },
  Whitespace: () => (text) => Array.from(text.matchAll(WORDS), ([word]) => word),
  WhitespaceSplit: () => (text) => cut(text, SPACES, "Removed"),
};

/** @param {Part | null} part @returns {(texts: string[], isFirst: boolean) => string[]} */
function makeSplitter(part) {
  if (!part) return (texts) => texts;
  const split = find(SPLITTERS, part)(part);
  return (texts, isFirst) => texts.flatMap((text, index) => split(text, isFirst && index === 0));
}

/** What finds the tokens of a word, by its type in the file. @type {Record<string, (part: Part) => (word: string) => number[]>} */
const MODELS = {
  BPE: (model) => {
    const { unk_token: unknown, continuing_subword_prefix: prefix = "", end_of_word_suffix: suffix = "" } = model;
    const vocabulary = new Map(Object.entries(model.vocab));
    const ranks = new Map(model.merges.map((/** @type {any} */ pair, /** @type {number} */ rank) => (
      [Array.isArray(pair) ? pair.join(" ") : pair, rank])));
    /** @type {Map<string, number[]>} */
    const known = new Map();
    return (word) => {
      let ids = known.get(word);
      if (ids) return ids;
      const whole = vocabulary.get(word);
      if (model.ignore_merges && whole !== undefined) return [whole];
      const letters = Array.from(word);
      const pieces = letters.map((letter, index) => (
        `${index > 0 ? prefix ?? "" : ""}${letter}${index === letters.length - 1 ? suffix ?? "" : ""}`));
      ids = [];
      /** @type {string[]} */
      let merged = [];
      const flush = () => {
        for (const piece of merge(merged, ranks, prefix?.length ?? 0)) ids?.push(vocabulary.get(piece));
        merged = [];
      };
      let wasUnknown = false;
      for (const piece of pieces) {
        if (vocabulary.has(piece)) {
          merged.push(piece);
          wasUnknown = false;
          if (merged.length >= MAX_MERGED) flush();
          continue;
        }
        const bytes = model.byte_fallback ? Array.from(encoder.encode(piece), nameByte) : [];
        if (bytes.length > 0 && bytes.every((byte) => vocabulary.has(byte))) {
          merged.push(...bytes);
          wasUnknown = false;
          if (merged.length >= MAX_MERGED) flush();
        } else if (unknown !== null && unknown !== undefined) {
          if (wasUnknown && model.fuse_unk) continue;
          flush();
          ids.push(vocabulary.get(unknown));
          wasUnknown = true;
        }
      }
      flush();
      if (known.size < MAX_KNOWN) known.set(word, ids);
      return ids;
    };
  },
  NGrams: ({ vocab, unk_token: unknown = "[UNK]", min_length: shortest, max_length: longest }) => {
    const vocabulary = new Map(Object.entries(vocab));
    return (word) => {
      // A word stands between spaces, which are letters.
      const letters = [" ", ...word, " "];
      const ids = [];
      const sizes = Array.from({ length: longest - shortest + 1 }, (_, index) => shortest + index);
      for (const size of letters.length > longest ? [...sizes, letters.length] : sizes) {
        for (let start = 0; start + size <= letters.length; start += 1) {
          const ngram = letters.slice(start, start + size).join("");
          const id = ngram === " " ? undefined : vocabulary.get(ngram);
          if (id !== undefined) ids.push(id);
        }
      }
      return ids.length > 0 ? ids : [vocabulary.get(unknown)];
    };
  },
  WordLevel: (model) => {
    const vocabulary = new Map(Object.entries(model.vocab));
    const unknown = vocabulary.get(model.unk_token ?? "<unk>");
    return (word) => {
      const id = vocabulary.get(word) ?? unknown;
      if (id === undefined) throw new Error(`"${word}" is not in the vocabulary, which has no unknown word`);
      return [id];
    };
  },
  WordPiece: (model) => {
    const { unk_token: unknown, continuing_subword_prefix: prefix = "##", max_input_chars_per_word: longest = 100 } = model;
    const vocabulary = new Map(Object.entries(model.vocab));
    return (word) => {
      const letters = Array.from(word);
      if (letters.length > longest) return [vocabulary.get(unknown)];
      const ids = [];
      for (let start = 0; start < letters.length;) {
        let end = letters.length;
        let id;
        for (; end > start; end -= 1) {
          id = vocabulary.get((start > 0 ? prefix : "") + letters.slice(start, end).join(""));
          if (id !== undefined) break;
        }
        if (id === undefined) return [vocabulary.get(unknown)];
        ids.push(id);
        start = end;
      }
      return ids;
    };
  },
};

/** Words whose tokens are kept. */
const MAX_KNOWN = 10_000;
/** The most pieces of a word that are merged: what follows is another word. */
const MAX_MERGED = 16_384;
const nameByte = (/** @type {number} */ byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`;

/**
 * Merge neighbours, those of the lowest rank first.
 *
 * @param {string[]} pieces @param {Map<string, number>} ranks @param {number} skipped of the second one
 */
function merge(pieces, ranks, skipped) {
  const parts = [...pieces];
  const rankOf = (/** @type {number} */ index) => ranks.get(`${parts[index]} ${parts[index + 1]}`) ?? Infinity;
  const order = parts.map((_, index) => rankOf(index));
  for (;;) {
    let [lowest, at] = [Infinity, -1];
    for (let index = 0; index < order.length; index += 1) {
      const rank = /** @type {number} */ (order[index]);
      if (rank < lowest) {
        lowest = rank;
        at = index;
      }
    }
    if (at < 0) return parts;
    parts.splice(at, 2, `${parts[at]}${parts[at + 1]?.slice(skipped)}`);
    order.splice(at, 2, rankOf(at));
    if (at > 0) order[at - 1] = rankOf(at - 1);
  }
}

/** What adds tokens at the ends, by its type in the file. @type {Record<string, (part: Part) => (ids: number[]) => number[]>} */
const POST_PROCESSORS = {
  BertProcessing: ({ cls, sep }) => (ids) => [cls[1], ...ids, sep[1]],
  ByteLevel: () => (ids) => ids,
  RobertaProcessing: ({ cls, sep }) => (ids) => [cls[1], ...ids, sep[1]],
  Sequence: ({ processors }) => {
    const steps = processors.map(makePostProcessor);
    return (ids) => steps.reduce((/** @type {number[]} */ result, /** @type {any} */ step) => step(result), ids);
  },
  TemplateProcessing: ({ single, special_tokens: tokens }) => (ids) => single.flatMap(
    (/** @type {Part} */ { SpecialToken: token }) => (token ? tokens[token.id].ids : ids)),
};

/** @param {Part | null} part @returns {(ids: number[]) => number[]} */
const makePostProcessor = (part) => (part ? find(POST_PROCESSORS, part)(part) : (ids) => ids);
