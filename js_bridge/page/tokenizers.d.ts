/** Hugging Face tokenizers in pages. */

/** Turns texts into tokens and back. */
export interface Tokenizer {
  /** What the file says of its parts but the vocabulary, as JSON. */
  parts: string;
  /** `special` is whether the first and last tokens of texts are added. */
  encode(words: string, special: boolean): Int32Array<ArrayBuffer>;
  /** The tokens of two texts, with first and last tokens, and their types: 0, 1 for the other. */
  encodePair(text: string, other: string): [Int32Array<ArrayBuffer>, Int32Array<ArrayBuffer>];
  /** The words of the vocabulary for a list of tokens, both as JSON; "" for numbers of no token. */
  pieces(tokens: string): string;
  /**
   * `tokens` is a list as JSON. Numbers of no token are left out, and control tokens unless
   * `special`.
   */
  decode(tokens: string, special: boolean): string;
}

/** Return the tokenizer of a `tokenizer.json`, with the package at an address. */
export function open(address: string, text: string): Promise<Tokenizer>;
