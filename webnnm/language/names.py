"""The names in a text, which may be unfinished: blocks, declared tensors, layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from webnnm import ops
from webnnm.language.places import Word

USES = ("argument", "reference", "value")
"""Places where a word may be a reference."""


@dataclass
class Names:
    """What a text names.

    `blocks` are blocks with their titles, `declared` the tensors with the word that declares each,
    "param" or "constants", `layers` the names of the layers of each block, `placeholders` the words
    in its layers that calls of the block may bind.
    """

    blocks: dict[str, str] = field(default_factory=dict[str, str])
    roots: set[str] = field(default_factory=set[str])
    declared: dict[str, str] = field(default_factory=dict[str, str])
    layers: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    placeholders: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def visible(self, block: str) -> list[str]:
        """Return the names of layers that references in a block may have."""
        found = list(self.layers.get(block, ()))
        for root in sorted(self.roots - {block}):
            found += self.layers.get(root, ())
        return found


def names_of(words: Sequence[Word]) -> Names:
    """Return the names that the words of a text define.

    >>> from webnnm.language.places import words
    >>> found = names_of(words("m:layers unit(act=relu, name=h); unit:layers matmul(w), act();"))
    >>> list(found.blocks), found.layers, found.placeholders["unit"]
    (['m', 'unit'], {'m': ['h']}, ['w', 'act'])
    """
    found = Names()
    for word in words:
        place = word.place
        if place.role == "property":
            found.blocks.setdefault(place.block, "")
            if word.text in ("input", "output"):
                found.roots.add(place.block)
        elif place.role == "declared":
            found.declared[word.text] = "param" if place.property == "param" else "constants"
        elif place.role == "tensor" and place.property == "constant":
            continue
        elif place.role == "block" and word.following != ":":
            found.declared[word.text] = "constants"
        elif place.role == "value" and place.option == "name" and place.callee:
            found.layers.setdefault(place.block, []).append(word.text)
    for word in words:
        _note_placeholder(word, found)
    return found


def _note_placeholder(word: Word, found: Names) -> None:
    place, text = word.place, word.text
    operand = place.role in USES and word.following != "=" and place.option != "name"
    unknown = place.role == "layer" and text not in found.blocks and ops.lookup(text) is None
    if not (unknown or (operand and place.callee)) or not text.isidentifier():
        return
    noted = found.placeholders.setdefault(place.block, [])
    local = found.layers.get(place.block, ())
    taken = text in found.blocks or text in local or text in noted or text in ("true", "false")
    if not taken and not (place.role == "value" and ops.lookup(text)):
        noted.append(text)
