"""The mean of each channel of an image."""

from __future__ import annotations

from webnnm.core.dtypes import FLOAT
from webnnm.ops.declare import checks, values
from webnnm.ops.declare.features import Conflict
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, ValueOption
from webnnm.ops.declare.layout import LayoutTensor, Role
from webnnm.ops.declare.operator import Composite, Option, Slot, sample
from webnnm.ops.declare.spatial import INPUT_LAYOUTS
from webnnm.ops.declare.spatial_layer import LAYOUT, NAMES, infer_image, places, sizes_of
from webnnm.ops.declare.tensors import Builder, Tensor
from webnnm.ops.pool2d import axes
from webnnm.ops.reduce import layout_after_reduction


def _decompose(b: Builder, x: Tensor, *, layout: str, keep_dimensions: bool) -> Tensor:
    return b.reduce_mean(x, axes=axes(layout), keep_dimensions=keep_dimensions)


def _shape(layer: ShapeView) -> None:
    if layer.input.dims is None:
        return
    at = places(layer, layer.input, layer.options["layout"])
    channels = sizes_of(layer.input, at.source)["c"]
    if layer.options["keep_dimensions"]:
        infer_image(layer, at, {"c": channels, "h": 1, "w": 1})
        return
    try:
        layer.result.unify([channels])
    except Conflict:
        layer.fail("NNM402", f"declared {layer.result}, inferred [{channels}]", at="shape")
    layer.result.set_names([NAMES["c"]])
    layer.result.set_sequence(layer.input.sequence)


def _build(b: Builder, layer: BuildView) -> LayoutTensor:
    # A reduction needs no particular layout, so the input keeps its own.
    source, keep = layer.operands[0], layer.options["keep_dimensions"]
    at = places(layer, layer.features[0], layer.options["layout"])
    spatial: list[Role] = [at.source["h"], at.source["w"]]
    axes = sorted(source.position(feature) for feature in spatial)
    result = b.reduce_mean(source.tensor, axes=axes, keep_dimensions=keep)
    if not keep:
        return LayoutTensor(result, *layout_after_reduction(source, spatial, keep=False))
    moved: dict[int, int] = {at.source[letter]: at.target[letter] for letter in NAMES}
    layout: tuple[Role, ...] = tuple(
        moved[role] if isinstance(role, int) else role for role in source.layout
    )
    return LayoutTensor(result, layout, source.sequence)


global_average_pool = Composite(
    name="globalAveragePool",
    traits=frozenset({"pooling", "linear"}),
    summary="mean of each channel of an image",
    operands=(Slot(name="input", dtypes=FLOAT, ranks=(4, 4)),),
    options={
        "layout": Option("nchw", checks.choice(*INPUT_LAYOUTS)),
        "keep_dimensions": Option(False, checks.boolean),
    },
    decompose=_decompose,
    layer=LayerRules(
        options={
            "keep_dimensions": ValueOption(read=values.boolean, default=False),
            "layout": LAYOUT,
        },
        shape=_shape,
        build=_build,
    ),
    samples=(
        sample((2, 3, 2, 4)),
        sample((1, 3, 4, 2), layout="nhwc", keep_dimensions=True),
    ),
)
