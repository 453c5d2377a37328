"""Checks of option values at the level of tensors: `check(value, *operand types) -> value`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from numbers import Real
from typing import Any

from webnnm.core.dtypes import DataType, is_tensor_type
from webnnm.core.shapes import MAX_DIMENSION, is_integer
from webnnm.ops.declare.tensors import OperatorError, TensorType


def boolean(value: Any, *_: TensorType) -> bool:
    """Accept True or False."""
    if not isinstance(value, bool):
        raise OperatorError("NNM303", f"{value!r} is neither true nor false")
    return value


def number(value: Any, *_: TensorType) -> float:
    """Accept any real number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise OperatorError("NNM303", f"{value!r} is not a number")
    return float(value)


def positive(value: Any, *_: TensorType) -> float:
    """Accept a number above 0."""
    result = number(value)
    if not result > 0:
        raise OperatorError("NNM303", f"{result} is not above 0")
    return result


def integer(low: int | None = None) -> Callable[..., int]:
    """Return a check that accepts one integer, from `low` if that is given."""

    def check(value: Any, *_: TensorType) -> int:
        if not is_integer(value) or (low is not None and value < low):
            raise OperatorError("NNM303", f"{value!r} is not an integer{_from(low)}")
        return int(value)

    return check


def _from(low: int | None) -> str:
    return "" if low is None else f" from {low}"


MAX_NUMBERS = 2**22
"""Most numbers that a rule may compute in Python for one constant: more need seconds and memory."""


def check_amount(amount: int, what: str) -> None:
    """Raise NNM409 if a rule would compute more numbers in Python than one constant may have.

    Every rule calls this before it computes numbers whose amount depends on sizes.
    """
    if amount > MAX_NUMBERS:
        raise OperatorError(
            "NNM409",
            f"{what}: {amount} numbers, {8 * amount} bytes; at most {MAX_NUMBERS} are computed "
            "in advance",
            "choose smaller sizes, or pass the numbers as an input",
        )


MAX_NODES = 1_000_000
"""Most nodes of a graph: more take all the memory of a page, and no browser builds them."""


def check_room(nodes: int) -> None:
    """Raise NNM409 if a graph with this many nodes cannot take another one."""
    if nodes >= MAX_NODES:
        raise OperatorError(
            "NNM409",
            f"the graph has more than {MAX_NODES} nodes",
            "use shorter sequences, smaller windows or fewer layers",
        )


def choice(*choices: str) -> Callable[..., str]:
    """Return a check that accepts one of some strings."""

    def check(value: Any, *_: TensorType) -> str:
        if value not in choices:
            raise OperatorError("NNM303", f"{value!r} is not one of {', '.join(choices)}")
        return value

    return check


def data_type(value: Any, *_: TensorType) -> DataType:
    """Accept the name of a data type."""
    if not isinstance(value, str) or not is_tensor_type(value):
        from webnnm.notation.type_words import suggest_type

        hint = suggest_type(str(value))
        raise OperatorError("NNM113", f'unknown data type "{value}"', hint)
    return value


def axis(value: Any, *types: TensorType) -> int:
    """Accept an axis of the first operand; negative ones count from the end."""
    rank = len(types[0].shape)
    if not is_integer(value):
        raise OperatorError("NNM303", f"{value!r} is not an axis")
    if not -rank <= value < rank:
        raise OperatorError("NNM308", f"axis {value}, rank {rank}")
    return int(value) % rank


def axes(value: Any, *types: TensorType) -> tuple[int, ...]:
    """Accept distinct axes of the first operand, in any order; None means all."""
    if value is None:
        return tuple(range(len(types[0].shape)))
    numbers = tuple(axis(item, *types) for item in _items(value))
    if len(set(numbers)) < len(numbers):
        raise OperatorError("NNM309", f"an axis occurs twice in {list(numbers)}")
    return numbers


def permutation(value: Any, *types: TensorType) -> tuple[int, ...]:
    """Accept a permutation of all axes; None reverses them."""
    rank = len(types[0].shape)
    if value is None:
        return tuple(reversed(range(rank)))
    order = axes(value, *types)
    if len(order) != rank:
        raise OperatorError("NNM309", f"the permutation {list(order)} needs all {rank} axes")
    return order


def integers(low: int, high: int = MAX_DIMENSION) -> Callable[..., tuple[int, ...]]:
    """Return a check for lists of integers between two bounds."""

    def check(value: Any, *_: TensorType) -> tuple[int, ...]:
        numbers = tuple(_items(value))
        for item in numbers:
            if not is_integer(item) or not low <= item <= high:
                raise OperatorError("NNM303", f"{item!r} is not an integer {low} … {high}")
        return tuple(map(int, numbers))

    return check


def per_axis(default: int, low: int) -> Callable[..., tuple[int, ...]]:
    """Return a check for one integer per axis of the first operand; None gives the default."""
    check_items = integers(low)

    def check(value: Any, *types: TensorType) -> tuple[int, ...]:
        rank = len(types[0].shape)
        numbers = (default,) * rank if value is None else check_items(value)
        if len(numbers) != rank:
            raise OperatorError("NNM303", f"{len(numbers)} numbers for rank {rank}")
        return numbers

    return check


def _items(value: Any) -> Iterable[Any]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise OperatorError("NNM303", f"{value!r} is not a list")
    return value
