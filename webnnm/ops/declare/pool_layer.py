"""Pooling in the notation: the channels stay, height and width shrink."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from webnnm.ops.declare import values
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, ValueOption
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.spatial import Pair
from webnnm.ops.declare.spatial_layer import (
    LAYOUT,
    PADDINGS,
    STEPS,
    build_image,
    infer_image,
    padding,
    pair,
    places,
    sides,
    sizes_of,
)
from webnnm.ops.declare.tensors import Builder, Tensor
from webnnm.ops.declare.windows import Windows

OPTIONS = {
    "window_dimensions": ValueOption(read=pair(1), aliases=("window",)),
    "padding": ValueOption(read=padding, default=(0, 0, 0, 0), words=PADDINGS),
    "padding_beginning": ValueOption(read=pair(0)),
    "padding_ending": ValueOption(read=pair(0)),
    **STEPS,
    "layout": LAYOUT,
    "output_shape_rounding": ValueOption(
        read=values.choice("floor", "ceil"), default="floor", aliases=("roundingType",)
    ),
    "output_sizes": ValueOption(read=pair(1)),
}


def layer_rules(windows: Callable[..., tuple[Windows, Windows]]) -> LayerRules:
    """Return how the notation uses a pool; `windows(shape, **options)` is the operator's rule."""

    def shape(layer: ShapeView) -> None:
        if layer.input.dims is None:
            return
        at = places(layer, layer.input, layer.options["layout"])
        sizes = sizes_of(layer.input, at.source)
        height, width = sizes["h"], sizes["w"]
        result_sizes = {"c": sizes["c"], "h": None, "w": None}
        if height and width:
            options = _options(layer, (height, width))
            rows, columns = windows((1, 1, height, width), layout="nchw", **options)
            result_sizes |= {"h": rows.count, "w": columns.count}
        infer_image(layer, at, result_sizes)

    def build(b: Builder, layer: BuildView) -> LayoutTensor:
        source, written = layer.operands[0], layer.options["layout"]
        at = places(layer, layer.features[0], written)
        options = _options(
            layer, (source.features[at.source["h"]], source.features[at.source["w"]])
        )

        def apply(image: Tensor, layout: str) -> Tensor:
            call_options = {**options, "layout": layout}
            source = _before_relu(image) if layer.operator.name == "maxPool2d" else None
            if source is None:
                return b.apply(layer.operator, [image], call_options)
            # The same results and gradients, with relu on a fraction of the cells.
            return b.relu(b.apply(layer.operator, [source], call_options))

        return build_image(b, source, at, written, apply)

    return LayerRules(options=OPTIONS, shape=shape, build=build)


def _before_relu(image: Tensor) -> Tensor | None:
    """Return what an image was before relu, None if it is not a result of relu."""
    node: Any = image.node
    operator = getattr(node, "operator", None)
    return node.operands[0] if operator is not None and operator.name == "relu" else None


def _options(layer: ShapeView | BuildView, sizes: Pair) -> dict[str, Any]:
    """Return the options as the operator takes them, except the layout."""
    options = layer.options
    window: Pair = options["window_dimensions"] or sizes
    steps = options["strides"], options["dilations"]
    top, bottom, left, right = sides(options["padding"], sizes, window, *steps, grown=False)
    if options["padding_beginning"] is not None:
        top, left = options["padding_beginning"]
    if options["padding_ending"] is not None:
        bottom, right = options["padding_ending"]
    return {
        "window_dimensions": window,
        "padding": (top, bottom, left, right),
        "strides": steps[0],
        "dilations": steps[1],
        "output_shape_rounding": options["output_shape_rounding"],
        "output_sizes": options["output_sizes"],
    }
