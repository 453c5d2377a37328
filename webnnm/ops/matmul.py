"""Matrix product of the last two dimensions; leading dimensions broadcast."""

from __future__ import annotations

from typing import Any

from webnnm.core.dtypes import FLOAT
from webnnm.core.shapes import broadcast, show
from webnnm.ops.declare import values
from webnnm.ops.declare.features import Conflict
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, TensorSlot, ValueOption
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.operator import AnyOperator, Operator, Slot, sample
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor, TensorType


def _infer(a: TensorType, b: TensorType) -> TensorType:
    if a.shape[-1] != b.shape[-2]:
        raise OperatorError(
            "NNM404",
            f"{show(a.shape)} by {show(b.shape)}: {a.shape[-1]} columns, {b.shape[-2]} rows",
        )
    lead = broadcast(a.shape[:-2], b.shape[:-2])
    if lead is None:
        raise OperatorError("NNM401", f"{show(a.shape)} and {show(b.shape)} do not broadcast")
    return TensorType(a.dtype, (*lead, a.shape[-2], b.shape[-1]))


def _gradient(b: Builder, g: Tensor, _y: Tensor, x: Tensor, w: Tensor) -> list[Tensor]:
    if w.rank == 2 and x.rank > 2:  # one product instead of a batch of them and a sum
        rows = b.reshape(x, new_shape=(-1, x.shape[-1]))
        g_rows = b.reshape(g, new_shape=(-1, g.shape[-1]))
        return [
            b.matmul(g, transpose_matrices(b, w)),
            b.matmul(transpose_matrices(b, rows), g_rows),
        ]
    return [b.matmul(g, transpose_matrices(b, w)), b.matmul(transpose_matrices(b, x), g)]


def transpose_matrices(b: Builder, x: Tensor) -> Tensor:
    """Return `x` with its last two dimensions exchanged."""
    order = (*range(x.rank - 2), x.rank - 1, x.rank - 2)
    return b.transpose(x, permutation=order)


def product_shape(layer: ShapeView) -> None:
    """Rule of matmul and gemm: `[…, in] × [in, out] → […, out]` on features (spec B.4)."""
    source, other, result = layer.operands[0], layer.operands[1], layer.result
    swap_a = bool(layer.options["a_transpose"])
    swap_b = bool(layer.options["b_transpose"])
    if other.undeclared and other.dims is None:
        other.unify([None, None])
    if source.dims is None or other.dims is None:
        return
    if len(other.dims) < 2 or (swap_a and len(source.dims) < 2) or not source.dims:
        layer.fail("NNM405", f"{source} by {other}: a product needs rows and columns")
    rows, columns = (-1, -2) if swap_b else (-2, -1)
    inner = -2 if swap_a else -1
    _share(layer, inner, rows)
    rank = max(len(source.dims), len(other.dims) if len(other.dims) > 2 else 0)
    dims: list[int | None] = [None] * rank
    names: list[str | None] = [None] * rank
    lead = source.dims[:-1] if not swap_a else [*source.dims[:-2], source.dims[-1]]
    if len(other.dims) == 2:
        dims[: rank - 1] = lead
        names[: rank - 1] = source.names[: rank - 1]
    elif len(source.dims) > 1:
        dims[rank - 2] = lead[-1]
    dims[-1] = other.dims[columns]
    names[-1] = other.names[columns] or "features"
    try:
        result.unify(dims)
        assert result.dims is not None
        other.unify_size(len(other.dims) + columns, result.dims[-1])
    except Conflict:
        layer.fail("NNM402", f"declared {result}, inferred {show(dims)}", at="shape")
    if not any(result.names):
        result.set_names(names)
    result.set_sequence(source.sequence or other.sequence)


def _share(layer: ShapeView, inner: int, rows: int) -> None:
    """Relate the inner sizes of both operands, which have to agree."""
    source, other = layer.operands[0], layer.operands[1]
    assert source.dims is not None
    assert other.dims is not None
    try:
        source.unify_size(len(source.dims) + inner, other.dims[rows])
        other.unify_size(len(other.dims) + rows, source.dims[inner])
    except Conflict:
        layer.fail("NNM404", f"{source.dims[inner]} features, weights {other}")


def build_product(b: Builder, layer: BuildView) -> tuple[Tensor, Tensor, LayoutTensor]:
    """Return both matrices as they are multiplied, and the input they come from."""
    x, w = layer.operands[0].canonical(), layer.operands[1].canonical()
    left, right = x.tensor, w.tensor
    if layer.options["a_transpose"]:
        left = transpose_matrices(b, left)
    if layer.options["b_transpose"]:
        right = transpose_matrices(b, right)
    if w.lead and x.rank == 1:  # rank-1 features are rows over batch and sequence
        left = b.reshape(left, new_shape=(*left.shape[:-1], 1, left.shape[-1]))
    elif left.rank == 1:
        left = b.reshape(left, new_shape=(1, *left.shape))
    return left, right, x


def _build(b: Builder, layer: BuildView) -> LayoutTensor:
    left, right, x = build_product(b, layer)
    product = b.matmul(left, right)
    other = layer.operands[1]
    lead = x.lead or other.lead
    rank = max(x.rank, other.rank if other.rank > 2 else 0)
    layout = (*lead, *range(rank))
    if product.rank != len(layout):
        shape = (*product.shape[:-2], product.shape[-1])
        product = b.reshape(product, new_shape=shape)
    return LayoutTensor(product, layout, x.sequence or other.sequence)


def _reference(np: Any, a: Any, b: Any) -> Any:
    return np.matmul(a, b)


def _stablehlo(h: Any, a: Any, b: Any) -> Any:
    return h.matmul(a, b)


def _earlier(
    b: Builder, _operator: AnyOperator, operands: list[Any], options: dict[str, Any]
) -> tuple[Any, ...] | None:
    """Take the 2022 draft's vectors: a row as first operand, a column as second one."""
    ranks = [getattr(x, "rank", None) for x in operands]
    if len(operands) != 2 or 1 not in ranks:
        return None
    left, right = operands
    if ranks[0] == 1:
        left = b.reshape(left, new_shape=(1, left.shape[0]))
    if ranks[1] == 1:
        right = b.reshape(right, new_shape=(right.shape[0], 1))

    def without_ones(product: Tensor) -> Tensor:
        keep = [k for k in (0, 1) if ranks[k] != 1]
        shape = (*product.shape[:-2], *(product.shape[k - 2] for k in keep))
        return b.reshape(product, new_shape=shape)

    return [left, right], options, without_ones


TRANSPOSES = {
    "a_transpose": ValueOption(read=values.boolean, default=False),
    "b_transpose": ValueOption(read=values.boolean, default=False),
}

matmul = Operator(
    name="matmul",
    traits=frozenset({"product"}),
    summary="matrix product",
    operands=(
        Slot(name="a", dtypes=FLOAT, ranks=(2, None)),
        Slot(name="b", dtypes=FLOAT, ranks=(2, None), like=0),
    ),
    options={},
    infer=_infer,
    gradient=_gradient,
    reference=_reference,
    stablehlo=_stablehlo,
    earlier=_earlier,
    batch="matmul",
    layer=LayerRules(
        slots=(TensorSlot(name="y", parameter="weight"),),
        options=TRANSPOSES,
        shape=product_shape,
        build=_build,
    ),
    samples=(
        sample((2, 3), (3, 4)),
        sample((5, 2, 3), (3, 4)),
        sample((5, 2, 3), (5, 3, 4)),
        sample((2, 1, 2, 3), (5, 3, 1)),
    ),
)
