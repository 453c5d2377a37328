"""Elements picked along sequences whose rows have different lengths."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from webnnm.notation.syntax import Percent
from webnnm.ops.declare.layer import BuildView
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.padded_sequences import gather_positions, map_lengths, resize_mask
from webnnm.ops.declare.padding import column, every, lengths
from webnnm.ops.declare.tensors import Builder, Tensor


def share(size: int, position: Any) -> int:
    """Return the number of elements that a percentage keeps."""
    return max(1, int(size * position.value // 100)) if isinstance(position, Percent) else size


def at_valid_position(
    b: Builder, layer: BuildView, flow: LayoutTensor, position: Any, like: LayoutTensor | None
) -> LayoutTensor:
    """Pick along a sequence whose rows differ in length, or take the lengths of another one."""
    n, rule = flow.size("sequence"), partial(share, position=position)
    if isinstance(position, int):
        if not layer.options["keep_dimensions"]:
            return from_the_end(b, flow, [position], ())
        reached = position if position >= 0 else -position - 1
        mask = resize_mask(b, flow.mask, lambda size: int(size > reached), 1)
        found = gather_positions(b, flow, _row_positions(b, flow, [position]))
        return LayoutTensor(found, flow.layout, flow.sequence, mask)
    if like is None:
        size = rule(n)
        wanted, mask = (
            map_lengths(b, flow.mask, rule, "int32"),
            resize_mask(b, flow.mask, rule, size),
        )
    else:
        size, wanted = like.size("sequence"), _amounts(b, like)
        mask = every(b, flow.mask.shape[0], size) if like.mask is None else like.mask
    whole, wanted = (column(b, numbers) for numbers in (_amounts(b, flow), wanted))
    steps = b.constant(range(size), "int32", (1, size)) * whole / wanted
    return LayoutTensor(
        gather_positions(b, flow, b.min(steps, whole - 1)), flow.layout, flow.sequence, mask
    )


def _amounts(b: Builder, value: LayoutTensor) -> Any:
    """Return the lengths of all rows, int32; without a mask, one length for all."""
    if value.mask is None:
        return b.constant([value.size("sequence")], "int32")
    return lengths(b, value.mask, "int32")


def _row_positions(b: Builder, flow: LayoutTensor, positions: Sequence[int]) -> Any:
    """Return int32 indices `[batch, k]` for positions; negatives count from the last valid one."""
    fixed, back = (
        b.constant(numbers, "int32", (1, len(positions)))
        for numbers in (list(positions), [int(place < 0) for place in positions])
    )
    found = fixed + column(b, lengths(b, flow.mask, "int32")) * back
    return b.max(found, b.constant(0, "int32"))


def from_the_end(
    b: Builder, flow: LayoutTensor, positions: Sequence[int], sizes: Sequence[int]
) -> LayoutTensor:
    """Replace the sequence with features: positions of each row, in a tensor of some shape."""
    found = gather_positions(b, flow, _row_positions(b, flow, positions))
    batch, _, *features = found.shape
    tensor = b.reshape(found, new_shape=(batch, *sizes, *features))
    return LayoutTensor(tensor, ("batch", *range(tensor.rank - 1)))


def within_rows(b: Builder, indices: LayoutTensor, mask: Tensor) -> LayoutTensor:
    """Return index tensors as positions of rows: negatives count from the last valid, clamped."""
    x, dtype = indices.tensor, indices.tensor.dtype
    if "batch" not in indices.layout:
        x = b.reshape(x, new_shape=(1, *x.shape))
    amounts = b.reshape(lengths(b, mask, dtype), new_shape=(-1, *(1,) * (x.rank - 1)))
    x = b.where(b.lesser(x, b.constant(0, dtype)), x + amounts, x)
    x = b.max(b.min(x, amounts - 1), b.constant(0, dtype))
    layout = indices.layout if "batch" in indices.layout else ("batch", *indices.layout)
    return LayoutTensor(x, layout, indices.sequence)
