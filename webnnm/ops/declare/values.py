"""Readers of option values in the notation: from syntax to a plain value, or ValueError."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from webnnm.core.dtypes import DataType, is_data_type
from webnnm.notation.syntax import (
    Call,
    Items,
    NamedShape,
    Number,
    Percent,
    Reference,
    Text,
    Value,
)


def number(value: Value) -> float:
    """Read a number."""
    if isinstance(value, Number):
        return value.value
    raise ValueError("expected a number")


def integer(low: int | None = None) -> Callable[[Value], int]:
    """Return a reader of integers from `low`."""

    def read(value: Value) -> int:
        if isinstance(value, Number) and isinstance(value.value, int):
            if low is not None and value.value < low:
                raise ValueError(f"{value.value} is less than {low}")
            return value.value
        raise ValueError("expected an integer")

    return read


def between(low: float, high: float) -> Callable[[Value], float]:
    """Return a reader of numbers between two bounds."""

    def read(value: Value) -> float:
        result = number(value)
        if not low <= result <= high:
            raise ValueError(f"{result} must be between {low} and {high}")
        return result

    return read


def positive(value: Value) -> float:
    """Read a number above 0."""
    result = number(value)
    if not result > 0:
        raise ValueError(f"{result} must be above 0")
    return result


BOOLEANS = ("true", "false")


def boolean(value: Value) -> bool:
    """Read `true` or `false`."""
    name = _word(value)
    if name not in BOOLEANS:
        raise ValueError("expected true or false")
    return name == "true"


@dataclass(frozen=True)
class OneOf:
    """Reads one of a set of words."""

    words: tuple[str, ...]

    def __call__(self, value: Value) -> str:
        """Read one of the words."""
        name = _word(value)
        if name not in self.words:
            raise ValueError(f"expected {' or '.join(self.words)}")
        return name


def choice(*names: str) -> OneOf:
    """Return a reader of one name of several."""
    return OneOf(names)


def text(value: Value) -> str:
    """Read a word or a string."""
    result = _word(value)
    if result is None:
        raise ValueError("expected a word")
    return result


def data_type(value: Value) -> DataType:
    """Read the name of a data type."""
    name = _word(value)
    if name is None or not is_data_type(name):
        raise ValueError(TYPE_EXPECTED)
    return name


def axis_names(value: Value) -> tuple[int | str, ...]:
    """Read one axis or a list of them: indices and dimension names."""
    items = value.items if isinstance(value, Items) else (value,)
    return tuple(_axis(item) for item in items)


def one_axis(value: Value) -> tuple[int | str, ...]:
    """Read exactly one axis."""
    if isinstance(value, Items) and len(value.items) != 1:
        raise ValueError("expected one axis")
    return axis_names(value)


def _axis(value: Value) -> int | str:
    if isinstance(value, Number) and isinstance(value.value, int):
        return value.value
    name = _word(value)
    if name is None:
        raise ValueError("expected a dimension name or an index")
    return name


@dataclass(frozen=True)
class Sizes:
    """Sizes per dimension: positional (names None) or by name.

    A size is an int, None (a bare name: inherit), a `Percent`, or the dimension of another tensor
    as a `Call`.
    """

    names: tuple[str, ...] | None
    sizes: tuple[int | Percent | Call | None, ...]


TYPE_EXPECTED = "expected a data type"
LIST_EXPECTED = "expected a list or a named shape"


def sizes(value: Value) -> Sizes:
    """Read `[2, 3]` or `{height:2, width}`."""
    if isinstance(value, NamedShape):
        return Sizes(
            tuple(d.name for d in value.dimensions), tuple(_size(d.size) for d in value.dimensions)
        )
    if isinstance(value, Items):
        return Sizes(None, tuple(_size(item) for item in value.items))
    raise ValueError(LIST_EXPECTED)


def _size(value: Value | None) -> int | Percent | Call | None:
    if isinstance(value, Number) and isinstance(value.value, int):
        return value.value
    if value is None or isinstance(value, (Percent, Call)):
        return value
    raise ValueError("expected a size")


def integers(value: Value) -> tuple[int, ...]:
    """Read a flat or nested list of integers, or one, in row-major order."""
    if isinstance(value, Items):
        return tuple(number for item in value.items for number in integers(item))
    return (integer()(value),)


def number_tree(value: Value) -> Any:
    """Read a number, or nested lists of numbers."""
    if isinstance(value, Items):
        return [number_tree(item) for item in value.items]
    return number(value)


def anything(value: Value) -> Any:
    """Read a number, a word (`true` and `false` are truth values), or nested lists of these."""
    if isinstance(value, Number):
        return value.value
    if isinstance(value, Items):
        return tuple(anything(item) for item in value.items)
    name = text(value)
    return {"true": True, "false": False}.get(name, name)


def _word(value: Value) -> str | None:
    if isinstance(value, Text):
        return value.value
    return value.word if isinstance(value, Reference) else None
