"""What is known about a tensor while a graph is built: the values of constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def known_values(x: Any) -> Sequence[Any] | None:
    """Return the numbers of a constant in row-major order, None for what is computed.

    >>> from webnnm import GraphBuilder
    >>> b = GraphBuilder()
    >>> list(known_values(b.constant([[1, 2]], "int32"))), known_values(b.input("x", "int32", [2]))
    ([1, 2], None)
    """
    array = getattr(x.node, "array", None)
    return None if array is None else array.values()
