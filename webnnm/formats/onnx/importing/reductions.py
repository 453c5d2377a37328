"""Reductions along axes, and functions of whole rows."""

from __future__ import annotations

import math
from collections.abc import Callable

from webnnm.core.dtypes import integer_range, is_float
from webnnm.core.shapes import count
from webnnm.formats.onnx.importing.call import Call
from webnnm.formats.onnx.importing.shaping import (
    arange,
    as_type,
    full,
    reshape_to,
    scalar_like,
    wide,
)
from webnnm.formats.onnx.importing.table import imports
from webnnm.graph.node import Operand
from webnnm.ops.reduce import WIDE

_EXACT = {"ReduceMax": "reduce_max", "ReduceMin": "reduce_min", "ReduceSum": "reduce_sum",
          "ReduceProd": "reduce_product", "ReduceSumSquare": "reduce_sum_square",
          "ReduceL1": "reduce_l1"}  # fmt: skip
"""Reductions that are defined for integers, too."""
_FLOAT = {"ReduceMean": "reduce_mean", "ReduceL2": "reduce_l2",
          "ReduceLogSum": "reduce_log_sum", "ReduceLogSumExp": "reduce_log_sum_exp"}  # fmt: skip
_OF_NOTHING = {"ReduceMax": -math.inf, "ReduceMin": math.inf, "ReduceProd": 1.0,
               "ReduceLogSum": -math.inf, "ReduceLogSumExp": -math.inf}  # fmt: skip
"""The result of a reduction of no elements, if it is not 0."""


def _reduction(name: str, method: str) -> Callable[..., Operand]:
    def entry(c: Call, x: Operand, axes: Operand | None = None) -> Operand:
        # ONNX Runtime takes axes that occur twice, so there are models that have them.
        chosen = sorted(
            {c.axis(axis, x.rank) for axis in c.integers_or_attribute(axes, "axes", ())}
        )
        if not chosen and c.flag("noop_with_empty_axes"):
            return _reduce_no_axes(c, name, x)
        chosen, keep = chosen or [*range(x.rank)], c.flag("keepdims", 1)
        if not count(x.shape):
            return _reduce_empty(c, name, x, chosen, keep)
        rule = getattr(c.b, method)

        def reduce(x: Operand) -> Operand:
            return rule(x, axes=chosen, keep_dimensions=keep)

        if name in _FLOAT:
            return wide(c, x, reduce)
        if name in ("ReduceMax", "ReduceMin") or is_float(x.dtype) or x.dtype in WIDE:
            return reduce(x)
        return as_type(c, reduce(as_type(c, x, "int32")), x.dtype)

    entry.__doc__ = f"The builder's `{method}`; an integer for integers."
    return entry


def _reduce_no_axes(c: Call, name: str, x: Operand) -> Operand:
    """Return a reduction along no axes, which applies to each element."""
    b = c.b
    if name == "ReduceSumSquare":
        return x * x
    if name in ("ReduceL1", "ReduceL2"):
        return x if x.dtype[0] == "u" else b.abs(x)
    return b.log(x) if name == "ReduceLogSum" else b.identity(x)


def _reduce_empty(c: Call, name: str, x: Operand, axes: list[int], keep: bool) -> Operand:
    value = _OF_NOTHING.get(name, 0.0)
    if name == "ReduceMean":
        value = math.nan
    if not is_float(x.dtype) and not math.isfinite(value):
        value = integer_range(x.dtype)[value > 0]
    shape = [1 if k in axes else n for k, n in enumerate(x.shape) if keep or k not in axes]
    return full(c, value, x.dtype, shape)


for _name, _method in (_EXACT | _FLOAT).items():
    imports(_name)(_reduction(_name, _method))


def _extremum(method: str) -> Callable[[Call, Operand], Operand]:
    def entry(c: Call, x: Operand) -> Operand:
        return getattr(c.b, method)(
            x,
            axis=c.axis(c.integer("axis", 0), x.rank),
            keep_dimensions=c.flag("keepdims", 1),
            select_last_index=c.flag("select_last_index"),
            output_data_type="int64",
        )

    entry.__doc__ = f"The builder's `{method}`."
    return entry


imports("ArgMax")(_extremum("arg_max"))
imports("ArgMin")(_extremum("arg_min"))


