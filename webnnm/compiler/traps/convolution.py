"""Known traps of convolution and pooling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from webnnm.compiler.traps.evidence import Probe, Sketch, SketchTensor, Values
from webnnm.compiler.traps.trap import Trap
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Node
from webnnm.graph.transforms.rewrite import Replacement

POOLS = frozenset({"averagePool2d", "l2Pool2d", "maxPool2d"})


def _import_rule(name: str) -> Callable[[GraphBuilder, Node], Replacement | None]:
    """Return a rule of `compiler/images.py`, which only models with images need."""

    def rule(b: GraphBuilder, node: Node) -> Replacement | None:
        from webnnm.compiler import images

        return getattr(images, name)(b, node)

    return rule


def _draw_square(g: Sketch, size: int) -> SketchTensor:
    """Return an image of one channel with the numbers 1, 2, 3, …"""
    return g.tensor([float(n + 1) for n in range(size * size)], "float32", [1, 1, size, size])


def _image_values(values: list[float], size: int) -> Values:
    return Values(values, "float32", [1, 1, size, size])


def _draw_transposed_convolution(g: Sketch, padding: list[int], **options: Any) -> SketchTensor:
    """Return 1 and 2 in a row, convolved with 1 and 10."""
    x = g.tensor([1.0, 2.0], "float32", [1, 1, 1, 2])
    kernel = g.constant([1.0, 10.0], "float32", [1, 1, 1, 2])
    return g.convTranspose2d(x, kernel, padding=[0, 0, *padding], **options)


def _row_values(values: list[float]) -> Values:
    return Values(values, "float32", [1, 1, 1, len(values)])


TRAPS = (
    Trap(
        operators=POOLS,
        reason="dilations are refused; windows are split up and reduced along each axis",
        evidence=(
            Probe(
                lambda g: [
                    g.averagePool2d(_draw_square(g, 3), windowDimensions=[2, 2], dilations=[2, 2]),
                    g.maxPool2d(_draw_square(g, 3), windowDimensions=[2, 2], dilations=[2, 2]),
                    g.l2Pool2d(_draw_square(g, 3), windowDimensions=[2, 2], dilations=[2, 2]),
                ],
                [_image_values([5.0], 1), _image_values([9.0], 1), _image_values([140**0.5], 1)],
                alone=True,
            ),
        ),
        rule=_import_rule("decompose_dilated_pool"),
    ),
    Trap(
        operators=POOLS,
        reason="padding, and the cells that rounding up adds beyond it, would count as zeros in "
        "averages and maxima; the image is padded first",
        evidence=(
            Probe(
                lambda g: [
                    g.averagePool2d(
                        _draw_square(g, 2), windowDimensions=[2, 2], padding=[1, 1, 1, 1]
                    ),
                    g.maxPool2d(
                        g.tensor([-1.0, -2.0, -3.0, -4.0], "float32", [1, 1, 2, 2]),
                        windowDimensions=[2, 2],
                        padding=[1, 1, 1, 1],
                    ),
                    g.l2Pool2d(_draw_square(g, 2), windowDimensions=[2, 2], padding=[1, 1, 1, 1]),
                ],
                [
                    _image_values([1.0, 1.5, 2.0, 2.0, 2.5, 3.0, 3.0, 3.5, 4.0], 3),
                    _image_values([-1.0, -1.0, -2.0, -1.0, -1.0, -2.0, -3.0, -3.0, -4.0], 3),
                    _image_values([n**0.5 for n in (1, 5, 4, 10, 30, 20, 9, 25, 16)], 3),
                ],
            ),
        ),
        rule=_import_rule("pad_before_pool"),
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
                lambda g: _draw_transposed_convolution(g, [0, 0], dilations=[1, 2]),
                _row_values([1.0, 2.0, 10.0, 20.0]),
                alone=True,
            ),
        ),
        rule=_import_rule("decompose_grouped_transpose"),
    ),
    Trap(
        operators=frozenset({"convTranspose2d"}),
        reason="padding is refused, or gives wrong numbers; the result is cut to size instead",
        evidence=(
            Probe(
                lambda g: _draw_transposed_convolution(g, [1, 0]),
                _row_values([12.0, 20.0]),
                alone=True,
            ),
            Probe(
                lambda g: _draw_transposed_convolution(g, [1, 1]), _row_values([12.0]), alone=True
            ),
        ),
        rule=_import_rule("crop_padded_transpose"),
    ),
    Trap(
        operators=frozenset({"conv2d"}),
        reason="with padding along one axis, trailing cells that no window reads along the other "
        "would make the result that of an image of zeros; they are cut off",
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
        rule=_import_rule("crop_unread_cells"),
    ),
)
