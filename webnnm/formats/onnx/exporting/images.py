"""Entries of operators on images and of normalisations, which are channels-first in ONNX."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from webnnm.core.dtypes import is_float
from webnnm.formats.onnx.exporting.emitter import Emitter
from webnnm.formats.onnx.exporting.entry import Entry, Write
from webnnm.formats.onnx.exporting.values import Value
from webnnm.formats.sizes import Dims, is_static, static
from webnnm.graph.node import OperatorNode
from webnnm.ops.declare.letters import order
from webnnm.ops.declare.spatial import Pair, Sides
from webnnm.ops.declare.windows import Windows, reach
from webnnm.ops.pool2d import pool_windows


def _channels_first(h: Emitter, layout: str, write: Callable[[Dims], Value]) -> Value:
    """Return a channels-first result in a layout."""
    if layout == "nchw":
        return write(h.shape)
    shape = tuple(h.shape[axis] for axis in order(layout, "nchw"))
    return h.transpose(write(shape), order("nchw", layout))


def _sides(padding: Sides) -> tuple[int, ...]:
    """Return padding in ONNX's order: all beginnings, then all ends."""
    top, bottom, left, right = padding
    return top, left, bottom, right


def _operands(
    h: Emitter,
    image: tuple[Value, str],
    kernel: tuple[Value, str],
    letters: str,
    bias: Value | None,
) -> list[Value]:
    """Return image and filter, which are given with layouts, in ONNX's layouts, and the bias."""
    (x, layout), (filters, filter_layout) = image, kernel
    operands = [
        h.transpose(x, order(layout, "nchw")),
        h.transpose(filters, order(filter_layout, letters)),
    ]
    return operands if bias is None else [*operands, bias]


def _conv2d(
    h: Emitter,
    x: Value,
    kernel: Value,
    bias: Value | None,
    *,
    padding: Sides,
    strides: Pair,
    dilations: Pair,
    groups: int,
    input_layout: str,
    filter_layout: str,
) -> Value:
    operands = _operands(h, (x, input_layout), (kernel, filter_layout), "oihw", bias)
    steps = {"strides": strides, "dilations": dilations, "group": groups, "pads": _sides(padding)}
    return _channels_first(
        h, input_layout, lambda shape: h.one("Conv", operands, x.dtype, shape, **steps)
    )


def _conv_transpose2d(
    h: Emitter,
    x: Value,
    kernel: Value,
    bias: Value | None,
    *,
    output_padding: Pair,
    output_sizes: Any,
    input_layout: str,
    filter_layout: str,
    **options: Any,
) -> Value:
    operands = _operands(h, (x, input_layout), (kernel, filter_layout), "iohw", bias)
    image, cells = operands[0].shape[2:], operands[1].shape[2:]
    extra = output_padding
    if output_sizes is not None:
        sizes = [
            (size - 1) * stride + reach(static(length, "the filter"), dilation) - before - after
            for size, length, stride, dilation, before, after in zip(
                *(image, cells, options["strides"], options["dilations"]),
                *(options["padding"][::2], options["padding"][1::2]),
                strict=True,
            )
        ]
        pairs = zip(output_sizes, sizes, strict=True)
        extra = tuple(static(size - base, "the output padding") for size, base in pairs)
    steps = {
        "strides": options["strides"],
        "dilations": options["dilations"],
        "group": options["groups"],
        "pads": _sides(options["padding"]),
        "output_padding": extra,
    }
    return _channels_first(
        h, input_layout, lambda shape: h.one("ConvTranspose", operands, x.dtype, shape, **steps)
    )


# Pooling.


def _fits_window(node: OperatorNode) -> bool:
    """ONNX Runtime takes only padding smaller than the window, and pools only floats and bytes."""
    (x,) = node.operands
    assert x is not None
    windows = pool_windows(x.shape, **node.options)
    typed = is_float(x.dtype) or x.dtype in ("int8", "uint8")
    return typed and all(max(w.before, w.after) < w.length for w in windows)


