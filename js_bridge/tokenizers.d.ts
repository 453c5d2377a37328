/** Hugging Face tokenizers in pages. */

/** Turns texts into tokens and back. */
export interface Tokenizer {
  encode(words: string): Int32Array<ArrayBuffer>;
  /** `tokens` is a list as JSON; control tokens, and numbers of no token, are left out. */
  decode(tokens: string): string;
}

/** Return the tokenizer of a `tokenizer.json`, with the package at an address. */
export function open(address: string, text: string): Promise<Tokenizer>;
