"""Change of data type."""

from __future__ import annotations

from typing import Any

from webnnm.dtypes import DataType, is_float
from webnnm.ops import checks, values
from webnnm.ops.layer import BuildView, LayerRules, ValueOption
from webnnm.ops.layout import Laid
from webnnm.ops.operator import (
    REQUIRED,
    Builder,
    Operator,
    Option,
    Slot,
    Tensor,
    TensorType,
    sample,
)
from webnnm.ops.rules import same_shape


def _infer(x: TensorType, *, type: DataType) -> TensorType:
    return TensorType(type, x.shape)


def _gradient(
    b: Builder, g: Tensor, _y: Tensor, x: Tensor, *, type: DataType
) -> list[Tensor | None]:
    return [b.cast(g, type=x.dtype) if is_float(type) and is_float(x.dtype) else None]


def _build(builder: Builder, layer: BuildView) -> Laid:
    flow = layer.operands[0]
    return flow.with_tensor(builder.cast(flow.tensor, type=layer.dtype))


def _reference(np: Any, x: Any, *, type: DataType) -> Any:
    if not is_float(type) and np.isdtype(x.dtype, "real floating"):
        x = np.trunc(x)
    return np.astype(x, getattr(np, type))


cast = Operator(
    name="cast",
    summary="change of data type; floats truncate to integers",
    operands=(Slot(name="input"),),
    options={"type": Option(REQUIRED, checks.data_type, positional=True)},
    infer=_infer,
    gradient=_gradient,
    reference=_reference,
    layer=LayerRules(
        options={"type": ValueOption(read=values.data_type, operand=True)},
        shape=same_shape,
        build=_build,
        dtype=lambda compute, options, _: options["type"] or compute,
        casts=False,
    ),
    samples=(
        sample((2, 3), type="float32"),
        sample((2, 3), type="int32", kinks=tuple(range(-2, 3))),
    ),
)
