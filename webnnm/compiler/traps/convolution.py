"""Known traps of convolution and pooling."""

from __future__ import annotations

from typing import Any

from webnnm.compiler.traps.evidence import Drawn, Probe, Sketch, Values
from webnnm.compiler.traps.trap import Trap
from webnnm.core.dtypes import DataType, integer_range, is_float
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Node, Operand, OperatorNode
from webnnm.graph.rewrite import Replacement, decomposed

POOLS = frozenset({"averagePool2d", "l2Pool2d", "maxPool2d"})


def _dilated_pool(b: GraphBuilder, node: Node) -> Replacement | None:
    """A pool with gaps in its windows → windows taken apart and reduced, axis by axis."""
    if not isinstance(node, OperatorNode) or node.options["dilations"] == (1, 1):
        return None
    return decomposed(b, node)


def _padded_pool(b: GraphBuilder, node: Node) -> Operand | None:
    """A pool with padding → pad, pool without padding, weigh by the real cells of each window."""
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
        value=_least(x.dtype) if name == "maxPool2d" else 0.0,
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
    whole = windows[0].length * windows[1].length
    return pooled / real_cells(b, x, options["layout"], *windows, unit=whole)


def _least(dtype: DataType) -> float:
    return float("-inf") if is_float(dtype) else integer_range(dtype)[0]


