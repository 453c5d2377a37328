"""Padded sequences whose positions are reordered, or whose length changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from webnnm.core.dtypes import DataType, is_float
from webnnm.core.shapes import count
from webnnm.ops.declare.along import pad_axis
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.padding import align_rows, all_valid, as_column, is_below, is_valid, lengths
from webnnm.ops.declare.tensors import Builder, Tensor


def map_lengths(
    b: Builder, mask: Tensor, rule: Callable[[int], int], dtype: DataType = "float32"
) -> Any:
    """Return the result of a rule for the number of valid positions of each row, `[batch]`."""
    table = b.constant([rule(n) for n in range(mask.shape[1] + 1)], dtype)
    return b.gather(table, b.cast(b.reduce_sum(mask, axes=[1]), type="int32"), axis=0)


def resize_mask(b: Builder, mask: Tensor, rule: Callable[[int], int], length: int) -> Any:
    """Return the mask of a sequence of another length, of which `rule(n)` positions are valid.

    `n` is the number of valid positions from 1 on; rows without any stay empty.
    """
    old = mask.shape[1]
    if length == old and all(rule(n) == n for n in range(1, old + 1)):
        return mask
    numbers = map_lengths(b, mask, lambda n: min(max(rule(n), 0), length) if n else 0)
    return b.cast(is_below(b, numbers, length), type="float32")


def gather_positions(b: Builder, value: LayoutTensor, indices: Tensor) -> Any:
    """Return positions of each row, `[batch, k, features…]`, for int32 indices `[batch, k]`."""
    x = value.canonical().tensor
    _, n, *features = x.shape
    rows, k = indices.shape
    if x.shape[0] != rows:
        x = b.expand(x, new_shape=(rows, n, *features))
    shape = (rows, k, *features)
    if is_float(x.dtype):
        # A product with one-hot rows: its gradient is a product, too, and not a scatter-add.
        cells = b.reshape(indices, new_shape=(rows, k, 1))
        one_hot = b.cast(b.equal(cells, b.constant(range(n), "int32", (1, 1, n))), type=x.dtype)
        gathered = b.matmul(one_hot, b.reshape(x, new_shape=(rows, n, count(features))))
        return b.reshape(gathered, new_shape=shape)
    starts = b.constant(range(0, rows * n, n), "int32", (rows, 1))
    flat = b.reshape(x, new_shape=(rows * n, *features))
    return b.gather(flat, indices + starts, axis=0)


def reverse_rows(b: Builder, value: LayoutTensor) -> LayoutTensor:
    """Return a value with the valid positions of each row in reverse order."""
    n = value.size("sequence")
    positions = b.constant(range(n), "int32", (1, n))
    last = as_column(b, lengths(b, value.mask, "int32")) - 1
    indices = b.where(is_valid(b, value.mask), last - positions, positions)
    return _in_layout_of(value, gather_positions(b, value, indices))


def join_sequences(b: Builder, parts: Sequence[LayoutTensor], joined: LayoutTensor) -> LayoutTensor:
    """Return parts that were joined along the sequence, with all padding after the last one.

    `joined` is canonical, and has the parts one after the other with their padding.
    """
    rows = joined.size("batch")
    masks = [
        all_valid(b, rows, part.size("sequence")) if part.mask is None else part.mask
        for part in parts
    ]
    mask = b.concat(masks, axis=1)
    if all(part.mask is None for part in parts[:-1]):
        return LayoutTensor(joined.tensor, joined.layout, joined.sequence, mask)
    n = mask.shape[1]
    positions = b.constant(range(n), "float32", (1, n))
    end, indices = b.constant([0], "float32", (1, 1)), positions
    for part in masks[:-1]:
        # Everything after a part moves up by the padding of that part.
        length = b.reduce_sum(part, axes=[1], keep_dimensions=True)
        end = end + length
        is_behind = b.cast(b.greater_or_equal(positions, end), type="float32")
        indices = indices + is_behind * (float(part.shape[1]) - length)
    indices = b.cast(b.min(indices, b.constant(n - 1, "float32")), type="int32")
    total = b.reduce_sum(mask, axes=[1])
    mask = b.cast(is_below(b, total, n), type="float32")
    return LayoutTensor(gather_positions(b, joined, indices), joined.layout, joined.sequence, mask)


def pad_front(
    b: Builder, value: LayoutTensor, x: Tensor, axis: int, front: Callable[[int], int]
) -> Any:
    """Return `x` with zeros before it along an axis, as many per row as a rule returns.

    The rule is a function of the number of valid positions. All rows grow by its maximum.
    """
    amounts = [front(n) for n in range(1, value.size("sequence") + 1)]
    longest = max(amounts)
    amounts_of_rows = align_rows(
        b, map_lengths(b, value.mask, lambda n: front(n) if n else longest), value
    )
    result: Any = None
    for amount in sorted(set(amounts)):
        shifted = pad_axis(b, x, axis, amount, longest - amount)
        is_amount = b.equal(amounts_of_rows, b.constant(amount, "float32"))
        result = shifted if result is None else b.where(is_amount, shifted, result)
    return result


def _in_layout_of(value: LayoutTensor, tensor: Tensor) -> LayoutTensor:
    """Return a result that was computed on a canonical tensor in the layout of the value."""
    canonical = value.canonical()
    return LayoutTensor(tensor, canonical.layout, value.sequence, value.mask).reorder(value.layout)
