"""Convolutions in the notation: filters, kernels and images infer each other (spec B.4, C.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webnnm.core.shapes import Shape
from webnnm.ops.declare import values
from webnnm.ops.declare.convolution import grow, slide
from webnnm.ops.declare.features import Conflict, Features
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, TensorSlot, ValueOption
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.spatial import Pair, Sides
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

Sizes = dict[str, int | None]

SLOTS = (
    TensorSlot(name="filter", parameter="weight"),
    TensorSlot(name="bias", parameter="additive", optional=True, option=True),
)


def layer_rules(filter_layouts: Sequence[str], *, transposed: bool = False) -> LayerRules:
    """Return how the notation uses a convolution, transposed or not."""
    options = {
        "filters": ValueOption(read=values.integer(1)),
        "kernel": ValueOption(read=pair(1)),
        "padding": ValueOption(read=padding, default=(0, 0, 0, 0), words=PADDINGS),
        **STEPS,
        "groups": ValueOption(read=values.integer(1), default=1),
        "input_layout": LAYOUT,
        "filter_layout": ValueOption(
            read=values.choice(*filter_layouts), default=filter_layouts[0]
        ),
    }
    if transposed:
        options["output_padding"] = ValueOption(read=pair(0), default=(0, 0))
        options["output_sizes"] = ValueOption(read=pair(1))
    rules = _Rules(transposed)
    return LayerRules(
        slots=SLOTS, options=options, shape=rules.shape, build=rules.build, fans=rules.fans
    )


class _Rules:
    """The rules of a layer; `transposed` ones grow the image."""

    def __init__(self, transposed: bool) -> None:
        self.transposed = transposed

    def shape(self, layer: ShapeView) -> None:
        """Relate image, filter, bias and result."""
        source, kernel = layer.input, layer.operands[1]
        if kernel.undeclared and kernel.dims is None:
            kernel.unify([None] * 4)
        if source.dims is None or kernel.dims is None:
            return
        at = places(layer, source, layer.options["input_layout"])
        if len(kernel.dims) != 4:
            layer.fail("NNM405", f"the filter {kernel} has {len(kernel.dims)} dimensions, not 4")
        image, result = sizes_of(source, at.source), sizes_of(layer.result, at.target)
        infer_channels(
            layer,
            kernel,
            layer.options["filter_layout"],
            image["c"],
            result["c"],
            shared="o" if self.transposed else "i",
        )
        for axis, letter in enumerate("hw"):
            requested: Pair | None = layer.options["kernel"]
            inferred = self._kernel_size(layer.options, axis, image[letter], result[letter])
            for size in (requested and requested[axis], inferred):
                infer_kernel(layer, kernel, _axis(layer.options, letter), size)
        sizes = self._result(layer, kernel, image)
        infer_image(layer, at, sizes)
        infer_bias(layer, sizes["c"])

    def _kernel_size(
        self, options: Mapping[str, Any], axis: int, size: int | None, out: int | None
    ) -> int | None:
        """Return the kernel's size if that of the result determines it (spec B.4)."""
        padding, steps = options["padding"], (options["strides"][axis], options["dilations"][axis])
        if steps != (1, 1) or isinstance(padding, str) or size is None or out is None:
            return None
        pads = padding[2 * axis] + padding[2 * axis + 1]
        if self.transposed:
            return out - size + 1 + pads - options["output_padding"][axis]
        return size + pads - out + 1

    def _result(self, layer: ShapeView, kernel: Features, image: Sizes) -> Sizes:
        """Return the known sizes of the result."""
        options = layer.options
        outer, rows, columns = ((kernel.dims or ())[_axis(options, x)] for x in "ohw")
        if outer and self.transposed:
            outer *= options["groups"]
        height, width = image["h"], image["w"]
        if not (height and width and rows and columns):
            return {"c": outer, "h": None, "w": None}
        steps = self._steps(options, (height, width), (rows, columns))
        if self.transposed:
            height, width = grow((height, width), (rows, columns), **steps)
        else:
            windows = slide((height, width), (rows, columns), **steps)
            height, width = (part.count for part in windows)
        return {"c": outer, "h": height, "w": width}

    def _steps(self, options: Mapping[str, Any], sizes: Pair, window: Pair) -> dict[str, Any]:
        """Return the options that determine the size of the result, as the operator takes them."""
        strides, dilations = options["strides"], options["dilations"]
        padding: Sides | str = options["padding"]
        steps: dict[str, Any] = {
            "padding": sides(padding, sizes, window, strides, dilations, grown=self.transposed),
            "strides": strides,
            "dilations": dilations,
        }
        if self.transposed:
            sizes_of_result = options["output_sizes"]
            if sizes_of_result is None and isinstance(padding, str):
                sizes_of_result = sizes[0] * strides[0], sizes[1] * strides[1]
            steps |= {"output_padding": options["output_padding"], "output_sizes": sizes_of_result}
        return steps

    def build(self, b: Builder, layer: BuildView) -> LayoutTensor:
        """Write the layer into a graph."""
        source, kernel, options = layer.operands[0], layer.operands[1], layer.options
        bias = layer.tensors.get("bias")
        if kernel.lead or (bias and bias.lead):
            layer.fail("NNM405", "filter and bias must have neither batch nor sequence")
        at = places(layer, layer.features[0], options["input_layout"])
        sizes = [source.features[at.source[letter]] for letter in "hw"]
        window = [kernel.features[_axis(options, letter)] for letter in "hw"]
        call_options = {
            "bias": bias and bias.tensor,
            "groups": options["groups"],
            "filter_layout": options["filter_layout"],
            **self._steps(options, (sizes[0], sizes[1]), (window[0], window[1])),
        }

        def apply(image: Tensor, layout: str) -> Tensor:
            operands = [image, kernel.canonical().tensor]
            return b.apply(layer.operator, operands, {**call_options, "input_layout": layout})

        return build_image(b, source, at, options["input_layout"], apply)

    def fans(self, shape: Shape, options: Mapping[str, Any]) -> tuple[int, int]:
        """Return the fans: channels in and out of a group, times the cells of the kernel."""
        inner, outer, rows, columns = (shape[_axis(options, letter)] for letter in "iohw")
        if self.transposed:
            inner //= options["groups"]
        else:
            outer //= options["groups"]
        return inner * rows * columns, outer * rows * columns


