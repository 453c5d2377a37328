"""Named shapes of rules that many operators share: inference and gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from webnnm.core.shapes import broadcast, show
from webnnm.ops.declare.operator import Gradient
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor, TensorType


def same_as_first(x: TensorType, *_: Any, **__: Any) -> TensorType:
    """Infer the type of the first operand."""
    return x


def broadcast_type(*types: TensorType, **_: Any) -> TensorType:
    """Infer the broadcast shape, with the type of the last operand."""
    shape = broadcast(*(type.shape for type in types))
    if shape is None:
        listed = " and ".join(show(type.shape) for type in types)
        raise OperatorError("NNM401", f"{listed} do not broadcast")
    return TensorType(types[-1].dtype, shape)


def chain(derivative: Callable[[Builder, Tensor, Tensor], Tensor]) -> Gradient:
    """Return the gradient rule of an element-wise function: g · `derivative(b, y, x)`."""

    def gradient(b: Builder, g: Tensor, y: Tensor, x: Tensor) -> list[Tensor]:
        return [g * derivative(b, y, x)]

    return gradient


def as_number(b: Builder, condition: Tensor, like: Tensor) -> Tensor:
    """Return a 0/1 tensor of the type of `like` from a uint8 condition."""
    return b.cast(condition, type=like.dtype)


# A comparison and its cast take backends five times as long as this arithmetic. Rounding decides
# as the comparison does, and no gradient flows through it.


def positive(b: Builder, x: Tensor) -> Tensor:
    """Return 1 where a float tensor is above 0, and 0 elsewhere."""
    return b.max(b.min(b.ceil(x), scalar_like(b, 1, x)), scalar_like(b, 0, x))


def not_negative(b: Builder, x: Tensor) -> Tensor:
    """Return 1 where a float tensor is 0 or above, and 0 elsewhere."""
    return b.max(b.min(b.floor(x) + 1.0, scalar_like(b, 1, x)), scalar_like(b, 0, x))


def scalar_like(b: Builder, value: float, x: Tensor) -> Tensor:
    """Return a scalar constant of the type of `x`."""
    return b.constant(value, x.dtype)


def zeros_like(b: Builder, x: Tensor, shape: tuple[int, ...] | None = None) -> Tensor:
    """Return zeros of the type of `x`, of its shape or of another."""
    return b.expand(scalar_like(b, 0, x), new_shape=x.shape if shape is None else shape)
