"""Tensors cut and padded along one axis."""

from __future__ import annotations

from webnnm.ops.declare.tensors import Builder, Tensor


def slice_axis(b: Builder, x: Tensor, axis: int, start: int, size: int) -> Tensor:
    """Return `size` elements along an axis, from `start` on."""
    if (start, size) == (0, x.shape[axis]):
        return x
    starts = tuple(start if k == axis else 0 for k in range(x.rank))
    sizes = (*x.shape[:axis], size, *x.shape[axis + 1 :])
    return b.slice(x, starts=starts, sizes=sizes)


def pad_axis(b: Builder, x: Tensor, axis: int, before: int, after: int) -> Tensor:
    """Return `x` with zeros before and after it along an axis."""
    if not before and not after:
        return x
    beginning, ending = ([n if k == axis else 0 for k in range(x.rank)] for n in (before, after))
    return b.pad(x, beginning_padding=beginning, ending_padding=ending)
