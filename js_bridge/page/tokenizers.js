/** Hugging Face tokenizers in pages, with the npm package @huggingface/tokenizers. */

/** @type {import("./tokenizers.js").open} */
export async function open(address, text) {
  const { Tokenizer } = await import(address);
  const file = JSON.parse(text);
  // Decoded texts are not cleaned up, as in the Python package.
  const tokenizer = new Tokenizer(file, { clean_up_tokenization_spaces: false });
  const { normalizer, pre_tokenizer, post_processor, decoder, model: settings } = file;
  const { continuing_subword_prefix, end_of_word_suffix, max_input_chars_per_word } = settings;
  const model = { continuing_subword_prefix, end_of_word_suffix, max_input_chars_per_word };
  return {
    parts: JSON.stringify({ normalizer, pre_tokenizer, post_processor, decoder, model }),
    encode: (text, special) => (
      Int32Array.from(tokenizer.encode(text, { add_special_tokens: special }).ids)
    ),
    encodePair: (text, other) => {
      const settings = { text_pair: other, return_token_type_ids: true };
      const { ids, token_type_ids: types } = tokenizer.encode(text, settings);
      return [Int32Array.from(ids), Int32Array.from(types ?? ids.map(() => 0))];
    },
    pieces: (tokens) => JSON.stringify(
      JSON.parse(tokens).map((/** @type {number} */ token) => tokenizer.id_to_token(token) ?? ""),
    ),
    decode: (tokens, special) => {
      // Models may have scores beyond the last token; the package rejects an empty list.
      /** @type {number[]} */
      const ids = JSON.parse(tokens).filter((/** @type {number} */ token) => (
        tokenizer.id_to_token(token) !== undefined
      ));
      return ids.length > 0 ? tokenizer.decode(ids, { skip_special_tokens: !special }) : "";
    },
  };
}
