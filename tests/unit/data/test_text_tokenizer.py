"""Tokenizers that are read without other packages, and vocabularies that are learnt."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webnnm import DataError
from webnnm.data.texts.patterns import compile_pattern
from webnnm.data.texts.token_models import MAX_MERGED, make_model, merge
from webnnm.data.texts.tokenizer import TextTokenizer
from webnnm.data.texts.tokenizer_parts import spell_bytes
from webnnm.data.texts.vocabulary import MAX_PIECES, UNITS, learn_byte_pairs, learn_vocabulary


def learn(texts: list[str], unit: Any = "words", **options: Any) -> TextTokenizer:
    settings: dict[str, Any] = {"size": 400, "minimum_count": 1, "lowercase": True}
    return learn_vocabulary(texts, unit, **(settings | options))


def cut(text: str, unit: Any = "words", **options: Any) -> list[str]:
    """Return the tokens of a text as they are written, of a vocabulary that has them all."""
    tokenizer = learn([text], unit, **options)
    words = {number: token for token, number in tokenizer.vocabulary.items()}
    return [words[number] for number in tokenizer.encode(text)]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("So GOOD!!", ["so", "good", "!", "!"]),
        ("don't, $5.20", ["don", "'", "t", ",", "$", "5", ".", "20"]),
        ("a\u00a0b\t\nc\u200bd\x00e", ["a", "b", "cde"]),
        ("👍🏽❤️ok", ["👍", "🏽", "❤️", "ok"]),
        ("👩‍👧", ["👩", "👧"]),
        ("我爱你 ok", ["我", "爱", "你", "ok"]),
        ("हिन्दी العربية", ["हिन्दी", "العربية"]),
        ("ΣΑΣ İ cafe\u0301", ["σασ", "i\u0307", "café"]),
        ("snake_case #tag @me", ["snake", "_", "case", "#", "tag", "@", "me"]),
    ],
)
def test_words_are_cut_at_spaces_and_symbols(text: str, tokens: list[str]) -> None:
    assert cut(text) == tokens


def test_letters_are_characters() -> None:
    assert cut("Né 👍🏽\n", "letters") == ["n", "é", " ", "👍", "🏽", "\n"]
    assert cut("Ab", "letters", lowercase=False) == ["A", "b"]


def test_ngrams_are_the_parts_of_words_and_the_words() -> None:
    tokens = [" a", "ab", "b ", " ab ", " !", "! ", " ! "]
    assert cut("AB!", "ngrams", ngrams=(2, 2)) == tokens
    assert cut("a 👍🏽", "ngrams", ngrams=(1, 1)) == ["a", " a ", "👍", " 👍 ", "🏽", " 🏽 "]
    assert cut("ab", "ngrams", ngrams=(5, 9)) == ["[UNK]"]


@given(st.text(st.characters(codec="utf-8"), max_size=40))
def test_byte_pairs_spell_every_text(text: str) -> None:
    tokenizer = learn(["the cat sat on the mat"], "bytes", size=270, lowercase=False)
    words = {number: token for token, number in tokenizer.vocabulary.items()}
    letters = {letter: byte for byte, letter in enumerate(spell_bytes())}
    spelled = "".join(words[number] for number in tokenizer.encode(text))
    decoded = bytes(letters[letter] for letter in spelled).decode()
    expected = unicodedata.normalize("NFC", text)
    assert decoded == (expected if expected[:1] in ("", " ") else f" {expected}")


def test_byte_pairs_are_the_most_frequent_neighbours() -> None:
    # The example of Sennrich et al. (2016), figure 1, without its marks of the ends of words.
    counts = Counter(low=5, lower=2, newest=6, widest=3)
    model = learn_byte_pairs(counts, size=257 + 4, minimum_count=1)
    assert model["merges"] == ["e s", "es t", "l o", "lo w"]


@given(st.lists(st.text("abc", min_size=1, max_size=8), min_size=1, max_size=8))
def test_pairs_are_counted_as_if_anew_after_each_merge(words: list[str]) -> None:
    counts = Counter(words)
    merges = learn_byte_pairs(counts, size=270, minimum_count=2)["merges"]
    pieces = {word: [*word] for word in counts}
    for step, written in enumerate([*merges, None]):
        totals: Counter[tuple[str, str]] = Counter()
        for word, parts in pieces.items():
            for pair in pairwise(parts):
                totals[pair] += counts[word]
        best = max(totals.values(), default=0)
        if written is None:
            assert step == 13 or best < 2
            return
        first, second = written.split(" ")
        assert totals[first, second] == best >= 2
        for word, parts in pieces.items():
            pieces[word] = merge(parts, {(first, second): 0})


def test_rare_tokens_and_those_beyond_the_size_are_unknown() -> None:
    texts = ["b a a", "c b a d d d"]
    assert list(learn(texts, minimum_count=2).vocabulary) == ["[PAD]", "[UNK]", "a", "d", "b"]
    assert list(learn(texts, size=4).vocabulary) == ["[PAD]", "[UNK]", "a", "d"]
    assert learn(texts, size=4).encode("a [PAD] c") == [2, 1, 1, 1, 1]
    with pytest.raises(DataError, match="NNM704: vocabulary=256 is less than the 257 tokens"):
        learn(texts, "bytes", size=256)


@pytest.mark.parametrize("unit", UNITS)
def test_the_file_is_a_tokenizer_json(unit: Any) -> None:
    tokenizer = learn(["so good 👍"], unit)
    content = json.loads(tokenizer.file)
    assert TextTokenizer(json.dumps(content, sort_keys=True)).encode("good 👍") == tokenizer.encode(
        "good 👍"
    )
    assert content["version"] == "1.0" and content["model"]["vocab"] == tokenizer.vocabulary


@pytest.mark.parametrize(
    ("file", "why"),
    [
        ("", "Expecting value"),
        ("[]", "'list' object"),
        ("{}", "'model'"),
        ('{"model": {"type": "Unigram", "vocab": []}}', '"Unigram" is not supported'),
        ('{"model": {"vocab": {"[UNK]": 0}}, "normalizer": {"type": "Nmt"}}', '"Nmt"'),
        ('{"model": {"type": "BPE", "vocab": {}, "merges": ["a"]}}', "not enough values"),
        ('{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a a"]}}', "merge to no token"),
        ('{"model": ' * 100_000, "nested more than 100 deep"),
        *(
            (json.dumps({"model": {"type": "NGrams", "vocab": {"[UNK]": 0}} | sizes}), why)
            for sizes, why in (
                ({"min_length": 2}, "'max_length'"),
                ({"min_length": 2, "max_length": 1}, "n-grams of 2 to 1 letters"),
                ({"min_length": 0, "max_length": 1}, "n-grams of 0 to 1 letters"),
                ({"min_length": 1, "max_length": 99}, "99 letters of an n-gram, more than 32"),
            )
        ),
        *(
            (json.dumps({"model": {"type": "WordLevel", "vocab": {"<unk>": 0, "a": number}}}), why)
            for number, why in (
                ("1", "'1' is no number of a token"),
                (1.5, "1.5 is no number"),
                (-5, "-5 is no number"),
                (10**12, "1000000000000 is no number"),
            )
        ),
        *(
            (json.dumps({"model": {"type": "WordLevel", "vocab": {"<unk>": 0}}} | part), why)
            for part, why in (
                ({"post_processor": {"type": "BertProcessing", "cls": ["a"]}}, "index out of"),
                (
                    {
                        "post_processor": {
                            "type": "TemplateProcessing",
                            "single": [{"SpecialToken": {"id": "[CLS]"}}],
                            "special_tokens": {},
                        }
                    },
                    "[CLS]",
                ),
                (
                    {
                        "post_processor": {
                            "type": "BertProcessing",
                            "cls": ["a", 7],
                            "sep": ["b", 0],
                        }
                    },
                    "the token 7 at the ends",
                ),
                (
                    {
                        "pre_tokenizer": {
                            "type": "Split",
                            "pattern": {"String": "a"},
                            "behavior": "x",
                        }
                    },
                    "the behavior 'x'",
                ),
                ({"added_tokens": [{"content": "b"}]}, "'id'"),
            )
        ),
    ],
)
def test_what_is_no_tokenizer_is_refused(file: str, why: str) -> None:
    with pytest.raises(DataError, match=f"NNM718: .*{re.escape(why)}"):
        TextTokenizer(file)


@pytest.mark.parametrize(
    "model",
    [
        {"type": "WordLevel", "vocab": {"a": 0}},
        {"type": "BPE", "vocab": {"a": 0}, "merges": [], "unk_token": "?"},
    ],
)
def test_a_text_without_tokens_for_it_is_refused(model: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="NNM718: the tokenizer cannot read 'b'"):
        TextTokenizer(json.dumps({"model": model})).encode("b")


def test_very_long_words_are_cut() -> None:
    word = "a" * MAX_MERGED + "b"
    learnt = learn_byte_pairs(Counter({"a" * MAX_PIECES + "b": 1}), size=400, minimum_count=1)
    assert "a a" in learnt["merges"] and not any("b" in pair for pair in learnt["merges"])
    look = make_model(learn_byte_pairs(Counter(ab=1), size=258, minimum_count=1))
    assert len(look("ab")) == 1 and look(word) == look("a") * MAX_MERGED + look("b")


def test_patterns_have_categories_of_unicode() -> None:
    assert compile_pattern(r"\p{Lu}[^\p{L}\s]\P{L}").fullmatch("Ä1 ")
    assert compile_pattern(r"[\]\w]+").fullmatch("é]_५")
    assert compile_pattern(r"\S\d\D\W").fullmatch("a५a-")
    for pattern in (r"\p{Nonsense}", r"[\S]", "("):
        with pytest.raises(ValueError, match=r"brackets|no character|unterminated"):
            compile_pattern(pattern)


TWICE = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}
WORDS = {"type": "WordLevel", "vocab": {"<unk>": 0}}


@pytest.mark.parametrize(
    "parts",
    [
        {"normalizer": {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 5000}},
        {"normalizer": {"type": "Prepend", "prepend": "a" * 5000}},
        {"normalizer": {"type": "Sequence", "normalizers": [TWICE] * 30}},
        {
            "post_processor": {
                "type": "TemplateProcessing",
                "single": [{"Sequence": {"id": "A"}}] * 100,
                "special_tokens": {},
            }
        },
        {"model": {"vocab": {"[UNK]": 0}, "max_input_chars_per_word": 10**6}},
    ],
)
def test_files_that_make_texts_very_long_are_refused(parts: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="NNM718: the tokenizer makes"):
        TextTokenizer(json.dumps({"model": WORDS} | parts)).encode("a")
