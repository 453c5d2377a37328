"""The tokenizers inside GGUF files: words, merges and unigrams as Hugging Face makes them."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pytest

from webnnm import DataError
from webnnm.transformers.gguf_tokenizer import tokenizer_of
from webnnm.transformers.tokenizer import TextStream

SAMPLES = ["Hello World's 123 tests", "A1b 22?\r\n\u00a0 \u2003z"]
WORDS = {  # what pre-tokenizers of the package tokenizers 0.22 make of the samples
    "smollm": "Hello| World|'s| |1|2|3| tests||A|1|b| |2|2|?|\r\n\xa0 |\u2003|z",
    "gpt-2": "Hello| World|'s| 123| tests||A|1|b| 22|?|\r\n\xa0 |\u2003|z",
    "llama-bpe": "Hello| World|'s| |123| tests||A|1|b| |22|?\r\n|\xa0 |\u2003z",
    "qwen2": "Hello| World|'s| |1|2|3| tests||A|1|b| |2|2|?\r\n|\xa0 |\u2003z",
}
LETTERS = [
    chr(code) for code in [*range(33, 127), *range(161, 173), *range(174, 256), *range(256, 324)]
]
"""A letter for every byte, as GPT-2 has them."""
UNIGRAMS = {
    "<unk>": 0.0,
    "▁": -2.0,
    "▁he": -3.0,
    "llo": -3.5,
    "h": -5.0,
    "e": -4.0,
    "l": -4.0,
    "o": -4.5,
    "▁hell": -6.0,
    "lo": -3.0,
    "▁world": -5.0,
    "<0xC3>": 0.0,
    "<0xA9>": 0.0,
}


def byte_pairs(merges: list[str], pre: str = "gpt-2", **more: Any) -> dict[str, Any]:
    made = [merge.replace(" ", "") for merge in merges]
    tokens = ["<|im_start|>", "<|im_end|>", *LETTERS, *made]
    found = {"model": "gpt2", "tokens": tokens, "merges": merges, "pre": pre, **more}
    found["token_type"] = [3, 3] + [1] * (len(tokens) - 2)
    return {f"tokenizer.ggml.{key}": value for key, value in found.items()}


def unigrams(kind: str = "t5", **more: Any) -> dict[str, Any]:
    types = [2, *[1] * 10, 6, 6]
    found = {"model": kind, "tokens": [*UNIGRAMS], "scores": [*UNIGRAMS.values()]}
    found |= {"token_type": types, "unknown_token_id": 0, "add_bos_token": False, **more}
    return {f"tokenizer.ggml.{key}": value for key, value in found.items()}


def letters(word: str) -> list[str]:
    """Return the letters that stand for the bytes of a word."""
    seen = [*range(33, 127), *range(161, 173), *range(174, 256)]
    order = seen + [byte for byte in range(256) if byte not in seen]
    return [LETTERS[order.index(byte)] for byte in word.encode()]


def in_one_token(words: list[str]) -> list[str]:
    """Return the merges that make one token of each word."""
    merges: dict[str, None] = {}
    for word in words:
        parts = letters(word)
        for place in range(1, len(parts)):
            merges["".join(parts[:place]) + " " + parts[place]] = None
    return [*merges]


@pytest.mark.parametrize("pre", WORDS)
def test_texts_are_split_as_hugging_face_does(pre: str) -> None:
    """With a token for every word that shall be, and for some that shall not, these come out."""
    for sample, wanted in zip(SAMPLES, WORDS[pre].split("||"), strict=True):
        words = wanted.split("|")
        pairs = [first + second for first, second in pairwise(words)]
        tokenizer = tokenizer_of(byte_pairs(in_one_token([*words, *pairs]), pre))
        assert [tokenizer.decode([token]) for token in tokenizer.encode(sample)] == words


def test_merges_go_by_their_order() -> None:
    tokenizer = tokenizer_of(byte_pairs(["b c", "a b", "a bc"]))
    assert [tokenizer.tokens[n] for n in tokenizer.encode("abcab")] == ["abc", "ab"]


def test_what_is_decoded_is_what_was_encoded() -> None:
    dice = random.Random(0)
    tokenizer = tokenizer_of(byte_pairs(["Ġ t", "h e", "Ġt he", "Ã ©"]))
    alphabet = [*"the THE 0129'.,\n\t", "é", "日", "😀", "½", "\u2003", "\x00"]
    for _ in range(200):
        text = "".join(dice.choices(alphabet, k=dice.randrange(40)))
        tokens = tokenizer.encode(text)
        assert tokenizer.decode(tokens) == text
        stream = TextStream(tokenizer)
        pieces = [stream.push([token]) for token in tokens]
        assert "".join(pieces) + stream.end() == text
        assert not any("\ufffd" in piece for piece in pieces)


def test_control_tokens_are_read_and_not_written() -> None:
    tokenizer = tokenizer_of(byte_pairs([], eos_token_id=1))
    tokens = tokenizer.encode("<|im_start|>a<|im_end|>")
    assert (tokens[0], tokens[-1], len(tokens)) == (0, 1, 3)
    assert tokenizer.decode(tokens) == "a"
    assert tokenizer.ends == {1}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("hello", ["▁he", "llo"]),
        ("hello world", ["▁he", "llo", "▁world"]),
        ("hllo", ["▁", "h", "llo"]),
        ("zhe", ["▁", "<unk>", "h", "e"]),
        ("é", ["▁", "<0xC3>", "<0xA9>"]),
    ],
)
def test_unigrams_are_the_likeliest(text: str, wanted: list[str]) -> None:
    tokenizer = tokenizer_of(unigrams())
    tokens = tokenizer.encode(text)
    assert [tokenizer.tokens[token] for token in tokens] == wanted
    assert tokenizer.decode(tokens) == text.replace("z", "<unk>")


def test_sentence_piece_merges_by_score() -> None:
    tokenizer = tokenizer_of(unigrams("llama"))
    assert [tokenizer.tokens[n] for n in tokenizer.encode("lo")] == ["▁", "lo"]


def test_streams_stop_at_words() -> None:
    tokenizer = tokenizer_of(byte_pairs([]))
    stream = TextStream(tokenizer, ["END", "\n\n"])
    pieces = [stream.push(tokenizer.encode(letter)) for letter in "an EN, ENDs"]
    assert "".join(pieces) + stream.end() == "an EN, "
    assert pieces[3:6] == ["", "", "EN,"]
    assert stream.stopped


def test_files_have_templates_and_special_tokens() -> None:
    more = {"bos_token_id": 0, "eos_token_id": 1}
    metadata = {
        **byte_pairs([], **more),
        "tokenizer.chat_template": "one",
        "tokenizer.chat_template.rag": "two",
    }
    found = tokenizer_of(metadata).template
    assert found.named == {"default": "one", "rag": "two"}
    assert found.special == {"bos_token": "<|im_start|>", "eos_token": "<|im_end|>"}


def test_texts_of_templates_begin_with_their_own_tokens() -> None:
    tokenizer = tokenizer_of(byte_pairs([], bos_token_id=0, add_bos_token=True))
    plain = tokenizer.encode_rendered("a")
    assert tokenizer.encode("a") == [0, *plain]
    assert tokenizer.encode_rendered("<|im_start|>a") == [0, *plain]
    assert tokenizer.encode_rendered("<|im_start|><|im_start|>a") == [0, 0, *plain]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model": "bert"}, 'of the kind "bert"'),
        ({"tokens": []}, "it has no tokens"),
        ({"tokens": 5}, '"tokens" is not a list'),
        ({"tokens": [1, 2]}, "an item that is not of type str"),
        ({"token_type": [1]}, "tokens have 1 types"),
        ({"pre": "dbrx"}, 'splits texts as "dbrx"'),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, Any], words: str) -> None:
    metadata = byte_pairs([]) | {f"tokenizer.ggml.{k}": v for k, v in change.items()}
    with pytest.raises(DataError, match=words) as caught:
        tokenizer_of(metadata)
    assert caught.value.code == "NNM718"
