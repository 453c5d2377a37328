"""Change of data type."""

from __future__ import annotations

from typing import Any

from webnnm.core.dtypes import FLOAT_INFO, DataType, integer_range, is_float
from webnnm.ops.declare import checks, values
from webnnm.ops.declare.layer import BuildView, LayerRules, ValueOption
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.operator import REQUIRED, Operator, Option, Slot, sample
from webnnm.ops.declare.rules import same_shape
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor, TensorType


def _infer(x: TensorType, *, type: DataType) -> TensorType:
    return TensorType(type, x.shape)


def _gradient(
    b: Builder, g: Tensor, _y: Tensor, x: Tensor, *, type: DataType
) -> list[Tensor | None]:
    return [b.cast(g, type=x.dtype) if is_float(type) and is_float(x.dtype) else None]


def _build(builder: Builder, layer: BuildView) -> LayoutTensor:
    source = layer.operands[0]
    return source.with_tensor(builder.cast(source.tensor, type=layer.dtype))


def float_range(type: DataType, epsilon: float, largest: float) -> tuple[float, float]:
    """Return the bounds of an integer type as floats that do not exceed them.

    `epsilon` is the distance from 1 to the next float of the type that is cast, `largest` its
    largest number.

    >>> float_range("int8", 2.0**-23, 3.4e38), float_range("int32", 2.0**-23, 3.4e38)[1]
    ((-128.0, 127.0), 2147483520.0)
    """
    low, high = integer_range(type)
    below = min(float(high), (high + 1) * (1 - epsilon / 2), largest)
    return max(float(low), -largest), below


def _reference(np: Any, x: Any, *, type: DataType) -> Any:
    if not is_float(type) and np.isdtype(x.dtype, "real floating"):
        facts = np.finfo(x.dtype)
        low, high = float_range(type, float(facts.eps), float(facts.max))
        x = np.where(np.isnan(x), np.zeros_like(x), np.clip(np.trunc(x), low, high))
    return np.astype(x, getattr(np, type))


def _stablehlo(h: Any, x: Any, *, type: DataType) -> Any:
    if "uint4" in (type, x.dtype):
        raise OperatorError("NNM901", "StableHLO has no arithmetic of uint4")
    if not is_float(type) and is_float(x.dtype):
        low, high = float_range(type, *FLOAT_INFO[x.dtype])
        x = h.select(h.compare("NE", x, x), 0, h.clamp(low, x, high))
    return h.convert(x, type)


cast = Operator(
    name="cast",
    traits=frozenset({"passing", "linear", "copying"}),
    summary="change of data type; floats truncate to the nearest value of an integer type",
    operands=(Slot(name="input"),),
    options={"type": Option(REQUIRED, checks.data_type, positional=True)},
    infer=_infer,
    gradient=_gradient,
    reference=_reference,
    stablehlo=_stablehlo,
    batch="elementwise",
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
        sample((2, 3), type="int8", low=-500, high=500, kinks=(-128.0, 127.0)),
    ),
)
