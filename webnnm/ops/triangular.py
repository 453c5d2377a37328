"""The upper or lower triangle of matrices, zero elsewhere."""

from __future__ import annotations

from typing import Any

from webnnm.ops.declare import checks, values
from webnnm.ops.declare.algebra import same_as_first
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, ValueOption
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.operator import AnyOperator, Operator, Option, Slot, sample
from webnnm.ops.declare.rules import same_shape, tensor_options
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor


def _gradient(
    b: Builder, g: Tensor, _y: Tensor, _x: Tensor, *, upper: bool, diagonal: int
) -> list[Tensor]:
    return [b.triangular(g, upper=upper, diagonal=diagonal)]


def _reference(np: Any, x: Any, *, upper: bool, diagonal: int) -> Any:
    return np.triu(x, k=diagonal) if upper else np.tril(x, k=diagonal)


def _earlier(
    _b: Builder, _operator: AnyOperator, operands: list[Any], options: dict[str, Any]
) -> tuple[Any, ...]:
    """The transformer list's `triangular_part` and `diagonal_delta`."""
    part = options.pop("triangular_part", None)
    if part is not None:
        if part not in ("upper", "lower"):
            raise OperatorError("NNM303", f"triangular_part is {part!r}, not 'upper' or 'lower'")
        options["upper"] = part == "upper"
    if "diagonal_delta" in options:
        options["diagonal"] = options.pop("diagonal_delta")
    return operands, options


def _shape(layer: ShapeView) -> None:
    same_shape(layer)
    if layer.input.rank is not None and layer.input.rank < 2:
        layer.fail("NNM405", f'"triangular" needs two features, but its input is {layer.input}')


def _build(builder: Builder, layer: BuildView) -> LayoutTensor:
    source = layer.operands[0].canonical()
    return source.with_tensor(builder.triangular(source.tensor, **tensor_options(layer)))


def _stablehlo(h: Any, x: Any, *, upper: bool, diagonal: int) -> Any:
    rows, columns = (h.iota(x.shape[-2:], axis, "int32") for axis in (0, 1))
    kept = h.compare("GE" if upper else "LE", columns, h.add(rows, diagonal))
    return h.select(kept, x, 0)


triangular = Operator(
    name="triangular",
    summary="upper or lower triangle of matrices, 0 elsewhere",
    operands=(Slot(name="input", ranks=(2, None)),),
    options={"upper": Option(True, checks.boolean), "diagonal": Option(0, checks.integer())},
    infer=same_as_first,
    gradient=_gradient,
    reference=_reference,
    stablehlo=_stablehlo,
    earlier=_earlier,
    aliases=("triangularMatrix",),
    batch="axes",
    layer=LayerRules(
        options={
            "upper": ValueOption(read=values.boolean, default=True),
            "diagonal": ValueOption(read=values.integer(), default=0),
        },
        shape=_shape,
        build=_build,
    ),
    traits=frozenset({"choosing"}),
    samples=(
        sample((3, 4)),
        sample((2, 3, 3), upper=False),
        sample((4, 3), diagonal=-1),
        sample((2, 4), upper=False, diagonal=1),
    ),
)
