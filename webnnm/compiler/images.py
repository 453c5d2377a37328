"""Rewrites of pooling and convolution for backends that refuse or miscount padding."""

from __future__ import annotations

from webnnm.core.dtypes import DataType, integer_range, is_float
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Node, Operand, OperatorNode
from webnnm.graph.transforms.rewrite import Replacement, decompose_node


def decompose_dilated_pool(b: GraphBuilder, node: Node) -> Replacement | None:
    """A pool with gaps in its windows → windows split up and reduced, axis by axis."""
    if not isinstance(node, OperatorNode) or node.options["dilations"] == (1, 1):
        return None
    (x,) = node.operands
    if x is not None and x.dtype == "float16" and node.operator.name == "l2Pool2d":
        # The squares of float16 numbers exceed the range of float16.
        wide = b.l2_pool2d(b.cast(x, type="float32"), **node.options)
        return b.cast(wide, type="float16")
    return decompose_node(b, node)


def pad_before_pool(b: GraphBuilder, node: Node) -> Operand | None:
    """A pool with padding → pad, pool without padding, weight by the real cells of each window."""
    from webnnm.ops.pool2d import axes, pool_windows, real_cells

    if not isinstance(node, OperatorNode) or node.options["dilations"] != (1, 1):
        return None
    x, options = node.operands[0], node.options
    assert x is not None
    windows = pool_windows(x.shape, **options)
    if not any(part.padded for part in windows) or _is_same(node):
        return None
    begin, end = [0] * 4, [0] * 4
    for axis, part in zip(axes(options["layout"]), windows, strict=True):
        begin[axis], end[axis] = part.before, max(part.after, 0)
    name = node.operator.name
    padded = b.pad(
        x,
        beginning_padding=begin,
        ending_padding=end,
        value=_lowest(x.dtype) if name == "maxPool2d" else 0.0,
    )
    pooled = b.apply(
        node.operator,
        [padded],
        {
            "window_dimensions": tuple(part.length for part in windows),
            "strides": options["strides"],
            "layout": options["layout"],
        },
    )
    if name != "averagePool2d":
        return pooled
    window_size = windows[0].length * windows[1].length
    return pooled / real_cells(b, x, options["layout"], *windows, unit=window_size)


def _lowest(dtype: DataType) -> float:
    return float("-inf") if is_float(dtype) else integer_range(dtype)[0]


def _is_same(node: OperatorNode) -> bool:
    """Return whether the padding is what LiteRT calls SAME, with which it pools correctly.

    The norm is an exception: Chromium computes it from a mean and the size of the whole window.
    """
    from webnnm.ops.declare.windows import same_padding
    from webnnm.ops.pool2d import pool_windows

    x, padding = node.operands[0], node.options["padding"]
    assert x is not None
    return node.operator.name != "l2Pool2d" and all(
        padding[2 * k : 2 * k + 2] == same_padding(part.size, part.span, part.stride)
        and part.count == -(-part.size // part.stride)
        for k, part in enumerate(pool_windows(x.shape, **node.options))
    )


def decompose_grouped_transpose(b: GraphBuilder, node: Node) -> Replacement | None:
    """A transposed convolution with groups or dilations → a convolution of the spread image."""
    if not isinstance(node, OperatorNode):
        return None
    if node.options["groups"] == 1 and node.options["dilations"] == (1, 1):
        return None
    return decompose_node(b, node)


def crop_padded_transpose(b: GraphBuilder, node: Node) -> Operand | None:
    """A transposed convolution with padding → one without, cut to size."""
    from webnnm.ops.declare.convolution import grow
    from webnnm.ops.declare.spatial import height_width, sizes_by_letter
    from webnnm.ops.declare.windows import reach

    if not isinstance(node, OperatorNode) or not any(node.options["padding"]):
        return None
    x, kernel, bias = node.operands
    assert x is not None
    assert kernel is not None
    options = node.options
    sizes = height_width(sizes_by_letter(options["input_layout"], x.shape))
    window = height_width(sizes_by_letter(options["filter_layout"], kernel.shape))
    out = grow(sizes, window, **options)
    starts, lengths, missing = [0] * 4, list(node.types[0].shape), [0, 0]
    for k, letter in enumerate("hw"):
        starts[options["input_layout"].index(letter)] = first = options["padding"][2 * k]
        full = (sizes[k] - 1) * options["strides"][k] + reach(window[k], options["dilations"][k])
        missing[k] = max(first + out[k] - full, 0)
    uncropped = b.conv_transpose2d(
        x,
        kernel,
        bias=bias,
        **{
            **options,
            "padding": (0, 0, 0, 0),
            "output_padding": tuple(missing),
            "output_sizes": None,
        },
    )
    return b.slice(uncropped, starts=starts, sizes=lengths)


def crop_unread_cells(b: GraphBuilder, node: Node) -> Operand | None:
    """A padded convolution with trailing cells that no window reads → the same without them."""
    from webnnm.ops.declare.spatial import height_width, sizes_by_letter
    from webnnm.ops.declare.windows import reach

    if not isinstance(node, OperatorNode) or not any(node.options["padding"]):
        return None
    x, kernel, bias = node.operands
    assert x is not None
    assert kernel is not None
    options, layout = node.options, node.options["input_layout"]
    window = height_width(sizes_by_letter(options["filter_layout"], kernel.shape))
    out = height_width(sizes_by_letter(layout, node.types[0].shape))
    sizes = list(x.shape)
    for k, letter in enumerate("hw"):
        if not any(options["padding"][2 * k : 2 * k + 2]):
            axis: int = layout.index(letter)
            read: int = (out[k] - 1) * options["strides"][k]
            read += reach(window[k], options["dilations"][k])
            sizes[axis] = min(sizes[axis], read)
    if tuple(sizes) == x.shape:
        return None
    return b.conv2d(b.slice(x, starts=[0] * 4, sizes=sizes), kernel, bias=bias, **options)
