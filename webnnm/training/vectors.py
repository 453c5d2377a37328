"""Concatenates small parameters into vectors, so that one update changes all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from webnnm.core.shapes import Shape, count
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Operand

MAX_ELEMENTS = 1024
"""Larger parameters stay separate: copying them costs more than additional operators."""


def make_vector(shapes: Mapping[str, Shape]) -> Vector | None:
    """Return the vector of the small ones of these tensors, None if there are fewer than two."""
    small = {name: shape for name, shape in shapes.items() if count(shape) <= MAX_ELEMENTS}
    return Vector(small) if len(small) > 1 else None


@dataclass(frozen=True)
class Vector:
    """The layout of several tensors in a vector.

    >>> b = GraphBuilder()
    >>> vector = Vector({"w": (2, 3), "b": (3,)})
    >>> w, bias = b.input("w", "float32", [2, 3]), b.constant([1.0] * 3)
    >>> both = vector.concatenate(b, {"w": w, "b": bias})
    >>> both, vector.split(b, both)
    (float32[9], {'w': float32[2, 3], 'b': float32[3]})
    """

    shapes: Mapping[str, Shape]

    @property
    def size(self) -> int:
        """The number of elements."""
        return sum(map(count, self.shapes.values()))

    def concatenate(self, b: GraphBuilder, values: Mapping[str, Operand]) -> Operand:
        """Return the vector of tensors."""
        flat = [b.reshape(values[n], new_shape=[count(s)]) for n, s in self.shapes.items()]
        return b.concat(flat, 0)

    def split(self, b: GraphBuilder, vector: Operand) -> dict[str, Operand]:
        """Return the tensors of a vector."""
        tensors: dict[str, Operand] = {}
        start = 0
        for name, shape in self.shapes.items():
            part = b.slice(vector, starts=[start], sizes=[count(shape)])
            tensors[name] = b.reshape(part, new_shape=shape)
            start += count(shape)
        return tensors

    def spread(self, b: GraphBuilder, numbers: Mapping[str, float]) -> Operand | float:
        """Return a number per tensor as a number per element, or the one that they share."""
        values = [numbers[name] for name in self.shapes]
        if len({*values}) == 1:
            return values[0]
        sizes = map(count, self.shapes.values())
        spread = [v for v, size in zip(values, sizes, strict=True) for _ in range(size)]
        return b.constant(spread, "float32")
