"""Layer normalisation: statistics along axes of each sample."""

from __future__ import annotations

from collections.abc import Sequence

from webnnm.ops.declare import checks, values
from webnnm.ops.declare.layer import LayerRules, ValueOption
from webnnm.ops.declare.normalising import (
    HAZARDS,
    INPUT,
    SCALE_AND_BIAS,
    all_but_first,
    along,
    build_by_axes,
    normalisation_gradient,
    normalise,
    require_sizes,
    shape_by_axes,
)
from webnnm.ops.declare.operator import Composite, Option, sample
from webnnm.ops.declare.tensors import Builder, Tensor, TensorType


def _infer(
    x: TensorType,
    scale: TensorType | None,
    bias: TensorType | None,
    *,
    axes: Sequence[int],
    epsilon: float,
) -> TensorType:
    require_sizes(x, axes, {"scale": scale, "bias": bias})
    return x


def _decompose(
    b: Builder,
    x: Tensor,
    scale: Tensor | None,
    bias: Tensor | None,
    *,
    axes: Sequence[int],
    epsilon: float,
) -> Tensor:
    return normalise(b, x, scale, bias, over=axes, by=axes, epsilon=epsilon)


def _gradient(
    b: Builder,
    g: Tensor,
    _y: Tensor,
    x: Tensor,
    scale: Tensor | None,
    bias: Tensor | None,
    *,
    axes: Sequence[int],
    epsilon: float,
) -> list[Tensor | None]:
    return normalisation_gradient(b, g, x, scale, bias, over=axes, by=axes, epsilon=epsilon)


layer_normalization = Composite(
    name="layerNormalization",
    traits=frozenset({"normalization"}),
    aliases=("layerNorm",),
    summary="(x − mean)/√(variance + ε) along axes of each sample, times scale plus bias",
    operands=(INPUT, along("scale"), along("bias")),
    options={"axes": Option(None, all_but_first), "epsilon": Option(1e-5, checks.number)},
    native="layerNormalization",
    infer=_infer,
    gradient=_gradient,
    decompose=_decompose,
    batch="normalization",
    layer=LayerRules(
        slots=SCALE_AND_BIAS,
        options={
            "axes": ValueOption(read=values.axis_names, default=(-1,), aliases=("axis",)),
            "epsilon": ValueOption(read=values.number, default=1e-5),
        },
        shape=shape_by_axes,
        build=build_by_axes,
    ),
    samples=(
        sample((2, 3)),
        sample((2, 3, 4), (4,), (4,), axes=(2,), epsilon=0.01),
        sample((2, 3, 4), (4, 2), (4, 2), axes=(2, 0)),
        sample((2, 3), None, (3,)),
    ),
    hazards=HAZARDS,
)
