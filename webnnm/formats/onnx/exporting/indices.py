"""Entries of operators with indices, which are clamped; negative ones count from the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from webnnm.formats.onnx.exporting.emitter import Emitter
from webnnm.formats.onnx.exporting.entry import Entry
from webnnm.formats.onnx.exporting.values import Value
from webnnm.formats.sizes import Dim


def _inside(h: Emitter, indices: Value, size: Dim) -> Value:
    """Return indices clamped to −size … size − 1, which ONNX interprets as WebNN does."""
    indices = _to_signed(h, indices)
    if indices.array is not None and isinstance(size, int):
        values = [int(index) for index in indices.array.values()]
        if all(-size <= index < size for index in values):
            return indices
    low, high = h.like(-size, indices), h.like(size - 1, indices)
    return h.one("Clip", [indices, low, high], indices.dtype, indices.shape)


def _coordinates(h: Emitter, indices: Value, sizes: Sequence[Dim]) -> Value:
    """Return coordinates, the last dimension of the indices, clamped to a box of these sizes."""
    wide = h.cast(indices, "int64")
    low, high = h.sizes([-size for size in sizes]), h.sizes([size - 1 for size in sizes])
    above = h.one("Max", [wide, low], "int64", indices.shape)
    return h.one("Min", [above, high], "int64", indices.shape)


def _to_signed(h: Emitter, indices: Value) -> Value:
    return h.cast(indices, "int64") if indices.dtype == "uint32" else indices


def _gather(h: Emitter, x: Value, indices: Value, *, axis: int) -> Value:
    return h.one("Gather", [x, _inside(h, indices, x.shape[axis])], axis=axis)


def _gather_elements(h: Emitter, x: Value, indices: Value, *, axis: int) -> Value:
    return h.one("GatherElements", [x, _inside(h, indices, x.shape[axis])], axis=axis)


def _gather_nd(h: Emitter, x: Value, indices: Value) -> Value:
    depth = indices.shape[-1]
    assert isinstance(depth, int)
    return h.one("GatherND", [x, _coordinates(h, indices, x.shape[:depth])])


def _scatter_elements(h: Emitter, x: Value, indices: Value, updates: Value, *, axis: int) -> Value:
    places = _inside(h, indices, x.shape[axis])
    return h.one("ScatterElements", [x, places, updates], axis=axis)


def _scatter_nd(h: Emitter, x: Value, indices: Value, updates: Value) -> Value:
    depth = indices.shape[-1]
    assert isinstance(depth, int)
    return h.one("ScatterND", [x, _coordinates(h, indices, x.shape[:depth]), updates])


ENTRIES: Mapping[str, Entry] = {
    "gather": Entry(_gather),
    "gatherElements": Entry(_gather_elements),
    "gatherND": Entry(_gather_nd),
    "scatterElements": Entry(_scatter_elements),
    "scatterND": Entry(_scatter_nd),
}
