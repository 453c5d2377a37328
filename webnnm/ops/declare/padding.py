"""Padded positions of sequences, which operators along a sequence ignore (spec G.6, E.9).

A mask `[batch, length]`, float32, is 1 at the valid positions of each row, which come before the
padded ones. The result of a padded row is that of the unpadded row. If something has to be valid,
such as under a mean, a row that is all padding counts its first position: results stay finite,
and the row mask excludes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webnnm.core.dtypes import FLOAT_INFO, DataType, integer_range, is_float
from webnnm.core.shapes import count
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.tensors import Builder, Tensor


def extremes(dtype: DataType) -> tuple[float, float]:
    """Return the lowest and the highest finite number of a type.

    >>> extremes("float16"), extremes("uint8")
    ((-65504.0, 65504.0), (0, 255))
    """
    if is_float(dtype):
        largest = FLOAT_INFO[dtype].max
        return -largest, largest
    return integer_range(dtype)


# Masks `[batch, length]`.


def lengths(b: Builder, mask: Tensor, dtype: DataType = "float32") -> Any:
    """Return the number of valid positions of each row, `[batch]`, at least one."""
    numbers = b.max(b.reduce_sum(mask, axes=[1]), b.constant(1, "float32"))
    return numbers if dtype == "float32" else b.cast(numbers, type=dtype)


def is_valid(b: Builder, mask: Tensor) -> Any:
    """Return which positions are valid as conditions `[batch, length]`, at least one per row."""
    return is_below(b, lengths(b, mask), mask.shape[1])


def is_below(b: Builder, numbers: Tensor, length: int) -> Any:
    """Return, for each of `[batch]` numbers, which positions from 0 on are below it."""
    positions = b.constant(range(length), numbers.dtype, (1, length))
    return b.lesser(positions, as_column(b, numbers))


def as_column(b: Builder, numbers: Tensor) -> Any:
    """Return `[batch]` numbers as `[batch, 1]`."""
    return b.reshape(numbers, new_shape=(-1, 1))


def all_valid(b: Builder, batch: int, length: int) -> Any:
    """Return a mask in which all positions are valid."""
    return b.expand(b.constant(1, "float32"), new_shape=(batch, length))


def reduce_mask(b: Builder, mask: Tensor) -> Any:
    """Return the mask of a sequence of one step that is computed from all valid steps."""
    return b.reduce_max(mask, axes=[1], keep_dimensions=True)


# Values with a mask.


def align_rows(b: Builder, numbers: Tensor, source: LayoutTensor) -> Any:
    """Return `[batch]` or `[batch, length]` numbers in a shape that broadcasts to a value."""
    roles = [source.position("batch"), *([source.position("sequence")] if numbers.rank > 1 else [])]
    if roles != sorted(roles):
        numbers = b.transpose(numbers, permutation=(1, 0))
    shape = [1] * len(source.layout)
    for axis, size in zip(sorted(roles), numbers.shape, strict=True):
        shape[axis] = size
    return b.reshape(numbers, new_shape=shape)


def fill_padding(
    b: Builder, source: LayoutTensor, value: float, tensor: Tensor | None = None
) -> Any:
    """Return a value, or a tensor laid out like it, with a number at all padded positions."""
    x = source.tensor if tensor is None else tensor
    return b.where(align_rows(b, is_valid(b, source.mask), source), x, b.constant(value, x.dtype))


def mean_of_valid(b: Builder, source: LayoutTensor, x: Tensor, axes: Sequence[int]) -> Any:
    """Return the mean over axes that include the sequence; they keep size 1."""
    total = b.reduce_sum(fill_padding(b, source, 0, x), axes=axes, keep_dimensions=True)
    sequence = source.position("sequence")
    others = count(x.shape[k] for k in axes if k != sequence)
    size = align_rows(b, lengths(b, source.mask), source) * float(others)
    return total / (size if x.dtype == "float32" else b.cast(size, type=x.dtype))


def combine_masks(b: Builder, sources: Sequence[LayoutTensor], sequence: str | None) -> Any:
    """Return the mask of a position-wise function of values, None if all positions are valid."""
    combined: Any = None
    masks = [x.mask for x in sources if x.mask is not None and x.sequence == sequence]
    for mask in dict.fromkeys(masks):
        combined = mask if combined is None else combined * mask
    return combined
