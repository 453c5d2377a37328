"""Renaming of a block, a parameter, a constant or a layer, wherever a text uses it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from webnnm.core.errors import Edit, WebNNMError
from webnnm.graph.elaboration.vertices import Network
from webnnm.language.contexts import Word, words
from webnnm.language.names import USES, Names, collect_names
from webnnm.language.problems import elaborate_text
from webnnm.notation.words import is_number

_NAME = re.compile(r"\w+", re.ASCII)

Kind = Literal["block", "tensor", "layer", "word"]


class Target(NamedTuple):
    """What can be renamed: its name, and its position.

    A "tensor" is declared, a "layer" named by `name=`, a "word" a parameter that is not declared
    or a word that calls of the block bind; the last two belong to a block.
    """

    name: str
    kind: Kind
    block: str
    start: int
    end: int


@dataclass(frozen=True)
class _Use:
    """A name in the text, and the block in whose layers it is."""

    name: str
    start: int
    word: Word


def target_at(text: str, offset: int) -> Target | None:
    """Return what can be renamed at an offset, None if nothing can.

    >>> target_at("m:layers unit(); unit:layers relu();", 10)
    Target(name='unit', kind='block', block='', start=9, end=13)
    """
    listed = words(text)
    names = collect_names(listed)
    for use in _uses(listed):
        if use.start <= offset <= use.start + len(use.name):
            kind = _kind(use, names)
            if kind is not None:
                block = use.word.place.block if kind in ("layer", "word") else ""
                if kind == "layer" and use.name not in names.layers.get(block, ()):
                    block = next(
                        root for root in names.roots if use.name in names.layers.get(root, ())
                    )
                return Target(use.name, kind, block, use.start, use.start + len(use.name))
    return None


def rename(text: str, offset: int, name: str) -> list[Edit]:
    """Return the edits that rename what is at an offset.

    >>> rename("m:layers unit(); unit:layers relu();", 10, "block")
    [Edit(start=9, end=13, text='block'), Edit(start=17, end=21, text='block')]

    Raises `WebNNMError` NNM205 if nothing can be renamed, NNM101 for an invalid name, NNM206 for a
    name that is taken, or that would change what the model computes.
    """
    target = target_at(text, offset)
    if target is None:
        raise WebNNMError("NNM205", "there is no name at the cursor that can be changed")
    if not _NAME.fullmatch(name) or is_number(name):
        hint = "names consist of letters, digits and _"
        raise WebNNMError("NNM101", f'"{name}" is not a name', hint=hint)
    listed = words(text)
    names = collect_names(listed)
    taken = next((use for use in _uses(listed) if use.name == name), None)
    if name != target.name and (taken is not None or name == "input"):
        line = text.count("\n", 0, taken.start) + 1 if taken else 0
        where = f" in line {line}" if line else ""
        hint = "use another name"
        raise WebNNMError("NNM206", f'"{name}" is already used{where}', hint=hint)
    edits = [
        Edit(use.start, use.start + len(use.name), name)
        for use in _uses(listed)
        if use.name == target.name and _means(use, target, names, listed)
    ]
    before, after = elaborate_text(text).network, elaborate_text(apply_edits(text, edits)).network
    if before is not None and (after is None or _meaning(before) != _meaning(after)):
        message = f'with "{name}" instead of "{target.name}" the model would be a different one'
        raise WebNNMError("NNM206", message, hint="use another name")
    return edits


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """Return a text after non-overlapping edits.

    >>> apply_edits("relu add", [Edit(0, 4, "tanh"), Edit(4, 4, ",")])
    'tanh, add'
    """
    for edit in sorted(edits, reverse=True):
        text = edit.apply(text)
    return text


def _uses(listed: Sequence[Word]) -> Iterator[_Use]:
    """Yield the names in a text, the parts of references one by one."""
    for token in listed:
        start = token.start
        for part in token.text.split("."):
            if _NAME.fullmatch(part) and not part.isdecimal():
                yield _Use(part, start, token)
            start += len(part) + 1


def _kind(use: _Use, names: Names) -> Kind | None:
    """Return the kind of a name, None if the text does not define it."""
    name, context = use.name, use.word.place
    own = names.layers.get(context.block, ())
    if context.role == "block":
        return "block" if use.word.following == ":" else "tensor"
    if context.role == "declared":
        return "tensor"
    if context.role == "value" and context.option == "name":
        return "layer"
    if context.role == "layer":
        bound = name in names.placeholders.get(context.block, ())
        return "block" if name in names.blocks else "word" if bound else None
    if context.role == "argument" and use.word.following == "=":
        return None
    if context.role in USES and context.callee:
        if name in own or (name in names.visible(context.block) and name not in names.declared):
            return "layer"
        if name in names.blocks:
            return "block"
        if name in names.declared:
            return "tensor"
        return "word" if name in names.placeholders.get(context.block, ()) else None
    return None


def _means(use: _Use, target: Target, names: Names, listed: Sequence[Word]) -> bool:
    """Return whether a use of a name refers to what is being renamed."""
    context = use.word.place
    if context.role == "argument" and use.word.following == "=":
        # A call of the block binds its word.
        return target.kind in ("word", "tensor") and _binds(context.callee, target, names, listed)
    if _kind(use, names) != target.kind:
        return use.start > use.word.start and target.kind == "layer"
    if target.kind == "word":
        return context.block == target.block
    if target.kind == "layer":
        inside = context.block == target.block
        return inside or target.block in names.roots or use.start > use.word.start
    return True


def _binds(callee: str, target: Target, names: Names, listed: Sequence[Word]) -> bool:
    """Return whether an option of a call of `callee` binds the name that is being renamed."""
    if target.kind == "tensor":
        return False
    reached, waiting = set[str](), [callee]
    while waiting:
        block = waiting.pop()
        if block in reached or block not in names.blocks:
            continue
        reached.add(block)
        waiting += [w.text for w in listed if w.place.block == block and w.place.role == "layer"]
    return target.block in reached


def _meaning(network: Network) -> list[Any]:
    """Return what a network computes, independent of names."""
    numbers: dict[int, int] = {}

    def number(vertex: object) -> int:
        return numbers.setdefault(id(vertex), len(numbers))

    facts: list[Any] = [
        (
            number(layer),
            layer.operator.name,
            [(number(source.vertex), source.result) for source in layer.sources()],
            str(layer.options),
            [str(shape) for shape in layer.features],
        )
        for layer in network.order
    ]
    facts += [(number(p), str(p.features[0]), p.role, p.trainable) for p in network.parameters]
    return facts
