"""Indices: brought into range, made linear, turned into one-hot form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webnnm.core.dtypes import SIGNED, DataType
from webnnm.core.shapes import Shape, count, strides_of
from webnnm.ops.declare.constants import constant_values
from webnnm.ops.declare.tensors import Builder, Tensor

INDEX_TYPES: frozenset[DataType] = frozenset({"int32", "uint32", "int64"})


def wrap_indices(b: Builder, indices: Tensor, n: int) -> Tensor:
    """Return indices with negative ones counted from the end, all clamped to 0 … n−1."""
    last = b.constant(n - 1, indices.dtype)
    if indices.dtype not in SIGNED:
        return b.min(indices, last)
    zero = b.constant(0, indices.dtype)
    inside = b.where(b.lesser(indices, zero), indices + n, indices)
    return b.min(b.max(inside, zero), last)


def wrap_to_int32(b: Builder, indices: Tensor, n: int) -> Tensor:
    """Return indices as `wrap_indices` does, as int32."""
    # Clamped in their own type: a cast could bring a large index back into range.
    return b.cast(wrap_indices(b, indices, n), type="int32")


def wrap_array(np: Any, indices: Any, n: int) -> Any:
    """Return an array of indices as `wrap_indices` does, for kernels."""
    wide = np.astype(indices, np.int64)
    return np.clip(np.where(wide < 0, wide + n, wide), 0, n - 1)


def constant_positions(indices: Tensor, sizes: Sequence[int]) -> list[int] | None:
    """Return where constant coordinates point to in a box of these sizes, None if they vary.

    The last dimension of the indices holds the coordinates; with one size, indices have none.
    """
    values = constant_values(indices)
    if values is None:
        return None
    steps = strides_of(sizes)
    k = len(sizes)
    return [
        sum(
            min(max(i + n if i < 0 else i, 0), n - 1) * step
            for i, n, step in zip(values[first : first + k], sizes, steps, strict=True)
        )
        for first in range(0, len(values), k)
    ]


def positions(b: Builder, indices: Tensor, sizes: Sequence[int]) -> Tensor:
    """Return where coordinates point to in a box of these sizes, counted in row-major order.

    `[…, k]` coordinates give an int32 tensor `[…]`.
    """
    box = indices.shape[:-1]
    total: Tensor | None = None
    for axis, (size, step) in enumerate(zip(sizes, strides_of(sizes), strict=True)):
        starts = (*(0,) * len(box), axis)
        column = b.slice(indices, starts=starts, sizes=(*box, 1))
        part = wrap_to_int32(b, column, size)
        part = part if step == 1 else part * step
        total = part if total is None else total + part
    return b.reshape(total, new_shape=box)


def constant_elements(indices: Tensor, shape: Shape, axis: int) -> list[int] | None:
    """Return which elements of a tensor constant indices along an axis point to."""
    values = constant_values(indices)
    if values is None:
        return None
    lengths = indices.shape[axis:]
    behind, n = count(lengths[1:]), shape[axis]
    # An index tensor is as long as the tensor in all axes but one, so that lines correspond.
    lines = [number // count(lengths) * behind + number % behind for number in range(len(values))]
    picked = [min(max(i + n if i < 0 else i, 0), n - 1) for i in values]
    return [line * n + i for line, i in zip(lines, picked, strict=True)]


def distinct(positions: Sequence[int] | None) -> bool:
    """Return whether places are known and none occurs twice."""
    return positions is not None and len(set(positions)) == len(positions)


def flatten_around(b: Builder, x: Tensor, axis: int) -> Tensor:
    """Return `x` as `[before, n, behind]`: the dimensions before an axis, it, those after it."""
    shape = (count(x.shape[:axis]), x.shape[axis], count(x.shape[axis + 1 :]))
    return b.reshape(x, new_shape=shape)


def one_hot(b: Builder, indices: Tensor, n: int) -> Tensor:
    """Return indices `[before, m, behind]` as one-hot vectors of n: `[before, n, m, behind]`."""
    before, m, behind = indices.shape
    column = b.reshape(wrap_to_int32(b, indices, n), new_shape=(before, 1, m, behind))
    return b.equal(column, b.constant(range(n), "int32", (1, n, 1, 1)))
