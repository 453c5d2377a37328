"""Scopes of block expansions: bindings, and values that are used outside their own scope."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from webnnm.core.errors import Span
from webnnm.graph.elaboration.outline import Block
from webnnm.graph.elaboration.vertices import BlockCall, LayerVertex, Source
from webnnm.notation.syntax import (
    Call,
    Declaration,
    Dimension,
    Items,
    Layer,
    NamedShape,
    Number,
    Option,
    Reference,
    Syntax,
    Text,
    Value,
)


@dataclass(frozen=True, slots=True)
class Bound(Syntax):
    """A value that was written in a scope other than the one in which it is used."""

    value: Any
    scope: Scope


@dataclass(eq=False)
class Scope:
    """One expansion of a block: its bindings, its names and the value that enters it."""

    block: Block
    parent: Scope | None = None
    bindings: dict[str, Any] = field(default_factory=dict[str, Any])
    names: dict[str, Any] = field(default_factory=dict[str, Any])
    entering: Flow = None
    chain: tuple[str, ...] = ()
    calls: tuple[BlockCall, ...] = ()
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class Pending:
    """A value named by a reference that is resolved later; errors point at `span`."""

    value: Any
    scope: Scope
    span: Span


Flow = Source | Pending | None


@dataclass(eq=False)
class UnresolvedLayer:
    """An expanded layer whose references are not resolved yet."""

    vertex: LayerVertex
    syntax: Layer
    operands: tuple[Any, ...]
    options: dict[str, Option]
    scope: Scope
    flow: Flow
    named: str | None = None


def substitute(value: Any, scope: Scope) -> Any:
    """Replace placeholders in a value with their bound values."""
    match value:
        case Reference():
            name = value.word
            return scope.bindings.get(name, value) if name is not None else value
        case Items():
            return replace(value, items=tuple(substitute(v, scope) for v in value.items))
        case Call():
            arguments = tuple(substitute(v, scope) for v in value.arguments)
            return replace(value, arguments=arguments)
        case NamedShape():
            return replace(value, dimensions=tuple(_dimension(d, scope) for d in value.dimensions))
        case _:
            return value


def _dimension(dimension: Dimension, scope: Scope) -> Dimension:
    size = None if dimension.size is None else substitute(dimension.size, scope)
    return replace(dimension, size=plain(size))


def tie_to_scope(value: Any, scope: Scope) -> Any:
    """Tie the references in a value to the scope in which they were written."""
    match value:
        case Reference():
            return Bound(value, scope, span=value.span)
        case Items():
            return replace(value, items=tuple(tie_to_scope(item, scope) for item in value.items))
        case _:
            return value


def plain(value: Any) -> Any:
    """Return a value without the scopes of its parts."""
    match value:
        case Bound():
            return plain(value.value)
        case Items():
            return replace(value, items=tuple(plain(item) for item in value.items))
        case _:
            return value


def show_value(value: Value | None) -> str:
    """Return a value as text for a message."""
    match value:
        case Reference():
            return f'"{value}"'
        case Number() | Text():
            return f'"{value.value}"'
        case _:
            return "a list"


def placeholder_words(block: Block, parameters: Mapping[str, Declaration]) -> set[str]:
    """Return the bare words of a block's layers, and of the shapes of parameters that they name.

    Each of them may be a placeholder.
    """
    words: set[str] = set()
    for layer in block.layers.layers if block.layers else ():
        words.add(layer.operator)
        values = (*layer.operands, *(o.value for o in layer.options if o.name != "name"))
        words.update(_references(values))
    return words.union(_references(parameters[w].shape for w in words if w in parameters))


def _references(values: Iterable[Value | None]) -> Iterable[str]:
    for value in values:
        match value:
            case Reference():
                if value.word is not None:
                    yield value.word
            case Items():
                yield from _references(value.items)
            case NamedShape():
                yield from _references(d.size for d in value.dimensions)
            case Call():
                yield from _references(value.arguments)
            case _:
                pass
