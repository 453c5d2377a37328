"""Nested containers of arrays: tuples, lists, dictionaries and dataclasses."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterator
from typing import Any

from webnnm.eager.errors import ArrayValueError

Structure = Hashable
"""What is left of a nested container without its leaves; equal ones have equal structures."""

LEAF: Structure = "leaf"


def flatten(tree: Any) -> tuple[list[Any], Structure]:
    """Return the leaves of nested containers in order, and the structure that they leave behind.

    >>> flatten({"w": 1, "b": (2, None)})[0]
    [2, 1]

    Dictionaries are taken in the order of their keys; None has no leaves.
    """
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves)


def _flatten(tree: Any, leaves: list[Any]) -> Structure:
    if tree is None:
        return None
    kind = type(tree)
    if kind is tuple or kind is list:
        return (kind, tuple([_flatten(each, leaves) for each in tree]))
    if kind is dict:
        keys = tuple(sorted(tree, key=str))
        return (kind, keys, tuple([_flatten(tree[key], leaves) for key in keys]))
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return (kind, tuple([_flatten(each, leaves) for each in tree]))
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        keys = tuple(each.name for each in dataclasses.fields(tree))
        return (kind, keys, tuple([_flatten(getattr(tree, key), leaves) for key in keys]))
    leaves.append(tree)
    return LEAF


def unflatten(structure: Structure, leaves: Iterator[Any]) -> Any:
    """Return nested containers of a structure with these leaves."""
    if structure is None:
        return None
    if structure is LEAF or structure == LEAF:
        return next(leaves)
    kind, *rest = structure  # type: ignore[reportUnknownVariableType]
    parts = [unflatten(each, leaves) for each in rest[-1]]  # type: ignore[reportUnknownArgumentType]
    if kind is tuple or kind is list:
        return kind(parts)
    if len(rest) == 1:
        return kind(*parts)  # type: ignore[reportUnknownVariableType]
    return (
        kind(**dict(zip(rest[0], parts, strict=True)))
        if kind is not dict
        else dict(  # type: ignore
            zip(rest[0], parts, strict=True)  # type: ignore[reportUnknownArgumentType]
        )
    )


def tree_map(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """Return nested containers with a function of each leaf, and of those of others at its place.

    >>> from webnnm import tree_map
    >>> tree_map(lambda w, g: w - g, {"w": 3, "b": 2}, {"w": 1, "b": 1})
    {'b': 1, 'w': 2}

    Raises `ArrayValueError` if the others are built otherwise.
    """
    leaves, structure = flatten(tree)
    more: list[list[Any]] = []
    for other in others:
        found, same = flatten(other)
        if same != structure:
            raise ArrayValueError("containers that go together are built alike", "check their keys")
        more.append(found)
    return unflatten(structure, iter(map(function, leaves, *more)))


def tree_leaves(tree: Any) -> list[Any]:
    """Return the leaves of nested containers in order."""
    return flatten(tree)[0]
