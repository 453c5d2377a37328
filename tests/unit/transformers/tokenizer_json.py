"""A small tokenizer of bytes as a `tokenizer.json` says it."""

from __future__ import annotations

import json

WORDS = ["<s>", "<|im_start|>", "<|im_end|>", *"abcdefghijklmnopqrstuvwxyz", "Ġ", "th"]
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
TEXT = json.dumps(
    {
        "version": "1.0",
        "added_tokens": [
            {
                "id": number,
                "content": WORDS[number],
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for number in range(3)
        ],
        "normalizer": None,
        "pre_tokenizer": BYTES,
        "post_processor": None,
        "decoder": BYTES,
        "model": {
            "type": "BPE",
            "vocab": {word: number for number, word in enumerate(WORDS)},
            "merges": ["t h"],
        },
    }
)
TEMPLATE = json.dumps({"chat_template": "{{ '<|im_start|>' }}"})
"""What `tokenizer_config.json` says of conversations."""


def numbers(*words: str) -> list[int]:
    """Return the tokens that stand for these."""
    return [WORDS.index(word) for word in words]