def _pool(operator: str, reduction: str, **attributes: int) -> Write:
    def write(h: Emitter, x: Value, **options: Any) -> Value:
        layout = options["layout"]
        if options["window_dimensions"] is None and not any(options["padding"]):
            axes = h.integers([layout.index("h"), layout.index("w")])
            return h.one(reduction, [x, axes], keepdims=1)
        image = h.transpose(x, order(layout, "nchw"))
        steps = {**_window(image.shape, x.shape, options), **attributes}
        return _channels_first(
            h, layout, lambda shape: h.one(operator, [image], x.dtype, shape, **steps)
        )

    return write


def _window(image: Dims, shape: Dims, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a window, padded so that rounding down gives the size."""
    if is_static(shape):
        rows, columns = pool_windows([static(size, "a size") for size in shape], **options)
        pads = (rows.before, columns.before, _after(rows), _after(columns))
        length = rows.length, columns.length
    else:
        pads = _sides(options["padding"])
        length = options["window_dimensions"] or image[2:]
        if options["output_shape_rounding"] != "floor" or options["output_sizes"] is not None:
            static(image[2], "the padding of a pooling that rounds up")
            static(image[3], "the padding of a pooling that rounds up")
    common = {"strides": options["strides"], "dilations": options["dilations"]}
    length = tuple(static(size, "the window of a pooling") for size in length)
    return {"kernel_shape": length, "pads": pads, **common}


def _after(windows: Windows) -> int:
    return max(windows.after, 0)


# Normalisation.


def _last_axes(node: OperatorNode) -> bool:
    rank, axes = len(node.types[0].shape), tuple(node.options["axes"])
    return bool(axes) and axes == tuple(range(rank - len(axes), rank))


def _layer_norm(
    h: Emitter,
    x: Value,
    scale: Value | None,
    bias: Value | None,
    *,
    axes: Sequence[int],
    epsilon: float,
) -> Value:
    if scale is None:
        scale = h.expand(h.like(1, x), tuple(x.shape[axis] for axis in axes))
    operands = [x, scale, *([] if bias is None else [bias])]
    return h.one("LayerNormalization", operands, axis=axes[0], epsilon=float(epsilon))


def _second_axis(node: OperatorNode) -> bool:
    return node.options["axis"] == 1


def _batch_norm(
    h: Emitter,
    x: Value,
    mean: Value,
    variance: Value,
    scale: Value | None,
    bias: Value | None,
    *,
    axis: int,
    epsilon: float,
) -> Value:
    operands = [x, *_scale_and_bias(h, x, mean.shape, scale, bias), mean, variance]
    return h.one("BatchNormalization", operands, epsilon=float(epsilon))


def _second_letter(node: OperatorNode) -> bool:
    return node.options["layout"] == "nchw"


def _instance_norm(
    h: Emitter, x: Value, scale: Value | None, bias: Value | None, *, epsilon: float, layout: str
) -> Value:
    operands = [x, *_scale_and_bias(h, x, x.shape[1:2], scale, bias)]
    return h.one("InstanceNormalization", operands, epsilon=float(epsilon))


def _scale_and_bias(
    h: Emitter, x: Value, channels: Dims, scale: Value | None, bias: Value | None
) -> tuple[Value, Value]:
    """Return scale and bias, with neutral values in place of absent ones."""
    return scale or h.expand(h.like(1, x), channels), bias or h.expand(h.like(0, x), channels)


ENTRIES: Mapping[str, Entry] = {
    "averagePool2d": Entry(_pool("AveragePool", "ReduceMean"), _fits_window),
    "batchNormalization": Entry(_batch_norm, _second_axis),
    "conv2d": Entry(_conv2d),
    "convTranspose2d": Entry(_conv_transpose2d),
    "instanceNormalization": Entry(_instance_norm, _second_letter),
    "layerNormalization": Entry(_layer_norm, _last_axes),
    "maxPool2d": Entry(_pool("MaxPool", "ReduceMax"), _fits_window),
}
