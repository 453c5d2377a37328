"""Folders of small BERTs whose tokens are words and parts of words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tests.unit.transformers.tiny_bert import bert_files

WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "so",
    "good",
    "bad",
    "what",
    "a",
    "day",
    "##s",
    "##ly",
    ".",
]
QUIET: dict[str, Any] = {"backend": "numpy", "log": lambda line: None}
CLASSES = "BertForSequenceClassification"


def write_tokenizer(more: Sequence[str] = ()) -> bytes:
    """Return a tokenizer of words that begins and ends texts as BERT's does.

    `more` are further control tokens.
    """
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    added = [
        {"id": number, "content": token, **flags, "special": True}
        for number, token in [*enumerate(WORDS[:5]), *enumerate(more, len(WORDS))]
    ]
    cls, sep = ({"SpecialToken": {"id": word, "type_id": 0}} for word in ("[CLS]", "[SEP]"))
    one, two = ({"Sequence": {"id": name, "type_id": k}} for k, name in enumerate("AB"))
    end = {"SpecialToken": {"id": "[SEP]", "type_id": 1}}
    special = {
        word: {"id": word, "ids": [WORDS.index(word)], "tokens": [word]}
        for word in ("[CLS]", "[SEP]")
    }
    content = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [cls, one, sep],
            "pair": [cls, one, sep, two, end],
            "special_tokens": special,
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 20,
            "vocab": {word: number for number, word in enumerate([*WORDS, *more])},
            "unk_token": "[UNK]",
        },
    }
    return json.dumps(content).encode()


def folder(architecture: str, *labels: str, **more: Any) -> dict[str, bytes]:
    files = bert_files(len(WORDS), architecture, labels, **more)
    return files | {"tokenizer.json": write_tokenizer()}


def ids(*words: str) -> list[int]:
    return [WORDS.index(word) for word in words]
