"""Transposed convolution along one dimension: spreads each step over a window of a longer one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webnnm.core.dtypes import FLOAT
from webnnm.core.shapes import Shape, count, show
from webnnm.ops.declare import checks, values
from webnnm.ops.declare.conv_layer import SLOTS, infer_bias, infer_channels, infer_kernel
from webnnm.ops.declare.conv_row import Ends, apply_to_row, find_roles, read_ends
from webnnm.ops.declare.features import Conflict
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, ValueOption
from webnnm.ops.declare.layout import LayoutTensor, Role
from webnnm.ops.declare.operator import Composite, Option, Slot, sample
from webnnm.ops.declare.padded_sequences import resize_mask
from webnnm.ops.declare.padding import fill_padding
from webnnm.ops.declare.spatial import numbers
from webnnm.ops.declare.tensors import Builder, Tensor
from webnnm.ops.declare.windows import reach


def _decompose(
    b: Builder,
    x: Tensor,
    kernel: Tensor,
    bias: Tensor | None,
    *,
    padding: Ends,
    strides: int,
    dilations: int,
    groups: int,
    input_layout: str,
) -> Tensor:
    """Return the transposed convolution as that of an image with one row."""
    sizes = {"padding": padding, "strides": strides, "dilations": dilations}
    convolve = b.conv_transpose2d
    return apply_to_row(convolve, b, x, kernel, bias, input_layout, groups=groups, **sizes)


def _count(options: Mapping[str, Any], size: int, length: int) -> int:
    """Return the number of steps of the result, less than 1 if padding leaves none."""
    span = reach(length, options["dilations"])
    return (size - 1) * options["strides"] + span - sum(options["padding"])


def _shape(layer: ShapeView) -> None:
    source, kernel, options = layer.input, layer.operands[1], layer.options
    if kernel.undeclared and kernel.dims is None:
        kernel.unify([None] * 3)
    if source.dims is None or kernel.dims is None:
        return
    if len(kernel.dims) != 3:
        layer.fail("NNM405", f"the filter {kernel} has {len(kernel.dims)} dimensions, not 3")
    length, channels = find_roles(layer, source.names)
    if length == "sequence" and source.sequence is None:
        layer.fail("NNM411", f"{source} has no sequence", hint="write sequence= on the input")
    result, groups = layer.result.dims, options["groups"]
    outer = result[channels] if result and len(result) > channels else None
    infer_channels(layer, kernel, "iol", source.dims[channels], outer, shared="o")
    infer_kernel(layer, kernel, 2, options["kernel"])
    per_group = kernel.dims[1]
    filters = None if per_group is None else per_group * groups
    dims = list(source.dims)
    names = list[str | None](source.names)
    dims[channels], names[channels] = filters, "channels"
    if isinstance(length, int):
        names[length] = "length"
        size, cells = dims[length], kernel.dims[2]
        dims[length] = _count(options, size, cells) if size and cells else None
    if any(size is not None and size < 1 for size in dims):
        layer.fail("NNM408", f"padding {show(options['padding'])} leaves no step", at="padding")
    try:
        layer.result.unify(dims)
    except Conflict:
        layer.fail("NNM402", f"declared {layer.result}, inferred {show(dims)}", at="shape")
    layer.result.set_names(names)
    layer.result.set_sequence(source.sequence)
    infer_bias(layer, filters)


def _build(b: Builder, layer: BuildView) -> LayoutTensor:
    source, kernel, options = layer.operands[0], layer.operands[1], layer.options
    bias = layer.tensors.get("bias")
    if kernel.lead or (bias and bias.lead):
        layer.fail("NNM405", "filter and bias must have neither batch nor sequence")
    length, channels = find_roles(layer, layer.features[0].names)
    lead: tuple[Role, ...] = tuple(role for role in source.layout if role not in (length, channels))
    tail: tuple[Role, ...] = tuple(role for role in source.layout if role in (length, channels))
    cells = kernel.features[2]
    source = source.reorder((*lead, *tail))
    image, mask = source.tensor, source.mask
    steps = _count(options, source.size(length), cells)
    if steps < 1:
        layer.fail("NNM408", f"padding {show(options['padding'])} leaves no step", at="padding")
    if mask is not None and length == "sequence":
        image = fill_padding(b, source, 0)
        mask = resize_mask(b, mask, lambda n: _count(options, n, cells), steps)
    rows = image.shape[: len(lead)]
    if len(rows) != 1:
        image = b.reshape(image, new_shape=(count(rows), *image.shape[len(rows) :]))
    result = b.apply(
        layer.operator,
        [image, kernel.canonical().tensor],
        {
            "bias": bias and bias.tensor,
            "padding": options["padding"],
            "strides": options["strides"],
            "dilations": options["dilations"],
            "groups": options["groups"],
            "input_layout": "nlc" if tail[0] == length else "ncl",
        },
    )
    if len(rows) != 1:
        result = b.reshape(result, new_shape=(*rows, *result.shape[1:]))
    return LayoutTensor(result, (*lead, *tail), source.sequence, mask)


def _fans(shape: Shape, options: Mapping[str, Any]) -> tuple[int, int]:
    inner, outer, length = shape
    return inner // options["groups"] * length, outer * length


conv_transpose1d = Composite(
    name="convTranspose1d",
    traits=frozenset({"product", "convolution", "sequential"}),
    summary="transposed convolution along one dimension",
    operands=(
        Slot(name="input", dtypes=FLOAT, ranks=(3, 3)),
        Slot(name="filter", dtypes=FLOAT, ranks=(3, 3), like=0),
        Slot(name="bias", dtypes=FLOAT, ranks=(1, 1), like=0, optional=True, keyword=True),
    ),
    options={
        "padding": Option((0, 0), numbers(2, 0)),
        "strides": Option(1, checks.integer(1)),
        "dilations": Option(1, checks.integer(1)),
        "groups": Option(1, checks.integer(1)),
        "input_layout": Option("ncl", checks.choice("ncl", "nlc")),
    },
    decompose=_decompose,
    layer=LayerRules(
        slots=SLOTS,
        options={
            "filters": ValueOption(read=values.integer(1)),
            "kernel": ValueOption(read=values.integer(1)),
            "padding": ValueOption(read=read_ends, default=(0, 0)),
            "strides": ValueOption(read=values.integer(1), default=1),
            "dilations": ValueOption(read=values.integer(1), default=1),
            "groups": ValueOption(read=values.integer(1), default=1),
        },
        shape=_shape,
        build=_build,
        fans=_fans,
    ),
    samples=(
        sample((2, 3, 4), (3, 2, 3)),
        sample((1, 4, 6), (6, 1, 2), (2,), input_layout="nlc", groups=2, strides=2),
        sample((1, 2, 5), (2, 2, 4), padding=(1, 2), strides=2, dilations=2),
    ),
)
