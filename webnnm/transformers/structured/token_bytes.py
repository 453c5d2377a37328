"""The bytes that tokens of a `tokenizer.json` stand for."""

from __future__ import annotations

import json
import re
from typing import Any, cast

from webnnm.transformers.gguf_tokenizer import SPACE, get_letters
from webnnm.transformers.offsets import names_bytes
from webnnm.transformers.tokenizer import Tokenizer

_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
"""How SentencePiece writes a token of one byte."""


def token_bytes(tokenizer: str) -> list[bytes | None]:
    """Return the bytes of each token within a text, None for control tokens.

    >>> model = {"type": "BPE", "vocab": {"▁Hi": 0, "<0x0A>": 1}}
    >>> end = {"id": 2, "content": "</s>", "special": True}
    >>> token_bytes(json.dumps({"model": model, "added_tokens": [end]}))
    [b' Hi', b'\\n', None]
    """
    file = json.loads(tokenizer)
    vocabulary: Any = file["model"].get("vocab", {})
    if isinstance(vocabulary, list):  # of tokens and their scores
        scored = cast("list[tuple[str, float]]", vocabulary)
        vocabulary = {piece: number for number, (piece, _) in enumerate(scored)}
    added = file.get("added_tokens") or []
    size = 1 + max([*vocabulary.values(), *(token["id"] for token in added)], default=-1)
    data: list[bytes | None] = [None] * size
    parts = ("decoder", "pre_tokenizer", "normalizer", "post_processor")
    letters = get_letters() if any(names_bytes(file.get(part)) for part in parts) else {}
    values = {letter: value for value, letter in letters.items()}
    for piece, number in vocabulary.items():
        byte = None if values else _BYTE.fullmatch(piece)
        if byte is not None:
            data[number] = bytes([int(byte[1], 16)])
        elif {*piece} <= {*values}:
            data[number] = bytes(values[letter] for letter in piece)
        elif not values:
            data[number] = piece.replace(SPACE, " ").encode()
    for token in added:
        data[token["id"]] = None if token.get("special") else token["content"].encode()
    return data


def drops_first_space(tokenizer: Tokenizer, data: list[bytes | None]) -> bool:
    """Return whether a decoded text lacks the space that it begins with."""
    for number, piece in enumerate(data):
        if piece is not None and re.fullmatch(rb" [A-Za-z]+", piece):
            return not tokenizer.decode([number]).startswith(" ")
    return False
