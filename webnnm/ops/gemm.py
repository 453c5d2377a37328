"""General matrix product α·A·B + β·C."""

from __future__ import annotations

from typing import Any

from webnnm.core.dtypes import FLOAT
from webnnm.core.shapes import broadcast, show
from webnnm.ops.declare import checks, values
from webnnm.ops.declare.features import Conflict
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, TensorSlot, ValueOption
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.operator import Operator, Option, Slot, sample
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor, TensorType
from webnnm.ops.matmul import TRANSPOSES, build_product, product_shape, transpose_matrices


def _infer(
    a: TensorType,
    b: TensorType,
    c: TensorType | None,
    *,
    a_transpose: bool,
    b_transpose: bool,
    **_: Any,
) -> TensorType:
    rows, inner = reversed(a.shape) if a_transpose else a.shape
    other, columns = reversed(b.shape) if b_transpose else b.shape
    if inner != other:
        raise OperatorError("NNM404", f"{show(a.shape)} by {show(b.shape)}: {inner} and {other}")
    if c is not None and broadcast(c.shape, (rows, columns)) != (rows, columns):
        raise OperatorError("NNM401", f"c {show(c.shape)} does not fit {show((rows, columns))}")
    return TensorType(a.dtype, (rows, columns))


def _gradient(
    b: Builder,
    g: Tensor,
    _y: Tensor,
    x: Tensor,
    w: Tensor,
    c: Tensor | None,
    *,
    alpha: float,
    beta: float,
    a_transpose: bool,
    b_transpose: bool,
) -> list[Tensor | None]:
    scaled = g * alpha
    left = transpose_matrices(b, x) if a_transpose else x
    right = transpose_matrices(b, w) if b_transpose else w
    dx = b.matmul(scaled, transpose_matrices(b, right))
    dw = b.matmul(transpose_matrices(b, left), scaled)
    return [
        transpose_matrices(b, dx) if a_transpose else dx,
        transpose_matrices(b, dw) if b_transpose else dw,
        None if c is None else g * beta,
    ]


def _reference(
    np: Any,
    a: Any,
    b: Any,
    c: Any,
    *,
    alpha: float,
    beta: float,
    a_transpose: bool,
    b_transpose: bool,
) -> Any:
    product = np.matmul(
        np.permute_dims(a, (1, 0)) if a_transpose else a,
        np.permute_dims(b, (1, 0)) if b_transpose else b,
    )
    scaled = product * np.asarray(alpha, dtype=a.dtype)
    return scaled if c is None else scaled + c * np.asarray(beta, dtype=a.dtype)


def _shape(layer: ShapeView) -> None:
    product_shape(layer)
    c = layer.tensors.get("c")
    if c is not None and c.undeclared and layer.result.dims is not None:
        try:
            c.unify(layer.result.dims)
        except Conflict:
            layer.fail("NNM401", f"{layer.result} and {c}", hint="c must have the result's shape")


def _build(b: Builder, layer: BuildView) -> LayoutTensor:
    left, right, x = build_product(b, layer)
    alpha, beta = float(layer.options["alpha"]), float(layer.options["beta"])
    laid_c = layer.tensors.get("c")
    c = None if laid_c is None else laid_c.canonical().tensor
    layout = (*x.lead, *range(x.rank))
    if left.rank == 2 and right.rank == 2 and len(layout) == 2 and (c is None or c.rank <= 2):
        return LayoutTensor(b.gemm(left, right, c=c, alpha=alpha, beta=beta), layout, x.sequence)
    product = b.matmul(left, right)
    if product.rank != len(layout):
        product = b.reshape(product, new_shape=(*product.shape[:-2], product.shape[-1]))
    if alpha != 1:
        product = product * alpha
    if c is not None:
        product = product + (c if beta == 1 else c * beta)
    return LayoutTensor(product, layout, x.sequence)


def _stablehlo(
    h: Any,
    a: Any,
    b: Any,
    c: Any,
    *,
    alpha: float,
    beta: float,
    a_transpose: bool,
    b_transpose: bool,
) -> Any:
    product = h.dot_general(a, b, ([int(not a_transpose)], [int(b_transpose)]))
    scaled = product if alpha == 1 else h.multiply(product, alpha)
    if c is None:
        return scaled
    return h.add(scaled, c if beta == 1 else h.multiply(c, beta))


gemm = Operator(
    name="gemm",
    traits=frozenset({"product"}),
    summary="α·A·B + β·C of matrices",
    operands=(
        Slot(name="a", dtypes=FLOAT, ranks=(2, 2)),
        Slot(name="b", dtypes=FLOAT, ranks=(2, 2), like=0),
        Slot(name="c", dtypes=FLOAT, ranks=(0, 2), like=0, optional=True, keyword=True),
    ),
    options={
        "alpha": Option(1.0, checks.number),
        "beta": Option(1.0, checks.number),
        "a_transpose": Option(False, checks.boolean),
        "b_transpose": Option(False, checks.boolean),
    },
    infer=_infer,
    gradient=_gradient,
    reference=_reference,
    stablehlo=_stablehlo,
    batch="gemm",
    layer=LayerRules(
        slots=(
            TensorSlot(name="b", parameter="weight"),
            TensorSlot(name="c", parameter="additive", optional=True, option=True),
        ),
        options={
            "alpha": ValueOption(read=values.number, default=1.0),
            "beta": ValueOption(read=values.number, default=1.0),
            **TRANSPOSES,
        },
        shape=_shape,
        build=_build,
    ),
    samples=(
        sample((2, 3), (3, 4)),
        sample((2, 3), (3, 4), (4,)),
        sample((3, 2), (4, 3), (2, 1), alpha=0.5, beta=2.0, a_transpose=True, b_transpose=True),
    ),
)
