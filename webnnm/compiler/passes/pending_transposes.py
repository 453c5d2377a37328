"""Transposes that are not written into the graph unless something needs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from webnnm.core.dtypes import FORMATS
from webnnm.core.shapes import Shape, count, strides_of
from webnnm.graph.node import ConstantNode, Operand

Permutation = tuple[int, ...]

MAX_CONSTANT_ELEMENTS = 1024
"""Constants of up to this many elements are transposed in Python, larger ones on the device."""


@dataclass(frozen=True, slots=True)
class PendingTranspose:
    """The transpose of an operand by a permutation, not yet written into the graph."""

    operand: Operand
    permutation: Permutation

    @property
    def shape(self) -> Shape:
        """The shape that users see."""
        return tuple(self.operand.shape[k] for k in self.permutation)


Value = Operand | PendingTranspose


def inverse(permutation: Sequence[int]) -> Permutation:
    """Return the permutation that undoes another.

    >>> inverse((0, 3, 1, 2))
    (0, 2, 3, 1)
    """
    return tuple(sorted(range(len(permutation)), key=permutation.__getitem__))


def transpose(value: Value, permutation: Sequence[int]) -> Value:
    """Return the transpose of a value."""
    if isinstance(value, PendingTranspose):
        operand, permutation = value.operand, [value.permutation[k] for k in permutation]
    else:
        operand = value
    # Sorted already: nothing to do.
    is_identity = all(a == b for a, b in enumerate(permutation))
    return operand if is_identity else PendingTranspose(operand, tuple(permutation))


def reshape(x: Operand, shape: Sequence[int]) -> Operand:
    """Return an operand in another shape; a constant stays a constant."""
    if x.shape == tuple(shape):
        return x
    node = x.node
    if isinstance(node, ConstantNode):
        return x.builder.constant(node.array, x.dtype, shape)
    return x.builder.reshape(x, new_shape=shape)


def to_operand(value: Value) -> Operand:
    """Return a value as an operand, transposed in the graph if need be.

    >>> from webnnm import GraphBuilder
    >>> x = GraphBuilder().input("x", "float32", [2, 1, 3])
    >>> to_operand(transpose(transpose(x, (2, 1, 0)), (2, 1, 0))) is x
    True
    """
    if isinstance(value, Operand):
        return value
    x, order = value.operand, value.permutation
    long_axes = [k for k in order if x.shape[k] > 1]
    if long_axes == sorted(long_axes):  # only dimensions of size 1 move
        return reshape(x, value.shape)
    node = x.node
    if (
        isinstance(node, ConstantNode)
        and x.dtype in FORMATS
        and count(x.shape) <= MAX_CONSTANT_ELEMENTS
    ):
        steps, flat = strides_of(x.shape), node.array.values()
        indices = [0]
        for k in order:
            indices = [index + i * steps[k] for index in indices for i in range(x.shape[k])]
        return x.builder.constant([flat[index] for index in indices], x.dtype, value.shape)
    return x.builder.transpose(x, permutation=order)


def to_stored_order(value: Value, permutation: Permutation) -> Operand:
    """Return the operand whose transpose by the permutation broadcasts as the value does."""
    rank = len(permutation)
    shape = value.shape
    if len(shape) == 0:
        return to_operand(value)
    if len(shape) < rank:
        value = reshape(to_operand(value), (*(1,) * (rank - len(shape)), *shape))
    return to_operand(transpose(value, inverse(permutation)))
