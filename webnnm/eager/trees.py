"""Nested containers of arrays: tuples, lists, dictionaries and dataclasses."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, cast

from webnnm.eager.errors import ArrayValueError

Structure = Hashable
"""A nested container without its leaves; equal containers have equal structures."""

LEAF: Structure = "leaf"


def flatten(tree: Any) -> tuple[list[Any], Structure]:
    """Return the leaves of nested containers in order, and their structure.

    >>> flatten({"w": 1, "b": (2, None)})[0]
    [2, 1]

    Dictionaries are taken in the order of their keys; None has no leaves.
    """
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves)


def _flatten(tree: Any, leaves: list[Any]) -> Structure:
    if tree is None:
        return None
    kind = cast("Any", type(tree))
    if kind is tuple or kind is list:
        return (kind, None, _flatten_parts(tree, leaves))
    if kind is dict:
        keys = tuple(sorted(tree, key=str))
        return (kind, keys, _flatten_parts([tree[key] for key in keys], leaves))
    if hasattr(kind, "_fields"):  # a named tuple
        return (kind, kind._fields, _flatten_parts(tree, leaves))
    if hasattr(kind, "__dataclass_fields__"):  # as `is_dataclass`, which takes longer
        keys = tuple(field.name for field in dataclasses.fields(kind))
        return (kind, keys, _flatten_parts([getattr(tree, key) for key in keys], leaves))
    leaves.append(tree)
    return LEAF


def _flatten_parts(trees: Iterable[Any], leaves: list[Any]) -> tuple[Structure, ...]:
    return tuple([_flatten(tree, leaves) for tree in trees])


def count_leaves(structure: Structure) -> int:
    """Return the number of leaves in containers of a structure."""
    if structure is None or structure == LEAF:
        return int(structure is not None)
    return sum(map(count_leaves, cast("tuple[Any, ...]", structure)[-1]))


def unflatten(structure: Structure, leaves: Iterator[Any]) -> Any:
    """Return nested containers of a structure with these leaves."""
    if structure is None:
        return None
    if structure == LEAF:
        return next(leaves)
    kind, keys, parts = cast("tuple[Any, Any, Any]", structure)
    children = [unflatten(part, leaves) for part in parts]
    if keys is None:
        return kind(children)
    named = dict(zip(keys, children, strict=True))
    return named if kind is dict else kind(**named)


def tree_map(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """Return nested containers with a function applied to each leaf, and to those of `others`.

    >>> from webnnm import tree_map
    >>> tree_map(lambda w, g: w - g, {"w": 3, "b": 2}, {"w": 1, "b": 1})
    {'b': 1, 'w': 2}

    Raises `ArrayValueError` if the others have a different structure.
    """
    leaves, structure = flatten(tree)
    more: list[list[Any]] = []
    for other in others:
        other_leaves, same = flatten(other)
        if same != structure:
            raise ArrayValueError(
                "containers that are mapped together need the same structure", "check their keys"
            )
        more.append(other_leaves)
    return unflatten(structure, iter(map(function, leaves, *more)))


def tree_leaves(tree: Any) -> list[Any]:
    """Return the leaves of nested containers in order."""
    return flatten(tree)[0]
