"""Elements picked along sequences whose rows have different lengths."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from webnnm.notation.syntax import Percent
from webnnm.ops.declare.layer import BuildView
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.padded_sequences import gather_positions, map_lengths, resize_mask
from webnnm.ops.declare.padding import all_valid, as_column, lengths
from webnnm.ops.declare.tensors import Builder, Tensor


def share(size: int, position: Any) -> int:
    """Return the number of elements that a percentage keeps."""
    return max(1, int(size * position.value // 100)) if isinstance(position, Percent) else size


def at_valid_position(
    b: Builder, layer: BuildView, source: LayoutTensor, position: Any, like: LayoutTensor | None
) -> LayoutTensor:
    """Pick along a sequence whose rows differ in length, or take the lengths of another one."""
    n, rule = source.size("sequence"), partial(share, position=position)
    if isinstance(position, int):
        if not layer.options["keep_dimensions"]:
            return from_the_end(b, source, [position], ())
        reached = position if position >= 0 else -position - 1
        mask = resize_mask(b, source.mask, lambda size: int(size > reached), 1)
        elements = gather_positions(b, source, _row_positions(b, source, [position]))
        return LayoutTensor(elements, source.layout, source.sequence, mask)
    if like is None:
        size = rule(n)
        new_lengths, mask = (
            map_lengths(b, source.mask, rule, "int32"),
            resize_mask(b, source.mask, rule, size),
        )
    else:
        size, new_lengths = like.size("sequence"), _amounts(b, like)
        mask = all_valid(b, source.mask.shape[0], size) if like.mask is None else like.mask
    old_lengths, new_lengths = (
        as_column(b, numbers) for numbers in (_amounts(b, source), new_lengths)
    )
    steps = b.constant(range(size), "int32", (1, size)) * old_lengths / new_lengths
    return LayoutTensor(
        gather_positions(b, source, b.min(steps, old_lengths - 1)),
        source.layout,
        source.sequence,
        mask,
    )


def _amounts(b: Builder, value: LayoutTensor) -> Any:
    """Return the lengths of all rows, int32; without a mask, one length for all."""
    if value.mask is None:
        return b.constant([value.size("sequence")], "int32")
    return lengths(b, value.mask, "int32")


def _row_positions(b: Builder, source: LayoutTensor, positions: Sequence[int]) -> Any:
    """Return int32 indices `[batch, k]` for positions; negatives count from the last valid one."""
    fixed, back = (
        b.constant(numbers, "int32", (1, len(positions)))
        for numbers in (list(positions), [int(position < 0) for position in positions])
    )
    signed = fixed + as_column(b, lengths(b, source.mask, "int32")) * back
    return b.max(signed, b.constant(0, "int32"))


def from_the_end(
    b: Builder, source: LayoutTensor, positions: Sequence[int], sizes: Sequence[int]
) -> LayoutTensor:
    """Replace the sequence with features: positions of each row, in a tensor of some shape."""
    elements = gather_positions(b, source, _row_positions(b, source, positions))
    batch, _, *features = elements.shape
    tensor = b.reshape(elements, new_shape=(batch, *sizes, *features))
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
