"""Sizes that are known only when an exported file runs: one value for each of several graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from operator import add, mul, sub
from typing import Protocol, TypeVar

from webnnm.ops.declare.tensors import OperatorError

CODE = "NNM902"
HINT = "sequence=128 fixes the length of sequences, batch=1 the number of rows"


@dataclass(frozen=True, slots=True)
class Size:
    """A size that differs between trial graphs: its value in each of them.

    >>> batch = Size((23, 28, 35))
    >>> batch * 4 - batch * 3 == batch, batch - batch, str(batch)
    (True, 0, '?')
    """

    values: tuple[int, ...]

    def __str__(self) -> str:
        return "?"

    def __add__(self, other: Dim) -> Dim:
        return self._with(other, add)

    def __radd__(self, other: int) -> Dim:
        return self._with(other, add)

    def __sub__(self, other: Dim) -> Dim:
        return self._with(other, sub)

    def __rsub__(self, other: int) -> Dim:
        return -self + other

    def __neg__(self) -> Dim:
        return size_of(-own for own in self.values)

    def __mul__(self, other: Dim) -> Dim:
        return self._with(other, mul)

    def __rmul__(self, other: int) -> Dim:
        return self._with(other, mul)

    def __floordiv__(self, other: Dim) -> Dim:
        return self._with(other, lambda a, b: a // b)

    def __rfloordiv__(self, other: int) -> Dim:
        return size_of(other // own for own in self.values)

    def _with(self, other: Dim, rule: Callable[[int, int], int]) -> Dim:
        others = other.values if isinstance(other, Size) else (other,) * len(self.values)
        return size_of(map(rule, self.values, others))


Dim = int | Size
Dims = tuple[Dim, ...]


class Shaped(Protocol):
    """A value of an exported graph."""

    @property
    def shape(self) -> Dims:
        """Its sizes."""
        ...


V = TypeVar("V", bound=Shaped)


def size_of(values: Iterable[int]) -> Dim:
    """Return a size: a number if it is the same in every trial, otherwise a `Size`.

    >>> size_of([4, 4, 4])
    4
    """
    sizes = tuple(values)
    return sizes[0] if len(set(sizes)) == 1 else Size(sizes)


def affine(size: Size, of: Size) -> tuple[int, int] | None:
    """Return integers a and c such that size = a·of + c in every trial, None if there are none.

    >>> affine(Size((7, 9, 15)), Size((3, 4, 7))), affine(Size((1, 2, 3)), Size((3, 4, 7)))
    ((2, 1), None)
    """
    rise, run = size.values[1] - size.values[0], of.values[1] - of.values[0]
    if not run or rise % run:
        return None
    a = rise // run
    c = size.values[0] - a * of.values[0]
    matches = all(a * x + c == y for x, y in zip(of.values, size.values, strict=True))
    return (a, c) if a and matches else None


def formula(size: Size, known: Iterable[Size]) -> tuple[tuple[Size, ...], int, int] | None:
    """Return a size as (sizes, a, c): a times the product of known sizes, plus c.

    >>> batch = Size((3, 4, 7))
    >>> formula(batch * 2 + 1, [batch])[1:], formula(Size((1, 2, 3)), [batch])
    ((2, 1), None)
    """
    symbols = list(known)
    for count in (1, 2):
        for factors in combinations_with_replacement(symbols, count):
            product: Dim = 1
            for factor in factors:
                product = factor * product
            assert isinstance(product, Size)
            coefficients = affine(size, product)
            if coefficients is not None:
                return factors, *coefficients
    return None


def express_size(size: Size, known: Iterable[Size]) -> tuple[tuple[Size, ...], int, int]:
    """Return the formula of a size. Raises `OperatorError` NNM902 if it has none."""
    expression = formula(size, known)
    if expression is None:
        raise inexpressible("a size is not a multiple of an open size plus a number")
    return expression


def record_sizes(value: V, symbols: dict[Size, tuple[V, int]]) -> None:
    """Note in `symbols` where to read sizes of a value that do not follow from known ones."""
    for axis, size in enumerate(value.shape):
        if isinstance(size, Size) and formula(size, symbols) is None:
            symbols[size] = (value, axis)


def inexpressible(message: str) -> OperatorError:
    """Return the error of a size that must be known when the file is written."""
    return OperatorError(CODE, message, HINT)


def static(value: Dim, what: str) -> int:
    """Return a size that must be a number. Raises `OperatorError` NNM902 otherwise.

    >>> static(3, "the padding")
    3
    """
    if isinstance(value, Size):
        raise inexpressible(f"{what} depends on a size that is left open")
    return value


def is_static(dims: Sequence[Dim]) -> bool:
    """Return whether every size is a number."""
    return all(isinstance(size, int) for size in dims)
