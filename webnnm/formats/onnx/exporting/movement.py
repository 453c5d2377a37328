"""Entries of operators that move elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from webnnm.formats.onnx.exporting.emitter import Emitter, Type
from webnnm.formats.onnx.exporting.entry import Entry
from webnnm.formats.onnx.exporting.values import Value
from webnnm.formats.sizes import Dim, Dims

END = 2**63 - 1
"""The end of an axis, whatever its size."""
MODES = {"constant": "constant", "edge": "edge", "reflection": "reflect"}


def _concat(h: Emitter, *parts: Value, axis: int) -> Value:
    return h.one("Concat", parts, axis=axis)


def _slice(h: Emitter, x: Value, *, starts: Dims, sizes: Dims, strides: Sequence[int]) -> Value:
    cut = [
        axis
        for axis, (size, length, stride) in enumerate(zip(x.shape, sizes, strides, strict=True))
        if length != size or stride != 1
    ]
    if not cut:
        return h.one("Identity", [x])
    ends: list[Dim] = [starts[axis] + sizes[axis] for axis in cut]
    ends = [END if end == x.shape[axis] else end for axis, end in zip(cut, ends, strict=True)]
    steps = h.integers([strides[axis] for axis in cut])
    box = [h.sizes([starts[axis] for axis in cut]), h.sizes(ends), h.integers(cut), steps]
    return h.one("Slice", [x, *box])


def _reverse(h: Emitter, x: Value, *, axes: Sequence[int]) -> Value:
    if not axes:
        return h.one("Identity", [x])
    back = h.integers([-1] * len(axes))
    return h.one("Slice", [x, back, h.integers([-END] * len(axes)), h.integers(axes), back])


def _split(h: Emitter, x: Value, *, splits: Dim | Dims, axis: int) -> tuple[Value, ...]:
    if not isinstance(splits, tuple):
        size = x.shape[axis]
        assert isinstance(splits, int)
        splits = (size // splits,) * splits
    types: list[Type] = [
        (x.dtype, (*x.shape[:axis], part, *x.shape[axis + 1 :])) for part in splits
    ]
    return h.several("Split", [x, h.sizes(splits)], types, axis=axis)


def _pad(
    h: Emitter,
    x: Value,
    *,
    beginning_padding: Dims,
    ending_padding: Dims,
    mode: str,
    value: float,
) -> Value:
    if not x.rank:
        return h.one("Identity", [x])
    operands = [x, h.sizes((*beginning_padding, *ending_padding))]
    if mode == "constant":
        operands.append(h.like(value, x))
    return h.one("Pad", operands, mode=MODES[mode])


def _triangular(h: Emitter, x: Value, *, upper: bool, diagonal: int) -> Value:
    return h.one("Trilu", [x, h.number(diagonal, "int64")], upper=int(upper))


def _expand(h: Emitter, x: Value, **_: object) -> Value:
    return h.expand(x, h.shape)


def _reshape(h: Emitter, x: Value, **_: object) -> Value:
    return h.reshape(x, h.shape)


def _tile(h: Emitter, x: Value, *, repetitions: Dims) -> Value:
    if not repetitions:  # ONNX Runtime 1.23 tiles no scalars
        return h.one("Identity", [x])
    return h.one("Tile", [x, h.sizes(repetitions)])


def _transpose(h: Emitter, x: Value, *, permutation: Sequence[int]) -> Value:
    return h.transpose(x, permutation)


ENTRIES: Mapping[str, Entry] = {
    "concat": Entry(_concat),
    "expand": Entry(_expand),
    "pad": Entry(_pad),
    "reshape": Entry(_reshape),
    "reverse": Entry(_reverse),
    "slice": Entry(_slice),
    "split": Entry(_split),
    "tile": Entry(_tile),
    "transpose": Entry(_transpose),
    "triangular": Entry(_triangular),
}
