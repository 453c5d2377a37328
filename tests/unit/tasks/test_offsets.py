"""Where tokens are in texts, which is what the package `tokenizers` returns."""

from __future__ import annotations

import random
from typing import Any

import pytest

from webnnm.transformers.offsets import OffsetFinder

pytestmark = pytest.mark.desktop
pytest.importorskip("tokenizers")

from tokenizers import (  # noqa: E402
    Regex,
    Tokenizer,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)

from tests.browser.exported_texts import change, make_tokenizers  # noqa: E402

SENTENCE = (
    "the fox sat on mat Anna Müller flew to New York, good day. naïve Größe don't x 42 ξψ 日本 👍"
)
WORDS = SENTENCE.split()
SPACES = [" ", " ", " ", "  ", "", "", "\n", "\t", " \n "]
NAMES = "Anna Müller flew  to New York"
"""Pieces of one letter, and longer ones."""
PARTS = ["▁", *"aefhlmnoprstuwyAMNYü,.", "▁f", "▁to", "▁the", "▁A", "nn", "on", "at", "lew", "ork"]
SPLIT = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])


def write_texts() -> list[str]:
    rng = random.Random(3)
    drawn = [
        "".join(rng.choice(WORDS) + rng.choice(SPACES) for _ in range(rng.randrange(1, 9)))
        for _ in range(150)
    ]
    return [NAMES, "", " a", "a ", "  a  b ", " the fox", "  the fox", *drawn]


def unigram(splitter: Any, normalizer: Any = None) -> Tokenizer:
    """Return a tokenizer of the kind of SentencePiece; the longest pieces are the most likely."""
    scores = [("<unk>", 0.0), *((piece, -9.0 / len(piece)) for piece in PARTS)]
    tokenizer = Tokenizer(models.Unigram(scores, unk_id=0))
    tokenizer.pre_tokenizer = splitter
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    return tokenizer


def make() -> dict[str, Tokenizer]:
    n = normalizers
    names = ("bert", "cased", "gpt2", "llama 3", "bytes", "metaspace", "clip", "roberta")
    trained = make_tokenizers()
    collapse = n.Sequence([n.NFKC(), n.Strip(left=False), n.Replace(Regex(" {2,}"), "▁")])
    return {name: trained[name] for name in names} | {
        "trimmed": change(trained["gpt2"], post_processor=processors.ByteLevel(trim_offsets=True)),
        "Metaspace": unigram(pre_tokenizers.Metaspace()),
        "first": unigram(pre_tokenizers.Metaspace(prepend_scheme="first")),
        "fewer spaces": unigram(pre_tokenizers.Metaspace(), collapse),
        "WhitespaceSplit": unigram(SPLIT),
        "WhitespaceSplit, merges": change(trained["metaspace"], pre_tokenizer=SPLIT),
    }


def test_offsets_are_those_of_the_package() -> None:
    for name, tokenizer in make().items():
        finder = OffsetFinder.of(tokenizer.to_str())
        for text in write_texts():
            encoding = tokenizer.encode(text, add_special_tokens=False)
            assert finder.find(text, encoding.tokens) == encoding.offsets, (name, text)


@pytest.mark.parametrize(
    ("splitter", "space", "word"),
    [(pre_tokenizers.Metaspace(), (4, 5), (11, 13)), (SPLIT, (5, 6), (12, 13))],
)
def test_a_piece_of_a_space_is_where_the_space_is(splitter: Any, space: Any, word: Any) -> None:
    tokenizer = unigram(splitter)
    pieces = tokenizer.encode(NAMES).tokens
    offsets = OffsetFinder.of(tokenizer.to_str()).find(NAMES, pieces)
    assert offsets[pieces.index("▁")] == space
    assert offsets[pieces.index("▁f")] == word
