"""Index of the largest or smallest element along an axis: argMax, argMin."""

from __future__ import annotations

from functools import partial
from typing import Any

from webnnm.core.dtypes import DataType
from webnnm.ops.declare import checks, values
from webnnm.ops.declare.layer import BuildView, LayerRules, ValueOption
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.operator import (
    REQUIRED,
    AnyOperator,
    Operator,
    Option,
    Slot,
    no_gradient,
    sample,
)
from webnnm.ops.declare.padding import extremes, fill_padding, reduce_mask
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor, TensorType
from webnnm.ops.reduce import infer_reduced_shape, layout_after_reduction

INDEX_TYPES: tuple[DataType, ...] = ("int32", "int64")


def _infer(
    x: TensorType, *, axis: int, keep_dimensions: bool, output_data_type: DataType
) -> TensorType:
    kept = (1,) if keep_dimensions else ()
    return TensorType(output_data_type, (*x.shape[:axis], *kept, *x.shape[axis + 1 :]))


def _earlier(
    b: Builder, operator: AnyOperator, operands: list[Any], options: dict[str, Any]
) -> tuple[Any, ...]:
    """Take the transformer list's `axes` and last index of ties: n − 1 − the first in reverse."""
    if "axes" in options and "axis" not in options:
        axes = options.pop("axes")
        if not isinstance(axes, (list, tuple)) or len(axes) != 1:
            raise OperatorError(
                "NNM303", f'axes of "{operator.name}": {axes!r} is not a single axis'
            )
        (options["axis"],) = axes  # pyrefly: ignore[unknown-argument-type]
    if "select_last_index" in options:
        options.setdefault("axis", 0)
    last = checks.boolean(options.pop("select_last_index", False))
    if not last or len(operands) != 1 or not hasattr(operands[0], "rank"):
        return operands, options
    (x,) = operands
    axis = checks.axis(options["axis"], TensorType(x.dtype, x.shape))

    def from_the_end(indices: Tensor) -> Tensor:
        return b.constant(x.shape[axis] - 1, indices.dtype) - indices

    return [b.reverse(x, axes=[axis])], options, from_the_end


def _build(builder: Builder, layer: BuildView, *, largest: bool) -> LayoutTensor:
    source = layer.operands[0]
    (role,) = layer.axes("axis")
    keep = layer.options["keep_dimensions"]
    x, mask = source.tensor, None
    if role == "sequence" and source.mask is not None:
        low, high = extremes(x.dtype)
        x = fill_padding(builder, source, low if largest else high)
        mask = reduce_mask(builder, source.mask) if keep else None
    options = {
        "axis": source.position(role),
        "keep_dimensions": keep,
        "output_data_type": layer.dtype,
    }
    result = builder.apply(layer.operator, [x], options)
    return LayoutTensor(result, *layout_after_reduction(source, [role], keep), mask)


def _index_type(value: Any) -> DataType:
    dtype = values.data_type(value)
    if dtype not in INDEX_TYPES:
        raise ValueError(f"{dtype} is not one of {', '.join(INDEX_TYPES)}")
    return dtype


def _arg(name: str, summary: str, kernel: str) -> Operator:
    def reference(
        np: Any, x: Any, *, axis: int, keep_dimensions: bool, output_data_type: DataType
    ) -> Any:
        indices = getattr(np, kernel)(x, axis=axis, keepdims=keep_dimensions)
        return np.astype(np.asarray(indices), getattr(np, output_data_type))

    def lower(h: Any, x: Any, *, axis: int, output_data_type: DataType, **_: Any) -> Any:
        indices = h.first(x, axis, output_data_type, largest=kernel == "argmax")
        return h.reshape(indices, h.shape)

    return Operator(
        name=name,
        summary=summary,
        operands=(Slot(name="input", ranks=(1, None)),),
        options={
            "axis": Option(REQUIRED, checks.axis, positional=True),
            "keep_dimensions": Option(False, checks.boolean),
            "output_data_type": Option("int32", checks.choice(*INDEX_TYPES)),
        },
        infer=_infer,
        gradient=no_gradient,
        reference=reference,
        stablehlo=lower,
        earlier=_earlier,
        batch="axes",
        layer=LayerRules(
            options={
                "axis": ValueOption(read=values.one_axis, default=(-1,), operand=True),
                "keep_dimensions": ValueOption(read=values.boolean, default=False),
                "output_data_type": ValueOption(
                    read=_index_type, default="int32", words=INDEX_TYPES
                ),
            },
            shape=partial(infer_reduced_shape, option="axis"),
            build=partial(_build, largest=kernel == "argmax"),
            dtype=lambda compute, options, types: options["output_data_type"],
        ),
        samples=(
            sample((2, 3), axis=1),
            sample((2, 3, 4), axis=0, keep_dimensions=True),
            sample((4,), axis=-1, output_data_type="int64", values=([1.0, 3.0, 3.0, 1.0],)),
        ),
    )


arg_max = _arg("argMax", "index of the largest element, the first on ties", "argmax")
arg_min = _arg("argMin", "index of the smallest element, the first on ties", "argmin")
