"""The options of attention: what they may be, and how the notation writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from webnnm.notation.syntax import Items, Number, Value
from webnnm.ops.declare import checks, values
from webnnm.ops.declare.linear_bias import default_slopes
from webnnm.ops.declare.tensors import TensorType
from webnnm.ops.positions import BASE
from webnnm.ops.rotary import Rotary, Turns

PROJECTED = ("q", "k", "v")
"""Operands; in the notation, a parameter is a projection, any other tensor is projected already."""


def check_rope(value: Any, *_: TensorType) -> Turns | None:
    """Accept a truth value, the base of the angles or the rates of all pairs; None if false."""
    if value is None or isinstance(value, bool):
        return BASE if value else None
    if isinstance(value, (list, tuple)):
        return tuple(map(checks.positive, cast("Sequence[Any]", value)))
    return checks.positive(value)


def check_optional_count(value: Any, *_: TensorType) -> int | None:
    """Accept a number of at least 1, or None."""
    return None if value is None else checks.integer(1)(value)


def check_alibi(value: Any, *_: TensorType) -> bool | tuple[float, ...]:
    """Accept a truth value, or the slopes of all heads."""
    if isinstance(value, (list, tuple)):
        return tuple(map(checks.positive, cast("Sequence[Any]", value)))
    return checks.boolean(value)


def check_optional_positive(value: Any, *_: TensorType) -> float | None:
    """Accept a positive number, or None."""
    return None if value is None else checks.positive(value)


def read_rope(value: Value) -> Turns | None:
    """Read whether queries and keys rotate, the base of the angles or the rates of all pairs."""
    if isinstance(value, Items):
        return tuple(map(values.positive, value.items))
    if isinstance(value, Number):
        return values.positive(value)
    return BASE if values.boolean(value) else None


def read_alibi(value: Value) -> bool | tuple[float, ...]:
    """Read whether there are linear biases, or the slopes of all heads."""
    if isinstance(value, Items):
        return tuple(map(values.positive, value.items))
    return values.boolean(value)


def slopes_option(alibi: bool | tuple[float, ...], heads: int) -> tuple[float, ...] | None:
    """Return the slopes of all heads, None if there are no linear biases."""
    if isinstance(alibi, tuple):
        return alibi
    return default_slopes(heads) if alibi else None


def rotary_option(options: Mapping[str, Any]) -> Rotary | None:
    """Return how queries and keys rotate."""
    if options["rope"] is None:
        return None
    return Rotary(
        options["rope"], options["rotary_size"], options["interleaved"], options["rotary_factor"]
    )


def read_biased(value: Value) -> tuple[str, ...]:
    """Read whether all projections have a bias, or a list of the ones that do."""
    if isinstance(value, Items):
        read = values.choice(*PROJECTED, "o")
        return tuple(read(item) for item in value.items)
    return (*PROJECTED, "o") if values.boolean(value) else ()


def read_dropout_rate(value: Value) -> float:
    """Read the share of weights that training drops."""
    share = values.number(value)
    if not 0 <= share < 1:
        raise ValueError(f"{share} must be at least 0 and less than 1")
    return share