def _is_same(node: OperatorNode) -> bool:
    """Tell whether the padding is what LiteRT calls SAME, with which it pools as it should.

    All but the norm, which Chromium makes from a mean and the size of the whole window.
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


def _grouped_transpose(b: GraphBuilder, node: Node) -> Replacement | None:
    """A transposed convolution with groups or dilations → a convolution of the spread image."""
    if not isinstance(node, OperatorNode):
        return None
    if node.options["groups"] == 1 and node.options["dilations"] == (1, 1):
        return None
    return decomposed(b, node)


def _padded_transpose(b: GraphBuilder, node: Node) -> Operand | None:
    """A transposed convolution with padding → one without, cut to size."""
    from webnnm.ops.declare.convolution import grow
    from webnnm.ops.declare.spatial import height_width, lettered
    from webnnm.ops.declare.windows import reach

    if not isinstance(node, OperatorNode) or not any(node.options["padding"]):
        return None
    x, kernel, bias = node.operands
    assert x is not None
    assert kernel is not None
    options = node.options
    sizes = height_width(lettered(options["input_layout"], x.shape))
    window = height_width(lettered(options["filter_layout"], kernel.shape))
    out = grow(sizes, window, **options)
    starts, lengths, missing = [0] * 4, list(node.types[0].shape), [0, 0]
    for k, letter in enumerate("hw"):
        starts[options["input_layout"].index(letter)] = first = options["padding"][2 * k]
        full = (sizes[k] - 1) * options["strides"][k] + reach(window[k], options["dilations"][k])
        missing[k] = max(first + out[k] - full, 0)
    whole = b.conv_transpose2d(
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
    return b.slice(whole, starts=starts, sizes=lengths)


def _unread(b: GraphBuilder, node: Node) -> Operand | None:
    """A padded convolution whose last cells no window reads → the same without these cells."""
    from webnnm.ops.declare.spatial import height_width, lettered
    from webnnm.ops.declare.windows import reach

    if not isinstance(node, OperatorNode) or not any(node.options["padding"]):
        return None
    x, kernel, bias = node.operands
    assert x is not None
    assert kernel is not None
    options, layout = node.options, node.options["input_layout"]
    window = height_width(lettered(options["filter_layout"], kernel.shape))
    out = height_width(lettered(layout, node.types[0].shape))
    sizes = list(x.shape)
    for k, letter in enumerate("hw"):
        if not any(options["padding"][2 * k : 2 * k + 2]):
            axis: int = layout.index(letter)
            read = (out[k] - 1) * options["strides"][k]
            read += reach(window[k], options["dilations"][k])
            sizes[axis] = min(sizes[axis], read)
    if tuple(sizes) == x.shape:
        return None
    return b.conv2d(b.slice(x, starts=[0] * 4, sizes=sizes), kernel, bias=bias, **options)


def _square(g: Sketch, size: int) -> Drawn:
    """Return an image of one channel with the numbers 1, 2, 3, …"""
    return g.tensor([float(n + 1) for n in range(size * size)], "float32", [1, 1, size, size])


def _image(values: list[float], size: int) -> Values:
    return Values(values, "float32", [1, 1, size, size])


def _spread(g: Sketch, padding: list[int], **options: Any) -> Drawn:
    """Return 1 and 2 in a row, convolved with 1 and 10."""
    x = g.tensor([1.0, 2.0], "float32", [1, 1, 1, 2])
    kernel = g.constant([1.0, 10.0], "float32", [1, 1, 1, 2])
    return g.convTranspose2d(x, kernel, padding=[0, 0, *padding], **options)


def _line(values: list[float]) -> Values:
    return Values(values, "float32", [1, 1, 1, len(values)])


TRAPS = (
    Trap(
        operators=POOLS,
        reason="dilations are refused; windows are taken apart and reduced along each axis",
        evidence=(
            Probe(
                lambda g: [
                    g.averagePool2d(_square(g, 3), windowDimensions=[2, 2], dilations=[2, 2]),
                    g.maxPool2d(_square(g, 3), windowDimensions=[2, 2], dilations=[2, 2]),
                    g.l2Pool2d(_square(g, 3), windowDimensions=[2, 2], dilations=[2, 2]),
                ],
                [_image([5.0], 1), _image([9.0], 1), _image([140**0.5], 1)],
                alone=True,
            ),
        ),
        rule=_dilated_pool,
    ),
    Trap(
        operators=POOLS,
        reason="padding, and what rounding up reaches beyond it, would count in averages and win "
        "maxima as zeros; the image is padded before",
        evidence=(
            Probe(
                lambda g: [
                    g.averagePool2d(_square(g, 2), windowDimensions=[2, 2], padding=[1, 1, 1, 1]),
                    g.maxPool2d(
                        g.tensor([-1.0, -2.0, -3.0, -4.0], "float32", [1, 1, 2, 2]),
                        windowDimensions=[2, 2],
                        padding=[1, 1, 1, 1],
                    ),
                    g.l2Pool2d(_square(g, 2), windowDimensions=[2, 2], padding=[1, 1, 1, 1]),
                ],
                [
                    _image([1.0, 1.5, 2.0, 2.0, 2.5, 3.0, 3.0, 3.5, 4.0], 3),
                    _image([-1.0, -1.0, -2.0, -1.0, -1.0, -2.0, -3.0, -3.0, -4.0], 3),
                    _image([n**0.5 for n in (1, 5, 4, 10, 30, 20, 9, 25, 16)], 3),
                ],
            ),
        ),
        rule=_padded_pool,
    ),
    Trap(
        operators=frozenset({"convTranspose2d"}),
        reason="groups and dilations are refused; computed as a convolution of the image spread "
        "with zeros",
        evidence=(
            Probe(
                lambda g: g.convTranspose2d(
                    g.tensor([2.0, 3.0], "float32", [1, 2, 1, 1]),
                    g.constant([1.0, 10.0, 100.0, 1000.0], "float32", [2, 1, 1, 2]),
                    groups=2,
                ),
                Values([2.0, 20.0, 300.0, 3000.0], "float32", [1, 2, 1, 2]),
                alone=True,
            ),
            Probe(
                lambda g: _spread(g, [0, 0], dilations=[1, 2]),
                _line([1.0, 2.0, 10.0, 20.0]),
                alone=True,
            ),
        ),
        rule=_grouped_transpose,
    ),
    Trap(
        operators=frozenset({"convTranspose2d"}),
        reason="padding is refused, or gives wrong numbers; the result is cut to size instead",
        evidence=(
            Probe(lambda g: _spread(g, [1, 0]), _line([12.0, 20.0]), alone=True),
            Probe(lambda g: _spread(g, [1, 1]), _line([12.0])),
        ),
        rule=_padded_transpose,
    ),
    Trap(
        operators=frozenset({"conv2d"}),
        reason="with padding along one axis, last cells that no window reads along the other "
        "would make the result that of zeros; they are cut off",
        evidence=(
            Probe(
                lambda g: g.conv2d(
                    g.tensor([1.0, 2.0, 3.0, 4.0], "float32", [1, 2, 2, 1]),
                    g.constant([1.0, 10.0], "float32", [1, 2, 1, 1]),
                    bias=g.constant([0.5]),
                    padding=[0, 1, 0, 0],
                    strides=[1, 2],
                    inputLayout="nhwc",
                    filterLayout="ohwi",
                ),
                Values([31.5, 3.5], "float32", [1, 2, 1, 1]),
            ),
        ),
        rule=_unread,
    ),
)
