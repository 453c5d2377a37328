"""The names in a text, which may be unfinished: blocks, declared tensors, layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from webnnm import ops
from webnnm.language.contexts import Word

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
        names = list(self.layers.get(block, ()))
        for root in sorted(self.roots - {block}):
            names += self.layers.get(root, ())
        return names


def collect_names(words: Sequence[Word]) -> Names:
    """Collect the names that a text defines.

    >>> from webnnm.language.contexts import words
    >>> text = "m:layers unit(act=relu, name=h); unit:layers matmul(w), act();"
    >>> names = collect_names(words(text))
    >>> list(names.blocks), names.layers, names.placeholders["unit"]
    (['m', 'unit'], {'m': ['h']}, ['w', 'act'])
    """
    names = Names()
    for token in words:
        context = token.place
        if context.role == "property":
            names.blocks.setdefault(context.block, "")
            if token.text in ("input", "output"):
                names.roots.add(context.block)
        elif context.role == "declared":
            names.declared[token.text] = "param" if context.property == "param" else "constants"
        elif context.role == "tensor" and context.property == "constant":
            continue
        elif context.role == "block" and token.following != ":":
            names.declared[token.text] = "constants"
        elif context.role == "value" and context.option == "name" and context.callee:
            names.layers.setdefault(context.block, []).append(token.text)
    for token in words:
        _collect_placeholder(token, names)
    return names


def _collect_placeholder(token: Word, names: Names) -> None:
    context, text = token.place, token.text
    operand = context.role in USES and token.following != "=" and context.option != "name"
    unknown = context.role == "layer" and text not in names.blocks and ops.lookup(text) is None
    if not (unknown or (operand and context.callee)) or not text.isidentifier():
        return
    placeholders = names.placeholders.setdefault(context.block, [])
    local = names.layers.get(context.block, ())
    is_defined = (
        text in names.blocks or text in local or text in placeholders or text in ("true", "false")
    )
    if not is_defined and not (context.role == "value" and ops.lookup(text)):
        placeholders.append(text)
