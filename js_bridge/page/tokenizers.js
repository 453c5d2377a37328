/** Hugging Face tokenizers in pages, with the npm package @huggingface/tokenizers. */

/** @type {import("./tokenizers.js").open} */
export async function open(address, text) {
  const { Tokenizer } = await import(address);
  const file = JSON.parse(text);
  // Decoded texts are not cleaned up, as in the Python package.
  const made = new Tokenizer(file, { clean_up_tokenization_spaces: false });
  const { normalizer, pre_tokenizer, post_processor, decoder, model: whole } = file;
  const { continuing_subword_prefix, end_of_word_suffix, max_input_chars_per_word } = whole;
  const model = { continuing_subword_prefix, end_of_word_suffix, max_input_chars_per_word };
  return {
    parts: JSON.stringify({ normalizer, pre_tokenizer, post_processor, decoder, model }),
    encode: (words, special) => (
      Int32Array.from(made.encode(words, { add_special_tokens: special }).ids)
    ),
    decode: (tokens) => {
      // Models may have scores beyond the last token; the package rejects an empty list.
      /** @type {number[]} */
      const known = JSON.parse(tokens).filter((/** @type {number} */ token) => (
        made.id_to_token(token) !== undefined
      ));
      return known.length > 0 ? made.decode(known, { skip_special_tokens: true }) : "";
    },
  };
}
