"""A small tokenizer of bytes as a `tokenizer.json` says it."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

WORDS = ["<s>", "<|im_start|>", "<|im_end|>", *"abcdefghijklmnopqrstuvwxyz", "Ġ", "th"]
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}


def tokenizer(words: Sequence[str], control: Collection[int], merges: Sequence[str] = ()) -> str:
    """Return the text of a tokenizer of these words; some of them are control tokens."""
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    added = [
        {"id": number, "content": words[number], **flags, "special": True} for number in control
    ]
    return json.dumps(
        {
            "version": "1.0",
            "added_tokens": added,
            "normalizer": None,
            "pre_tokenizer": BYTES,
            "post_processor": None,
            "decoder": BYTES,
            "model": {
                "type": "BPE",
                "vocab": {word: number for number, word in enumerate(words)},
                "merges": [*merges],
            },
        }
    )


TEXT = tokenizer(WORDS, range(3), ["t h"])
TEMPLATE = json.dumps({"chat_template": "{{ '<|im_start|>' }}"})
"""What `tokenizer_config.json` says of conversations."""


def numbers(*words: str) -> list[int]:
    """Return the tokens that stand for these."""
    return [WORDS.index(word) for word in words]
