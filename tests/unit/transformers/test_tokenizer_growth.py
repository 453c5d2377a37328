"""Tokenizers that make texts much longer are refused before they are used."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.unit.transformers.tokenizer_json import BYTES, TEXT
from webnnm import DataError
from webnnm.transformers.json_tokenizer import json_tokenizer
from webnnm.transformers.tokenizer_growth import check_growth


def replace(old: str, new: str, kind: str = "String") -> dict[str, Any]:
    return {"type": "Replace", "pattern": {kind: old}, "content": new}


def several(name: str, *steps: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", name: [*steps]}


def template(*pieces: str, tokens: int = 1) -> dict[str, Any]:
    """Return a template of texts, "A", and of special tokens, "s", of which each is several."""
    single = [{"Sequence": {"id": "A", "type_id": 0}} if piece == "A" else
              {"SpecialToken": {"id": "s", "type_id": 0}} for piece in pieces]  # fmt: skip
    special = {"s": {"id": "s", "ids": [1] * tokens, "tokens": ["<s>"] * tokens}}
    pair = [{"Sequence": {"id": name, "type_id": 0}} for name in "AB"]
    return {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": special}


def charsmap(*texts: str) -> dict[str, Any]:
    data = (4).to_bytes(4, "little") + bytes(4) + b"".join(t.encode() + b"\0" for t in texts)
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(data).decode()}


FOUR = several("normalizers", *[replace("a", "aa")] * 4)
PREPENDED = {"type": "Prepend", "prepend": "a" * 60_000}
HOSTILE: Mapping[str, tuple[dict[str, Any], str]] = {
    "doubled": ({"normalizer": several("normalizers", *[replace("a", "aa")] * 28)}, "268,435,456"),
    "nested": ({"normalizer": several("normalizers", *[FOUR] * 7)}, "268,435,456"),
    "between": ({"normalizer": replace("", "a" * 9000, "Regex")}, "9,001 times"),
    "empty": ({"normalizer": replace("", "a" * 9000)}, "9,001 times"),
    "prepended": ({"normalizer": {"type": "Prepend", "prepend": "a" * 70_000}}, "adds 70,0"),
    "both": (
        {"normalizer": several("normalizers", PREPENDED, replace("a", "aa"))},
        "adds 120,00",
    ),
    "bytes": ({"pre_tokenizer": several("pretokenizers", *[BYTES] * 7)}, "16,384 times"),
    "one after the other": (
        {
            "normalizer": several("normalizers", *[replace("a", "aa")] * 10),
            "pre_tokenizer": several("pretokenizers", BYTES, BYTES),
        },
        "16,384 times",
    ),
    "charsmap": ({"normalizer": charsmap("b", "a" * 5000)}, "5,000 times"),
    "tokens": ({"post_processor": template(*"s" * 100, "A", tokens=1000)}, "adds 100,001"),
    "texts": ({"post_processor": template(*"A" * 5000)}, "5,000 times"),
    "templates": (
        {"post_processor": several("processors", *[template("A", "A")] * 13)},
        "8,192 times",
    ),
    "decoded": ({"decoder": several("decoders", *[replace("a", "aa")] * 13)}, "8,192 times"),
    "prefix": ({"model": {"continuing_subword_prefix": "#" * 2000}}, "2,000 characters"),
    "suffix": ({"model": {"end_of_word_suffix": "#" * 2000}}, "2,000 characters"),
    "letters": ({"model": {"max_input_chars_per_word": 10**9}}, "1,000,000,000 letters"),
}
USUAL: Mapping[str, dict[str, Any]] = {
    "Llama 2": {
        "normalizer": several(
            "normalizers", {"type": "Prepend", "prepend": "▁"}, replace(" ", "▁")
        ),
        "post_processor": template("s", "A"),
        "decoder": several(
            "decoders", replace("▁", " "), {"type": "ByteFallback"}, {"type": "Fuse"}
        ),
    },
    "GPT-2": {"pre_tokenizer": BYTES, "post_processor": BYTES, "decoder": BYTES},
    "T5": {
        "normalizer": several(
            "normalizers", charsmap("a", "ﷺ" * 3), replace(" {2,}", "▁", "Regex")
        ),
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁"},
        "post_processor": template("A", "s"),
    },
    "CLIP": {
        "normalizer": several(
            "normalizers", {"type": "NFC"}, replace(r"\s+", " ", "Regex"), {"type": "Lowercase"}
        ),
        "pre_tokenizer": several(
            "pretokenizers", {"type": "Split", "pattern": {"Regex": "a"}}, BYTES
        ),
        "post_processor": {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 1]},
    },
    "BERT": {
        "normalizer": {"type": "BertNormalizer", "lowercase": True},
        "post_processor": {"type": "BertProcessing", "sep": ["</s>", 2], "cls": ["<s>", 1]},
        "decoder": {"type": "WordPiece", "prefix": "##"},
        "model": {"continuing_subword_prefix": "##", "max_input_chars_per_word": 100},
    },
    "quotes": {
        "normalizer": several("normalizers", *[replace("“", '"')] * 30, replace("…", "..."))
    },
    "nothing": dict.fromkeys(("normalizer", "pre_tokenizer", "post_processor", "decoder")),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_growth_is_bounded(name: str) -> None:
    parts, number = HOSTILE[name]
    with pytest.raises(DataError, match=r"NNM718: tokenizer\.json .*more than") as caught:
        check_growth(parts)
    assert number in caught.value.message


@pytest.mark.parametrize("name", USUAL)
def test_tokenizers_of_models_are_used(name: str) -> None:
    check_growth(USUAL[name])


WRONG = (
    *(5, "x", [], {"type": "Sequence", "normalizers": 5}, {"type": 5}),
    *({"type": "Replace", "pattern": 5}, {"type": "Prepend", "prepend": 5}),
    {"type": "Precompiled", "precompiled_charsmap": "é"},
)


@pytest.mark.parametrize("part", WRONG)
def test_parts_of_any_type_are_used_or_refused(part: Any) -> None:
    for name in ("normalizer", "post_processor", "model"):
        try:
            check_growth({name: part})
        except DataError as error:
            assert error.code == "NNM718"


@pytest.mark.desktop
@pytest.mark.parametrize("name", sorted(HOSTILE.keys() - {"letters", "charsmap", "prefix"}))
async def test_files_are_checked_before_they_are_used(name: str) -> None:
    pytest.importorskip("tokenizers")
    parts, _ = HOSTILE[name]
    whole = json.loads(TEXT)
    whole |= {**parts, "model": {**whole["model"], **parts.get("model", {})}}
    with pytest.raises(DataError, match=r"NNM718: tokenizer\.json .*more than"):
        await json_tokenizer(json.dumps(whole))
