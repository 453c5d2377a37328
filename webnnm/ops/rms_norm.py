"""Normalisation by the root of the mean square, without centring."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webnnm.ops.declare import checks, values
from webnnm.ops.declare.layer import LayerRules, ValueOption
from webnnm.ops.declare.normalising import (
    HAZARDS,
    INPUT,
    SCALE_AND_BIAS,
    along,
    build_by_axes,
    normalise,
    require_sizes,
    shape_by_axes,
)
from webnnm.ops.declare.operator import Composite, Option, sample
from webnnm.ops.declare.tensors import Builder, Tensor, TensorType


def _last_axis(value: Any, *types: TensorType) -> tuple[int, ...]:
    """Accept distinct axes of the first operand; None means the last."""
    rank = len(types[0].shape)
    return checks.axes(range(rank)[-1:] if value is None else value, *types)


def _decompose(
    b: Builder,
    x: Tensor,
    scale: Tensor | None,
    *,
    axes: Sequence[int],
    epsilon: float,
    scale_offset: float,
) -> Tensor:
    require_sizes(x, axes, {"scale": scale})
    if scale is not None and scale_offset:
        scale = scale + scale_offset
    return normalise(b, x, scale, None, over=axes, by=axes, epsilon=epsilon, centred=False)


rms_norm = Composite(
    name="rmsNorm",
    traits=frozenset({"normalization"}),
    summary="x/√(mean x² + ε) along axes, times scale, to which scaleOffset is added",
    operands=(INPUT, along("scale")),
    options={
        "axes": Option(None, _last_axis),
        "epsilon": Option(1e-6, checks.number),
        "scale_offset": Option(0.0, checks.number),
    },
    decompose=_decompose,
    layer=LayerRules(
        slots=SCALE_AND_BIAS[:1],
        options={
            "axes": ValueOption(read=values.axis_names, default=(-1,), aliases=("axis",)),
            "epsilon": ValueOption(read=values.number, default=1e-6),
            "scale_offset": ValueOption(read=values.number, default=0.0),
        },
        shape=shape_by_axes,
        build=build_by_axes,
    ),
    samples=(
        sample((2, 3), axes=(0,)),
        sample((2, 3, 4), (4,), epsilon=0.01),
        sample((2, 3, 4), (4, 2), axes=(2, 0)),
        sample((2, 3), (3,), scale_offset=1.0),
    ),
    hazards=HAZARDS,
)
