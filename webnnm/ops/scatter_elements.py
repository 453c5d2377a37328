"""Elements replaced along an axis, with separate indices for every line."""

from __future__ import annotations

from typing import Any

from webnnm.core.shapes import show
from webnnm.ops.declare import checks
from webnnm.ops.declare.algebra import zeros_like
from webnnm.ops.declare.index_layer import scatter_elements_rules
from webnnm.ops.declare.indices import (
    INDEX_TYPES,
    constant_elements,
    distinct,
    flatten_around,
    one_hot,
    wrap_array,
)
from webnnm.ops.declare.operator import Composite, Option, Slot, sample
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor, TensorType
from webnnm.ops.gather_elements import check_elements


def _infer(x: TensorType, indices: TensorType, updates: TensorType, *, axis: int) -> TensorType:
    check_elements(x, indices, axis)
    if updates.shape != indices.shape:
        raise OperatorError(
            "NNM401", f"updates {show(updates.shape)} and indices {show(indices.shape)} differ"
        )
    return x


def _decompose(b: Builder, x: Tensor, indices: Tensor, updates: Tensor, *, axis: int) -> Tensor:
    # The last of several updates wins: each element gathers from itself and its updates.
    n, m = x.shape[axis], indices.shape[axis]
    hit = one_hot(b, flatten_around(b, indices, axis), n)
    order = b.constant(range(1, m + 1), "int32", (1, 1, m, 1))
    last = b.reduce_max(b.where(hit, order, b.constant(0, "int32")), axes=[2])
    own = b.constant(range(n), "int32", (1, n, 1))
    source = b.where(b.equal(last, b.constant(0, "int32")), own, last + (n - 1))
    both = b.concat([x, updates], axis=axis)
    return b.gather_elements(both, b.reshape(source, new_shape=x.shape), axis=axis)


def _gradient(
    b: Builder, g: Tensor, _y: Tensor, x: Tensor, indices: Tensor, updates: Tensor, *, axis: int
) -> list[Tensor | None]:
    dx = b.scatter_elements(g, indices, zeros_like(b, updates), axis=axis)
    du = b.gather_elements(g, indices, axis=axis)
    if not distinct(constant_elements(indices, x.shape, axis)):
        # Numbers scattered in the same way show which updates were not overwritten.
        m = indices.shape[axis]
        column = b.constant(range(m), "int32", (m, *(1,) * (indices.rank - axis - 1)))
        order = b.expand(column, new_shape=indices.shape)
        nothing = b.expand(b.constant(0, "int32"), new_shape=x.shape)
        written = b.scatter_elements(nothing, indices, order, axis=axis)
        wins = b.equal(b.gather_elements(written, indices, axis=axis), order)
        du = b.where(wins, du, b.constant(0, g.dtype))
    return [dx, None, du]


def _reference(np: Any, x: Any, indices: Any, updates: Any, *, axis: int) -> Any:
    # All other coordinates of an element are its own.
    sizes = indices.shape
    columns = [
        np.reshape(np.arange(n), (n, *(1,) * (len(sizes) - k - 1))) for k, n in enumerate(sizes)
    ]
    columns[axis] = wrap_array(np, indices, x.shape[axis])
    return np.put_at(np.asarray(x, copy=True), tuple(columns), updates)


def _stablehlo(h: Any, x: Any, indices: Any, updates: Any, *, axis: int) -> Any:
    return h.put_nd(x, h.along(indices, axis, x.shape[axis]), updates)


scatter_elements = Composite(
    name="scatterElements",
    summary="elements replaced along an axis, with separate indices for every line",
    operands=(
        Slot(name="input", ranks=(1, None)),
        Slot(name="indices", dtypes=INDEX_TYPES, ranks=(1, None)),
        Slot(name="updates", ranks=(1, None), like=0),
    ),
    options={"axis": Option(0, checks.axis)},
    native="scatterElements",
    infer=_infer,
    decompose=_decompose,
    gradient=_gradient,
    reference=_reference,
    stablehlo=_stablehlo,
    batch="axes",
    layer=scatter_elements_rules,
    traits=frozenset({"choosing"}),
    samples=(
        sample((4,), (3,), (3,), values=(None, [3, 0, 3]), dtypes=("float32", "int32", "float32")),
        sample(
            (2, 3, 2),
            (2, 2, 2),
            (2, 2, 2),
            values=(None, [[[0, 2], [2, 0]], [[1, -2], [-9, 9]]]),
            dtypes=("float32", "int64", "float32"),
            axis=1,
        ),
        sample(
            (2, 3),
            (2, 4),
            (2, 4),
            values=(None, [[2, 0, 2, 2], [1, 1, 0, 1]]),
            dtypes=("float16", "uint32", "float16"),
            axis=-1,
        ),
    ),
)
