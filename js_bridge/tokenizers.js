/** Tokenizers of Hugging Face in pages, by the npm package @huggingface/tokenizers. */

/** @type {import("./tokenizers.js").open} */
export async function open(address, text) {
  const { Tokenizer } = await import(address);
  // Texts come back as they are, as the package for Python leaves them.
  const made = new Tokenizer(JSON.parse(text), { clean_up_tokenization_spaces: false });
  return {
    encode: (words) => Int32Array.from(made.encode(words).ids),
    decode: (tokens) => {
      // Models may have scores for numbers behind the last token; the package refuses an empty list.
      /** @type {number[]} */
      const known = JSON.parse(tokens).filter((/** @type {number} */ token) => (
        made.id_to_token(token) !== undefined
      ));
      return known.length > 0 ? made.decode(known, { skip_special_tokens: true }) : "";
    },
  };
}
