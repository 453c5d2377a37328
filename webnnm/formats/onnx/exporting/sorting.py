"""Entries of operators that sort elements: all of them use TopK."""

from __future__ import annotations

import math
from collections.abc import Mapping

from webnnm.core.dtypes import FLOAT_INFO
from webnnm.formats.onnx.exporting.emitter import Emitter
from webnnm.formats.onnx.exporting.entry import Entry
from webnnm.formats.onnx.exporting.values import Value
from webnnm.formats.sizes import Dim, Dims
from webnnm.graph.node import OperatorNode


def _top(h: Emitter, x: Value, size: Dim, axis: int, largest: bool) -> tuple[Value, Value]:
    """Return elements in order, the first of equal ones first, and their indices."""
    shape: Dims = (*x.shape[:axis], size, *x.shape[axis + 1 :])
    values, places = h.several(
        "TopK",
        [x, h.size(size)],
        [(x.dtype, shape), ("int64", shape)],
        axis=axis,
        largest=int(largest),
    )
    return values, places


def _take(h: Emitter, x: Value, indices: Value, axis: int) -> Value:
    return h.one("GatherElements", [x, indices], x.dtype, indices.shape, axis=axis)


def _order(h: Emitter, x: Value, axis: int, descending: bool) -> Value:
    """Return the indices that sort the elements; NaN comes last, which TopK does not ensure."""
    size = x.shape[axis]
    if x.dtype not in FLOAT_INFO:
        wide = x if x.dtype in ("int32", "int64") else h.cast(x, "int64")
        return _top(h, wide, size, axis, descending)[1]
    is_nan = h.one("IsNaN", [x], "bool", x.shape)
    last = h.like(-math.inf if descending else math.inf, x)
    comparable = h.one("Where", [is_nan, last, x], x.dtype, x.shape)
    indices = _top(h, comparable, size, axis, descending)[1]
    nan_sorted = _take(h, h.cast(is_nan, "int32"), indices, axis)
    return _take(h, indices, _top(h, nan_sorted, size, axis, False)[1], axis)


def _sort(h: Emitter, x: Value, *, axis: int, descending: bool) -> Value:
    return _take(h, x, _order(h, x, axis, descending), axis)


def _argsort(h: Emitter, x: Value, *, axis: int, descending: bool) -> Value:
    return h.cast(_order(h, x, axis, descending), "int32")


def _is_ordered(node: OperatorNode) -> bool:
    """ONNX Runtime cannot sort uint64."""
    x = node.operands[0]
    return x is not None and x.dtype != "uint64"


ENTRIES: Mapping[str, Entry] = {
    "argsort": Entry(_argsort, _is_ordered),
    "sort": Entry(_sort, _is_ordered),
}
