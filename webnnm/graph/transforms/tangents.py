"""Forward-mode differentiation: how results change as what they depend on changes."""

from __future__ import annotations

from collections.abc import Sequence

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import is_float
from webnnm.core.errors import DataError
from webnnm.graph.node import ConstantNode, Operand
from webnnm.graph.transforms.autodiff import pullback
from webnnm.ops.declare.tensors import TensorType


def tangents(ys: Sequence[Operand], xs: Sequence[Operand], vs: Sequence[Operand]) -> list[Operand]:
    """Return the tangents of `ys` as each of `xs` moves along its `vs`: Jacobian-vector products.

    >>> from webnnm import GraphBuilder
    >>> from webnnm.backends.reference import evaluate
    >>> b = GraphBuilder()
    >>> x, v = b.input("x", "float32", [2]), b.input("v", "float32", [2])
    >>> (dy,) = tangents([x * x], [x], [v])
    >>> evaluate(b.build({"dy": dy}), {"x": [1, 3], "v": [10, 1]})["dy"].tolist()
    [20.0, 6.0]

    Results that depend on no x have tangent zero. The tangents can be differentiated again.

    Raises `DataError` NNM702 if there are not as many `vs` as `xs`, or if one has another type or
    shape than its x, and NNM501 if a y or an x is not a float tensor.
    """
    if len(xs) != len(vs):
        raise DataError("NNM702", f"{len(vs)} tangents for {len(xs)} tensors")
    for x, v in zip(xs, vs, strict=True):
        if x.type != v.type:
            raise DataError("NNM702", f"the tangent is {v.type}, but the tensor {x.type}")
    for tensor in (*ys, *xs):
        if not is_float(tensor.dtype):
            raise DataError("NNM501", f"{tensor.dtype} tensors have no tangent")
    zero = [y.builder.constant(0, y.dtype) for y in ys]
    return [
        y.builder.expand(nothing, new_shape=y.shape) if tangent is None else tangent
        for y, nothing, tangent in zip(ys, zero, _forward(ys, xs, vs), strict=True)
    ]


def _forward(
    ys: Sequence[Operand], xs: Sequence[Operand], vs: Sequence[Operand]
) -> Sequence[Operand | None]:
    """Return the tangents, None if no differentiable path leads to a result.

    The gradients of `xs` are a linear map of those of `ys`, g ↦ Jᵀ·g. The gradient of this map with
    respect to g is J·v, whatever g is.
    """
    gs = [_any_gradient(y) for y in ys]
    pulled = pullback(list(zip(ys, gs, strict=True)), xs) if ys else []
    seeds = [(back, v) for back, v in zip(pulled, vs, strict=False) if back is not None]
    return pullback(seeds, gs) if seeds else [None] * len(ys)


def _any_gradient(y: Operand) -> Operand:
    """Return zeros of the type of `y` that share no node with other zeros."""
    builder, number = y.builder, len(y.builder.nodes)
    types, zero = (TensorType(y.dtype, ()),), HostArray.of(0, y.dtype)
    node = ConstantNode(number, types, "", None, zero, b"gradient %d" % number)
    return builder.expand(builder.adopt(node)[0], new_shape=y.shape)
