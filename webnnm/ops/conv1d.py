"""Convolution along one dimension: a length with channels, or a sequence of features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webnnm.core.dtypes import FLOAT
from webnnm.core.shapes import Shape, count, show
from webnnm.notation.syntax import Value
from webnnm.ops.declare import checks, values
from webnnm.ops.declare.along import slice_axis
from webnnm.ops.declare.conv_layer import SLOTS, infer_bias, infer_channels, infer_kernel
from webnnm.ops.declare.conv_row import Ends, apply_to_row, find_roles, read_ends
from webnnm.ops.declare.convolution import slide
from webnnm.ops.declare.features import Conflict
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, ValueOption
from webnnm.ops.declare.layout import LayoutTensor, Role
from webnnm.ops.declare.operator import Composite, Option, Slot, sample
from webnnm.ops.declare.padded_sequences import pad_front, resize_mask
from webnnm.ops.declare.padding import fill_padding
from webnnm.ops.declare.spatial import numbers
from webnnm.ops.declare.tensors import Builder, Tensor
from webnnm.ops.declare.windows import reach, same_padding


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
    """Return the convolution as that of an image with one row."""
    sizes = {"padding": padding, "strides": strides, "dilations": dilations}
    return apply_to_row(b.conv2d, b, x, kernel, bias, input_layout, groups=groups, **sizes)


PADDINGS = ("same", "valid")


def _padding(value: Value) -> Ends | str:
    """Read a number, `[beginning, ending]`, `same` or `valid`."""
    try:
        mode = values.choice(*PADDINGS)(value)
    except ValueError:
        pass
    else:
        return (0, 0) if mode == "valid" else mode
    return read_ends(value)


def _ends(options: Mapping[str, Any], size: int, length: int) -> Ends:
    """Return the padding at both ends."""
    padding: Ends | str = options["padding"]
    if isinstance(padding, str):
        return same_padding(size, reach(length, options["dilations"]), options["strides"])
    return padding


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
    result = layer.result.dims
    outer = result[channels] if result and len(result) > channels else None
    infer_channels(layer, kernel, "oil", source.dims[channels], outer, shared="i")
    infer_kernel(layer, kernel, 2, options["kernel"])
    dims = list(source.dims)
    names = list[str | None](source.names)
    dims[channels], names[channels] = kernel.dims[0], "channels"
    if isinstance(length, int):
        names[length] = "length"
        _infer_length(layer, length, dims)
    try:
        layer.result.unify(dims)
    except Conflict:
        layer.fail("NNM402", f"declared {layer.result}, inferred {show(dims)}", at="shape")
    layer.result.set_names(names)
    layer.result.set_sequence(source.sequence)
    infer_bias(layer, dims[channels])


def _infer_length(layer: ShapeView, axis: int, dims: list[int | None]) -> None:
    """Put the length of the result into `dims`, or infer the kernel from it."""
    kernel, options, size = layer.operands[1], layer.options, dims[axis]
    assert kernel.dims is not None
    out = (layer.result.dims or [None] * 2)[axis]
    explicit = not isinstance(options["padding"], str)
    if explicit and size and out and (options["strides"], options["dilations"]) == (1, 1):
        infer_kernel(layer, kernel, 2, size + sum(options["padding"]) - out + 1)
    length = kernel.dims[2]
    dims[axis] = _count(options, size, length) if size and length else None


def _count(options: Mapping[str, Any], size: int, length: int) -> int:
    padding = (0, 0, *_ends(options, size, length))
    steps = (1, options["strides"]), (1, options["dilations"])
    return slide((1, size), (1, length), padding, *steps)[1].count


def _build(b: Builder, layer: BuildView) -> LayoutTensor:
    source, kernel, options = layer.operands[0], layer.operands[1], layer.options
    bias = layer.tensors.get("bias")
    if kernel.lead or (bias and bias.lead):
        layer.fail("NNM405", "filter and bias must have neither batch nor sequence")
    length, channels = find_roles(layer, layer.features[0].names)
    lead: tuple[Role, ...] = tuple(role for role in source.layout if role not in (length, channels))
    tail: tuple[Role, ...] = tuple(role for role in source.layout if role in (length, channels))
    padding = _ends(options, source.size(length), kernel.features[2])
    image, mask, steps = source.reorder((*lead, *tail)).tensor, source.mask, 0
    if mask is not None and length == "sequence":
        source = source.reorder((*lead, *tail))
        image, padding, steps = _with_own_ends(b, source, kernel.features[2], options)
        mask = resize_mask(b, mask, lambda n: _steps(options, n, kernel.features[2]), steps)
    rows = image.shape[: len(lead)]
    if len(rows) != 1:
        image = b.reshape(image, new_shape=(count(rows), *image.shape[len(rows) :]))
    result = b.apply(
        layer.operator,
        [image, kernel.canonical().tensor],
        {
            "bias": bias and bias.tensor,
            "padding": padding,
            "strides": options["strides"],
            "dilations": options["dilations"],
            "groups": options["groups"],
            "input_layout": "nlc" if tail[0] == length else "ncl",
        },
    )
    if len(rows) != 1:
        result = b.reshape(result, new_shape=(*rows, *result.shape[1:]))
    if steps:
        result = slice_axis(b, result, (*lead, *tail).index(length), 0, steps)
    return LayoutTensor(result, (*lead, *tail), source.sequence, mask)


def _steps(options: Mapping[str, Any], size: int, length: int) -> int:
    """Return the number of steps of the result, 0 if the filter does not fit."""
    ends = _ends(options, size, length)
    fits = size + sum(ends) >= reach(length, options["dilations"])
    return _count(options, size, length) if fits else 0


def _with_own_ends(
    b: Builder, source: LayoutTensor, length: int, options: Mapping[str, Any]
) -> tuple[Tensor, Ends, int]:
    """Return a padded sequence with zeros after each row, and with its padding before it.

    Also returns the padding that remains to be applied, and the number of valid result steps.
    """
    n, axis = source.size("sequence"), source.position("sequence")
    zeroed = fill_padding(b, source, 0)
    ends = [_ends(options, size, length) for size in range(n + 1)]
    steps = _steps(options, n, length)
    front = [before for before, _ in ends]
    if len(set(front[1:])) == 1:
        return zeroed, ends[n], steps
    # `same` with strides shifts the middle of each row.
    image = pad_front(b, source, zeroed, axis, lambda size: front[size])
    needed = (steps - 1) * options["strides"] + reach(length, options["dilations"])
    return image, (0, max(needed - image.shape[axis], 0)), steps


def _fans(shape: Shape, options: Mapping[str, Any]) -> tuple[int, int]:
    outer, inner, length = shape
    return inner * length, outer // options["groups"] * length


conv1d = Composite(
    name="conv1d",
    traits=frozenset({"product", "convolution", "windowed", "sequential"}),
    summary="convolution along one dimension",
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
            "padding": ValueOption(read=_padding, default=(0, 0), words=PADDINGS),
            "strides": ValueOption(read=values.integer(1), default=1),
            "dilations": ValueOption(read=values.integer(1), default=1),
            "groups": ValueOption(read=values.integer(1), default=1),
        },
        shape=_shape,
        build=_build,
        fans=_fans,
    ),
    samples=(
        sample((2, 3, 7), (2, 3, 3)),
        sample((1, 6, 4), (2, 2, 2), (2,), input_layout="nlc", groups=2, strides=2),
        sample((1, 2, 8), (2, 2, 3), padding=(1, 2), dilations=2),
    ),
)
