"""Elements or slices replaced by coordinates."""

from __future__ import annotations

from typing import Any

from webnnm.core.shapes import count, show
from webnnm.ops.declare.algebra import zeros_like
from webnnm.ops.declare.index_layer import scatter_nd_rules
from webnnm.ops.declare.indices import (
    INDEX_TYPES,
    constant_positions,
    distinct,
    positions,
    wrap_array,
)
from webnnm.ops.declare.operator import Composite, Slot, sample
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor, TensorType
from webnnm.ops.gather_nd import check_coordinates


def _infer(x: TensorType, indices: TensorType, updates: TensorType) -> TensorType:
    _, shape = check_coordinates(x, indices)
    if updates.shape != shape:
        raise OperatorError(
            "NNM401",
            f"updates {show(updates.shape)}, indices {show(indices.shape)} of {show(x.shape)} "
            f"need {show(shape)}",
        )
    return x


def _decompose(b: Builder, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    # The last of several updates wins: each cell gathers from itself and its updates.
    box = x.shape[: indices.shape[-1]]
    n, m, width = count(box), count(indices.shape[:-1]), count(x.shape[len(box) :])
    row = b.reshape(positions(b, indices, box), new_shape=(1, m))
    hit = b.equal(b.constant(range(n), "int32", (n, 1)), row)
    order = b.constant(range(1, m + 1), "int32", (1, m))
    last = b.reduce_max(b.where(hit, order, b.constant(0, "int32")), axes=[1])
    own = b.constant(range(n), "int32")
    source = b.where(b.equal(last, b.constant(0, "int32")), own, last + (n - 1))
    cells = [b.reshape(x, new_shape=(n, width)), b.reshape(updates, new_shape=(m, width))]
    return b.reshape(b.gather(b.concat(cells, axis=0), source), new_shape=x.shape)


def _gradient(
    b: Builder, g: Tensor, _y: Tensor, x: Tensor, indices: Tensor, updates: Tensor
) -> list[Tensor | None]:
    dx = b.scatter_nd(g, indices, zeros_like(b, updates))
    du = b.gather_nd(g, indices)
    box, shape = x.shape[: indices.shape[-1]], indices.shape[:-1]
    if not distinct(constant_positions(indices, box)):
        # Numbers scattered in the same way show which updates were not overwritten.
        order = b.constant(range(count(shape)), "int32", shape)
        nothing = b.expand(b.constant(0, "int32"), new_shape=box)
        written = b.scatter_nd(nothing, indices, order)
        wins = b.equal(b.gather_nd(written, indices), order)
        wide = b.reshape(wins, new_shape=(*shape, *(1,) * (x.rank - len(box))))
        du = b.where(wide, du, b.constant(0, g.dtype))
    return [dx, None, du]


def _reference(np: Any, x: Any, indices: Any, updates: Any) -> Any:
    columns = [wrap_array(np, indices[..., k], x.shape[k]) for k in range(indices.shape[-1])]
    return np.put_at(np.asarray(x, copy=True), tuple(columns), updates)


def _stablehlo(h: Any, x: Any, indices: Any, updates: Any) -> Any:
    return h.put_nd(x, h.coordinates(indices, x.shape[: indices.shape[-1]]), updates)


scatter_nd = Composite(
    name="scatterND",
    summary="elements or slices replaced by coordinates",
    operands=(
        Slot(name="input", ranks=(1, None)),
        Slot(name="indices", dtypes=INDEX_TYPES, ranks=(1, None)),
        Slot(name="updates", like=0),
    ),
    options={},
    native="scatterND",
    infer=_infer,
    decompose=_decompose,
    gradient=_gradient,
    reference=_reference,
    stablehlo=_stablehlo,
    batch="scatterND",
    layer=scatter_nd_rules,
    traits=frozenset({"choosing"}),
    samples=(
        sample(
            (3, 2),
            (3, 2),
            (3,),
            values=(None, [[0, 1], [2, -2], [0, 1]]),
            dtypes=("float32", "int32", "float32"),
        ),
        sample(
            (3, 2, 2),
            (2, 1, 1),
            (2, 1, 2, 2),
            values=(None, [[[-1]], [[9]]]),
            dtypes=("float32", "int64", "float32"),
        ),
        sample((3, 4), (2,), (), values=(None, [2, 1]), dtypes=("float16", "uint32", "float16")),
    ),
)
