"""What is known about a tensor while a graph is built: the values of constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def constant_values(x: Any) -> Sequence[Any] | None:
    """Return the numbers of a constant in row-major order, None for what is computed.

    >>> from webnnm import GraphBuilder
    >>> b = GraphBuilder()
    >>> list(constant_values(b.constant([[1, 2]], "int32")))
    [1, 2]
    >>> constant_values(b.input("x", "int32", [2]))
    """
    array = getattr(x.node, "array", None)
    return None if array is None else array.values()
