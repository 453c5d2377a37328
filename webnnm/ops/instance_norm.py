"""Instance normalisation: statistics over height and width of each channel of each sample."""

from __future__ import annotations

from webnnm.core.dtypes import FLOAT
from webnnm.ops.declare import checks, values
from webnnm.ops.declare.features import Features
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, ValueOption
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.normalising import (
    HAZARDS,
    SCALE_AND_BIAS,
    along,
    fit,
    normalisation_gradient,
    normalise,
    require_sizes,
    tensor_without_batch,
)
from webnnm.ops.declare.operator import Composite, Option, Slot, sample
from webnnm.ops.declare.rules import same_shape
from webnnm.ops.declare.spatial import INPUT_LAYOUTS
from webnnm.ops.declare.spatial_layer import Places, build_image, places
from webnnm.ops.declare.tensors import Builder, Tensor, TensorType


def _axes(layout: str, letters: str) -> tuple[int, ...]:
    """Return the axes of some letters."""
    return tuple(layout.index(letter) for letter in letters)


def _infer(
    x: TensorType,
    scale: TensorType | None,
    bias: TensorType | None,
    *,
    epsilon: float,
    layout: str,
) -> TensorType:
    require_sizes(x, _axes(layout, "c"), {"scale": scale, "bias": bias})
    return x


def _decompose(
    b: Builder,
    x: Tensor,
    scale: Tensor | None,
    bias: Tensor | None,
    *,
    epsilon: float,
    layout: str,
) -> Tensor:
    over, by = _axes(layout, "hw"), _axes(layout, "c")
    return normalise(b, x, scale, bias, over=over, by=by, epsilon=epsilon)


def _gradient(
    b: Builder,
    g: Tensor,
    _y: Tensor,
    x: Tensor,
    scale: Tensor | None,
    bias: Tensor | None,
    *,
    epsilon: float,
    layout: str,
) -> list[Tensor | None]:
    over, by = _axes(layout, "hw"), _axes(layout, "c")
    return normalisation_gradient(b, g, x, scale, bias, over=over, by=by, epsilon=epsilon)


def _places(layer: ShapeView | BuildView, source: Features) -> Places:
    """Find the channel among the features, which stay as they are."""
    axes = places(layer, source, layer.options["layout"]).source
    return Places(axes, axes)


def _shape(layer: ShapeView) -> None:
    same_shape(layer)
    if layer.input.rank is not None:
        fit(layer, [_places(layer, layer.input).source["c"]], "scale", "bias")


def _build(b: Builder, layer: BuildView) -> LayoutTensor:
    source = layer.operands[0]
    tensors = [tensor_without_batch(layer, "scale"), tensor_without_batch(layer, "bias")]
    epsilon = layer.options["epsilon"]

    def apply(x: Tensor, layout: str) -> Tensor:
        return b.apply(layer.operator, [x, *tensors], {"epsilon": epsilon, "layout": layout})

    at = _places(layer, layer.features[0])
    return build_image(b, source, at, None, apply).reorder(source.layout)


instance_normalization = Composite(
    name="instanceNormalization",
    traits=frozenset({"normalization"}),
    aliases=("instanceNorm",),
    summary="(x − mean)/√(variance + ε) over height and width, times scale plus bias per channel",
    operands=(
        Slot(name="input", dtypes=FLOAT, ranks=(4, 4)),
        along("scale", (1, 1)),
        along("bias", (1, 1)),
    ),
    options={
        "epsilon": Option(1e-5, checks.number),
        "layout": Option("nchw", checks.choice(*INPUT_LAYOUTS)),
    },
    native="instanceNormalization",
    infer=_infer,
    gradient=_gradient,
    decompose=_decompose,
    batch="normalization",
    layer=LayerRules(
        slots=SCALE_AND_BIAS,
        options={
            "epsilon": ValueOption(read=values.number, default=1e-5),
            "layout": ValueOption(read=values.choice(*INPUT_LAYOUTS), default="nchw"),
        },
        shape=_shape,
        build=_build,
    ),
    samples=(
        sample((2, 3, 2, 4)),
        sample((2, 3, 2, 2), (3,), (3,), epsilon=0.01),
        sample((2, 3, 2, 4), (4,), None, layout="nhwc"),
    ),
    hazards=HAZARDS,
)
