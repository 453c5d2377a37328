"""Class numbers in their several forms: integers, one-hot rows, scores."""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress, repeat
from operator import floordiv, mod

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import is_float
from webnnm.core.shapes import count
from webnnm.data.field import Field, Kind

SUM_TOLERANCE = 1e-3
"""How far the sum of the probabilities of a row may be from 1 (spec D.4)."""

BLOCK = 4096
"""So many numbers at a time are looked at, until one is neither 0 nor 1."""


def argmax(scores: HostArray) -> list[int]:
    """Return the index of the largest score along the last dimension, the first of equal ones.

    >>> argmax(HostArray.of([[0.1, 0.9], [0.5, 0.5]]))
    [1, 0]
    """
    width = scores.shape[-1]
    flat = scores.values()
    if _is_binary(flat) and (numbers := _find_ones(flat, width)) is not None:
        return numbers
    flat = list(flat)
    rows = (flat[first : first + width] for first in range(0, len(flat), width))
    return [row.index(max(row)) for row in rows]


def one_hot(numbers: Iterable[int], classes: int) -> HostArray:
    """Return float32 `[n, classes]` with a 1 at the class; a negative number gives a row of zeros.

    >>> one_hot([1, -1], 2).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    numbers = list(numbers)
    flat = array("f", bytes(4 * classes * len(numbers)))
    for row, number in enumerate(numbers):
        if number >= 0:
            flat[row * classes + number] = 1.0
    return HostArray("float32", (len(numbers), classes), flat)


def detect_kind(values: HostArray, *, named: bool = False) -> Kind:
    """Return what the numbers of an output mean; `named` if its classes have names.

    >>> detect_kind(HostArray.of([[0, 1], [1, 0]]))
    'onehot'
    >>> detect_kind(HostArray.of([0, 2, 1], "int32"))
    'classes'

    One integer per row is a class if the integers are 0 … C-1 and all of them occur, or if they
    have names. A column of 0.0 and 1.0 is yes/no. Rows of two and more elements are one-hot,
    yes/no or probabilities, depending on their values. Everything else is continuous.
    """
    flat = values.values()
    row = values.shape[1:]
    if count(row) != 1:
        return _detect_kind_of_rows(flat, row[-1], is_float(values.dtype))
    integers = not is_float(values.dtype)
    if _is_binary(flat):
        return "classes" if integers else "multilabel"
    if integers or named:
        distinct = {int(value) for value in flat if value == int(value)}
        all_integers = integers or all(value == int(value) for value in flat)
        if all_integers and (named or (min(distinct) >= 0 and len(distinct) == max(distinct) + 1)):
            return "classes"
    return "continuous"


def get_row_classes(
    fields: Mapping[str, Field], arrays: Mapping[str, HostArray]
) -> list[int] | None:
    """Return the class of every row from the first output that has one per row, or None.

    >>> field = Field((2,), "float32", kind="onehot", classes=2)
    >>> get_row_classes({"y": field}, {"y": HostArray.of([[0, 1], [1, 0]])})
    [1, 0]
    """
    for block, field in fields.items():
        if field.kind == "onehot" and len(field.shape) == 1:
            return argmax(arrays[block])
        binary = field.kind == "multilabel" and count(field.shape) == 1
        if binary or (field.kind == "classes" and field.shape == ()):
            return [int(value) for value in arrays[block].values()]
    return None


def _detect_kind_of_rows(flat: Sequence[float], width: int, floats: bool) -> Kind:
    if _is_binary(flat):
        single = width > 1 and _find_ones(flat, width) is not None
        return "onehot" if single else "multilabel"
    values = list(flat)
    if floats and width > 1 and all(0 <= value <= 1 for value in values):
        sums = (sum(values[i : i + width]) for i in range(0, len(values), width))
        if all(abs(total - 1) <= SUM_TOLERANCE for total in sums):
            return "distribution"
    return "continuous"


def _is_binary(flat: Sequence[float]) -> bool:
    blocks = (flat[first : first + BLOCK] for first in range(0, len(flat), BLOCK))
    return all({*block} <= {0, 1} for block in blocks)


def _find_ones(flat: Sequence[float], width: int) -> list[int] | None:
    """Return where in its row the 1 is, if every row of 0 and 1 has one; else None."""
    ones = list(compress(itertools.count(), flat))
    if list(map(floordiv, ones, repeat(width))) != list(range(len(flat) // width)):
        return None
    return list(map(mod, ones, repeat(width)))
