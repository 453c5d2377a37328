"""A small tokenizer of bytes as a `tokenizer.json` says it."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

WORDS = ["<s>", "<|im_start|>", "<|im_end|>", *"abcdefghijklmnopqrstuvwxyz", "Ġ", "th"]
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
EVEN = {"direction": "Right"}
PADDED = {"strategy": {"Fixed": 9}, "pad_to_multiple_of": None} | {
    f"pad_{word}": value for word, value in {"id": 0, "type_id": 0, "token": "<s>"}.items()
}
"""How the last batch of a tokenizer was made even, which files keep."""


def tokenizer(words: Sequence[str], control: Collection[int], merges: Sequence[str] = ()) -> str:
    """Return the text of a tokenizer of these words; some of them are control tokens."""
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    added = [
        {"id": number, "content": words[number], **flags, "special": True} for number in control
    ]
    return json.dumps(
        {
            "version": "1.0",
            "truncation": EVEN | {"stride": 0, "strategy": "LongestFirst", "max_length": 3},
            "padding": EVEN | PADDED,
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
