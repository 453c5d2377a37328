"""Elements picked along an axis, with separate indices for every line."""

from __future__ import annotations

from typing import Any

from webnnm.core.shapes import show
from webnnm.ops.declare import checks
from webnnm.ops.declare.index_layer import gather_elements_rules
from webnnm.ops.declare.indices import (
    INDEX_TYPES,
    flatten_around,
    one_hot,
    wrap_array,
    wrap_to_int32,
)
from webnnm.ops.declare.operator import Composite, Option, Slot, sample
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor, TensorType


def check_elements(x: TensorType, indices: TensorType, axis: int) -> None:
    """Raise unless the indices have the shape of `x` in all axes but one."""
    same_rank = len(x.shape) == len(indices.shape)
    if not same_rank or any(
        k != axis and n != m for k, (n, m) in enumerate(zip(x.shape, indices.shape, strict=True))
    ):
        raise OperatorError(
            "NNM410",
            f"{show(x.shape)} and indices {show(indices.shape)} differ outside axis {axis}",
        )


def _infer(x: TensorType, indices: TensorType, *, axis: int) -> TensorType:
    check_elements(x, indices, axis)
    return TensorType(x.dtype, indices.shape)


def _decompose(b: Builder, x: Tensor, indices: Tensor, *, axis: int) -> Tensor:
    before, n, behind = flatten_around(b, x, axis).shape
    checks.check_amount(before, f"{before} rows of lines of {n} elements")
    checks.check_amount(behind, f"{behind} columns of lines of {n} elements")
    rows = b.constant([line * n * behind for line in range(before)], "int32", (before, 1, 1))
    columns = b.constant(list(range(behind)), "int32", (1, 1, behind))
    places = rows + columns + wrap_to_int32(b, flatten_around(b, indices, axis), n) * behind
    return b.gather(b.reshape(x, new_shape=(-1,)), b.reshape(places, new_shape=indices.shape))


def _gradient(
    b: Builder, g: Tensor, _y: Tensor, x: Tensor, indices: Tensor, *, axis: int
) -> list[Tensor | None]:
    lines = flatten_around(b, g, axis)
    before, m, behind = lines.shape
    picked = one_hot(b, flatten_around(b, indices, axis), x.shape[axis])
    sent = b.reshape(lines, new_shape=(before, 1, m, behind))
    total = b.reduce_sum(b.where(picked, sent, b.constant(0, g.dtype)), axes=[2])
    return [b.reshape(total, new_shape=x.shape), None]


def _reference(np: Any, x: Any, indices: Any, *, axis: int) -> Any:
    return np.take_along_axis(x, wrap_array(np, indices, x.shape[axis]), axis=axis)


def _stablehlo(h: Any, x: Any, indices: Any, *, axis: int) -> Any:
    return h.take_nd(x, h.along(indices, axis, x.shape[axis]))


gather_elements = Composite(
    name="gatherElements",
    summary="elements picked along an axis, with separate indices for every line",
    operands=(
        Slot(name="input", ranks=(1, None)),
        Slot(name="indices", dtypes=INDEX_TYPES, ranks=(1, None)),
    ),
    options={"axis": Option(0, checks.axis)},
    native="gatherElements",
    infer=_infer,
    decompose=_decompose,
    gradient=_gradient,
    reference=_reference,
    stablehlo=_stablehlo,
    batch="axes",
    layer=gather_elements_rules,
    traits=frozenset({"choosing", "lookup"}),
    samples=(
        sample((4,), (2,), values=(None, [3, -3]), dtypes=("float32", "int32")),
        sample(
            (2, 3, 2),
            (2, 4, 2),
            values=(None, [[[0, 2], [2, 0], [0, 2], [-1, -7]], [[1, 1], [1, 9], [0, 0], [2, 1]]]),
            dtypes=("float32", "int64"),
            axis=1,
        ),
        sample(
            (2, 3), (2, 2), values=(None, [[2, 0], [1, 1]]), dtypes=("float16", "uint32"), axis=-1
        ),
    ),
)