@imports("CumSum")
def cumulative_sum(c: Call, x: Operand, axis: Operand) -> Operand:
    """Cumulative sums along an axis."""
    along = c.axis(c.require_scalar(axis, "axis"), x.rank)
    return c.b.cumulative_sum(
        x, axis=along, exclusive=c.flag("exclusive"), reversed=c.flag("reverse")
    )


@imports("CumProd")
def cumulative_product(c: Call, x: Operand, axis: Operand) -> Operand:
    """Cumulative products along an axis, by doubling: log₂ n products of whole tensors."""
    along = c.axis(c.require_scalar(axis, "axis"), x.rank)
    size = x.shape[along]
    products = c.b.reverse(x, axes=[along]) if c.flag("reverse") else x
    step = 1
    if c.flag("exclusive"):
        products = _shift_right(c, products, along, 1)
    while step < size:
        products = products * _shift_right(c, products, along, step)
        step *= 2
    return c.b.reverse(products, axes=[along]) if c.flag("reverse") else products


def _shift_right(c: Call, x: Operand, axis: int, step: int) -> Operand:
    """Return the tensor shifted to the right, with ones in front."""
    before = [step if k == axis else 0 for k in range(x.rank)]
    padded = c.b.pad(x, beginning_padding=before, ending_padding=[0] * x.rank, value=1)
    return c.b.slice(padded, starts=[0] * x.rank, sizes=x.shape)


# Rows as probabilities.


def _rows(
    c: Call, x: Operand, rule: Callable[[Operand, int], Operand], opset: int | None = None
) -> Operand:
    """Apply a rule along an axis; before opset 13, to all dimensions from it onwards, flattened."""
    if (opset or c.opset) >= 13:
        return rule(x, c.axis(c.integer("axis", -1), x.rank))
    axis = c.axis(c.integer("axis", 1), x.rank) if x.rank > 1 else 0
    flat = reshape_to(c, x, (count(x.shape[:axis]), count(x.shape[axis:])))
    return reshape_to(c, rule(flat, 1), x.shape)


@imports("Softmax")
def softmax(c: Call, x: Operand) -> Operand:
    """eˣ/Σeˣ."""
    return softmax_of(c, x, c.opset)


def softmax_of(c: Call, x: Operand, opset: int) -> Operand:
    """Return the softmax as an opset defines it."""
    return _rows(c, x, lambda x, axis: c.b.softmax(x, axis=axis), opset)


@imports("LogSoftmax")
def log_softmax(c: Call, x: Operand) -> Operand:
    """x − log Σeˣ."""
    return _rows(c, x, lambda x, axis: c.b.log_softmax(x, axis=axis))


@imports("Hardmax")
def hardmax(c: Call, x: Operand) -> Operand:
    """1 at the first largest element, 0 elsewhere."""

    def rule(x: Operand, axis: int) -> Operand:
        largest = c.b.arg_max(x, axis=axis, keep_dimensions=True)
        row = arange(c, x.shape[axis])
        row = c.b.reshape(row, new_shape=[-1, *(1,) * (x.rank - axis - 1)])
        return as_type(c, c.b.equal(row, largest), x.dtype)

    return _rows(c, x, rule)


@imports("LpNormalization")
def lp_normalization(c: Call, x: Operand) -> Operand:
    """x divided by its norm along an axis; 0 where that is 0."""
    axes = [c.axis(c.integer("axis", -1), x.rank)]
    method = c.b.reduce_l1 if c.integer("p", 2) == 1 else c.b.reduce_l2
    norm = method(x, axes=axes, keep_dimensions=True)
    zero = scalar_like(c, 0, x)
    return c.b.where(c.b.equal(norm, zero), zero, x / norm)


@imports("TopK")
def top_k(c: Call, x: Operand, k: Operand | None = None) -> tuple[Operand, Operand]:
    """The k largest elements along an axis and their indices, the largest first."""
    axis = c.axis(c.integer("axis", -1), x.rank)
    amount = c.integer("k") if k is None else int(c.require_scalar(k, "k"))
    size = x.shape[axis]
    if not 0 <= amount <= size:
        raise c.invalid(f"the {amount} largest of {size} elements")
    if not amount or not count(x.shape):
        shape = [amount if k_axis == axis else n for k_axis, n in enumerate(x.shape)]
        return c.empty(x.dtype, shape), c.empty("int64", shape)
    values, indices = c.b.top_k(x, k=amount, axis=axis, largest=c.flag("largest", 1))
    return values, as_type(c, indices, "int64")
