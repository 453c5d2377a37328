"""Activations as values: what a fused `activation=` or a recurrent operator is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from webnnm.core.naming import snake_case
from webnnm.ops.declare.operator import AnyOperator
from webnnm.ops.declare.rules import build_unary
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor


@dataclass(frozen=True)
class Activation:
    """An element-wise operator with its options, not applied yet.

    >>> from webnnm import GraphBuilder
    >>> b = GraphBuilder()
    >>> b.leaky_relu(alpha=0.2)
    Activation(name='leakyRelu', options={'alpha': 0.2})
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __hash__(self) -> int:
        return hash((self.name, tuple(self.options.items())))

    def __call__(self, b: Builder, x: Tensor) -> Any:
        """Apply the activation to a tensor. Raises `OperatorError` NNM204 if it does not exist."""
        try:
            method = getattr(b, snake_case(self.name))
        except AttributeError as error:
            raise OperatorError("NNM204", f'"{self.name}" is not an activation') from error
        return method(x, **self.options)


def activation(value: Any, *_: Any) -> Activation:
    """Accept an `Activation`, or the name of one without options."""
    if isinstance(value, Activation):
        return value
    if isinstance(value, str):
        return Activation(value)
    raise OperatorError("NNM303", f"{value!r} is not an activation")


def pop_activation(b: Builder, options: dict[str, Any]) -> Callable[[Any], Any] | None:
    """Remove the 2022 draft's `activation` from options; return how it changes the result."""
    fused = options.pop("activation", None)
    return None if fused is None else partial(activation(fused), b)


def is_activation(operator: AnyOperator) -> bool:
    """Return whether an operator is an element-wise function of one tensor."""
    return operator.layer is not None and operator.layer.build is build_unary