def _axis(options: Mapping[str, Any], letter: str) -> int:
    """Return the axis of the filter with this letter."""
    return options["filter_layout"].index(letter)


def infer_channels(
    layer: ShapeView,
    kernel: Features,
    layout: str,
    inner: int | None,
    outer: int | None,
    *,
    shared: str,
) -> None:
    """Infer the channels of a filter; the letter `shared` counts those of one group.

    Raises NNM404, NNM406.
    """
    groups: int = layer.options["groups"]
    outer = layer.options["filters"] or outer
    for number, letter, what in ((inner, "i", "channels"), (outer, "o", "filters")):
        if number is None:
            continue
        if number % groups:
            layer.fail("NNM406", f"{number} {what} in {groups} groups", at="groups")
        try:
            axis = layout.index(letter)
            kernel.unify_size(axis, number // groups if letter == shared else number)
        except Conflict:
            grouped = f" in {groups} groups" if groups > 1 else ""
            layer.fail("NNM404", f"{number} {what}{grouped}, filter {kernel} ({layout})")


def infer_kernel(layer: ShapeView, kernel: Features, axis: int, size: int | None) -> None:
    """Infer the size of a filter's kernel. Raises NNM404."""
    try:
        kernel.unify_size(axis, size)
    except Conflict:
        layer.fail("NNM404", f"a kernel of {size} cells, filter {kernel}", at="kernel")


def infer_bias(layer: ShapeView, filters: int | None) -> None:
    """Infer the size of a bias, if there is one: the number of filters. Raises NNM404."""
    bias = layer.tensors.get("bias")
    if bias is not None:
        try:
            bias.unify([filters])
        except Conflict:
            layer.fail("NNM404", f"bias {bias}, {filters} filters")
