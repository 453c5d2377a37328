"""Takes some of many values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def thin(values: Sequence[T], limit: int) -> Sequence[T]:
    """Return evenly spaced values, at most so many of them.

    >>> thin(range(10), 4), thin("abc", 5)
    (range(0, 10, 3), 'abc')
    """
    return values[:: -(-len(values) // limit) or 1]
