"""Entries of operators that combine elements along axes, and of matrix products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webnnm.core.dtypes import DataType
from webnnm.formats.onnx.exporting.elementwise import same
from webnnm.formats.onnx.exporting.emitter import Emitter
from webnnm.formats.onnx.exporting.entry import Entry, Write
from webnnm.formats.onnx.exporting.values import Value

LOWEST = -(2**63)


def _reduce(operator: str) -> Write:
    def write(h: Emitter, x: Value, *, axes: Sequence[int], keep_dimensions: bool) -> Value:
        keep = int(keep_dimensions)
        if not axes and x.rank:  # ONNX takes no axes to mean all of them
            x, axes, keep = h.reshape(x, (*x.shape, 1)), [x.rank], 0
        return h.one(operator, [x, *([h.integers(axes)] if axes else [])], keepdims=keep)

    return write


def _to_ordered_int64(h: Emitter, x: Value) -> Value:
    """Return uint64 as int64 in the same order: ONNX Runtime has no extrema of uint64."""
    return h.one("Add", [h.cast(x, "int64"), h.number(LOWEST, "int64")], "int64", x.shape)


def _extreme(operator: str) -> Write:
    reduce = _reduce(operator)

    def write(h: Emitter, x: Value, *, axes: Sequence[int], keep_dimensions: bool) -> Value:
        options = {"axes": axes, "keep_dimensions": keep_dimensions}
        if x.dtype != "uint64":
            return reduce(h, x, **options)
        h.dtype = "int64"
        extreme = reduce(h, _to_ordered_int64(h, x), **options)
        return h.cast(h.one("Sub", [extreme, h.number(LOWEST, "int64")]), "uint64")

    return write


def _arg_extreme(operator: str) -> Write:
    def write(
        h: Emitter, x: Value, *, axis: int, keep_dimensions: bool, output_data_type: DataType
    ) -> Value:
        ordered = _to_ordered_int64(h, x) if x.dtype == "uint64" else x
        index = h.one(operator, [ordered], "int64", axis=axis, keepdims=int(keep_dimensions))
        return h.cast(index, output_data_type)

    return write


def _cumulative_sum(h: Emitter, x: Value, *, axis: int, exclusive: bool, reversed: bool) -> Value:
    flags: dict[str, Any] = {"exclusive": int(exclusive), "reverse": int(reversed)}
    return h.one("CumSum", [x, h.number(axis, "int64")], **flags)


def _gemm(
    h: Emitter,
    a: Value,
    b: Value,
    c: Value | None,
    *,
    alpha: float,
    beta: float,
    a_transpose: bool,
    b_transpose: bool,
) -> Value:
    operands = [a, b] if c is None else [a, b, c]
    sides: dict[str, Any] = {"transA": int(a_transpose), "transB": int(b_transpose)}
    return h.one("Gemm", operands, alpha=float(alpha), beta=float(beta), **sides)


def _along(operator: str) -> Write:
    def write(h: Emitter, x: Value, *, axis: int) -> Value:
        return h.one(operator, [x], axis=axis)

    return write


ENTRIES: Mapping[str, Entry] = {
    "argMax": Entry(_arg_extreme("ArgMax")),
    "argMin": Entry(_arg_extreme("ArgMin")),
    "cumulativeSum": Entry(_cumulative_sum),
    "gemm": Entry(_gemm),
    "logSoftmax": Entry(_along("LogSoftmax")),
    "matmul": Entry(same("MatMul")),
    "reduceL2": Entry(_reduce("ReduceL2")),
    "reduceLogSum": Entry(_reduce("ReduceLogSum")),
    "reduceLogSumExp": Entry(_reduce("ReduceLogSumExp")),
    "reduceMax": Entry(_extreme("ReduceMax")),
    "reduceMean": Entry(_reduce("ReduceMean")),
    "reduceMin": Entry(_extreme("ReduceMin")),
    "reduceProduct": Entry(_reduce("ReduceProd")),
    "reduceSum": Entry(_reduce("ReduceSum")),
    "reduceSumSquare": Entry(_reduce("ReduceSumSquare")),
    "softmax": Entry(_along("Softmax")),
}
