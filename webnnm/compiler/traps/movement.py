"""Traps of operators that move data: indices that vary or repeat, padding, resampling."""

from __future__ import annotations

from math import gcd

from webnnm.compiler.traps.evidence import Probe, Sketch, SketchTensor, Values
from webnnm.compiler.traps.trap import Trap
from webnnm.core.shapes import count
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Node, Operand, OperatorNode
from webnnm.graph.transforms.rewrite import Replacement, decompose_node
from webnnm.ops.declare.constants import constant_values
from webnnm.ops.declare.indices import constant_elements, constant_positions, distinct


def _gather_edges(b: GraphBuilder, node: Node) -> Replacement | None:
    """Padding that repeats the edge → a gather along each padded axis."""
    if not isinstance(node, OperatorNode) or node.options["mode"] != "edge":
        return None
    return decompose_node(b, node)


def _drop_large_strides(b: GraphBuilder, node: Node) -> Operand | None:
    """A stride beyond the size of a slice, which takes one element → a slice of size 1."""
    if not isinstance(node, OperatorNode):
        return None
    starts, sizes, strides = (node.options[name] for name in ("starts", "sizes", "strides"))
    if strides is None or all(s <= n for n, s in zip(sizes, strides, strict=True)):
        return None
    pairs = [(1, 1) if s > n else (n, s) for n, s in zip(sizes, strides, strict=True)]
    return b.slice(
        node.operands[0],
        starts=starts,
        sizes=[size for size, _ in pairs],
        strides=[stride for _, stride in pairs],
    )


def _gather_elements(b: GraphBuilder, node: Node) -> Replacement | None:
    """Elements by computed indices → one gather from the flattened elements."""
    if not isinstance(node, OperatorNode) or constant_values(node.operands[1]) is not None:
        return None
    return decompose_node(b, node)


def _scatter_elements(b: GraphBuilder, node: Node) -> Replacement | None:
    """Elements replaced by indices that vary or repeat → gathered from themselves and updates."""
    if not isinstance(node, OperatorNode):
        return None
    x, indices, _ = node.operands
    assert x is not None
    assert indices is not None
    if distinct(constant_elements(indices, x.shape, node.options["axis"])):
        return None
    return decompose_node(b, node)


def _scatter_slices(b: GraphBuilder, node: Node) -> Replacement | None:
    """Slices replaced by indices that may repeat → gathered from themselves and the updates."""
    if not isinstance(node, OperatorNode):
        return None
    x, indices, updates = node.operands
    assert x is not None
    assert indices is not None
    assert updates is not None
    single = count(indices.shape[:-1]) == 1
    if single or distinct(constant_positions(indices, x.shape[: indices.shape[-1]])):
        return None
    return decompose_node(b, node)


def _scatter_as_int64(b: GraphBuilder, node: Node) -> Operand | None:
    """uint32 replaced by indices → the same in int64."""
    if not isinstance(node, OperatorNode):
        return None
    x, indices, updates = node.operands
    assert x is not None
    if x.dtype != "uint32":
        return None
    widened = [o and b.cast(o, type="int64") for o in (x, updates)]
    result = b.apply(node.operator, [widened[0], indices, widened[1]], node.options)
    return b.cast(result, type=x.dtype)


def _gather_nearest(b: GraphBuilder, node: Node) -> Replacement | None:
    """The nearest cell of a centre on a border, if the ratio of sizes is inexact → a gather."""
    if not isinstance(node, OperatorNode) or node.options["mode"] != "nearest-neighbor":
        return None
    x, result = node.operands[0], node.types[0].shape
    assert x is not None
    for size, target in zip(x.shape, result, strict=True):
        common = gcd(size, target)
        # Centre i is at (i + ½) · size / target, an integer for some i if size / common is even.
        if size // common % 2 == 0 and target > common:
            return decompose_node(b, node)
    return None


RESAMPLED_SIZES = ((2, 3), (12, 37), (14, 23), (16, 41))
"""Sizes of rows before and after resampling; LiteRT takes wrong cells in all but the first."""


def _draw_row(g: Sketch, size: int) -> SketchTensor:
    """Return an image of one row with the numbers 0, 1, 2, …"""
    return g.tensor([float(n) for n in range(size)], "float32", [1, 1, 1, size])


TRAPS = (
    Trap(
        operators=frozenset({"scatterElements", "scatterND"}),
        reason="uint32 fails to build; computed in int64",
        evidence=(
            Probe(
                lambda g: g.scatterND(
                    g.tensor([1, 2, 3], "uint32"),
                    g.constant([[1]], "int32"),
                    g.tensor([7], "uint32"),
                ),
                Values([1, 7, 3], "uint32"),
                alone=True,
            ),
        ),
        rule=_scatter_as_int64,
    ),
    Trap(
        operators=frozenset({"pad"}),
        reason="padding with the edge is refused; every padded axis is gathered",
        evidence=(
            Probe(
                lambda g: g.pad(g.tensor([1.0, 2.0]), [1], [2], mode="edge"),
                Values([1.0, 1.0, 2.0, 2.0, 2.0]),
                alone=True,
            ),
        ),
        rule=_gather_edges,
    ),
    Trap(
        operators=frozenset({"slice"}),
        reason="a stride larger than the size is refused; the one element is sliced without it",
        evidence=(
            Probe(
                lambda g: g.slice(
                    g.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), [1, 0], [1, 3], strides=[2, 2]
                ),
                Values([[4.0, 6.0]]),
                alone=True,
            ),
        ),
        rule=_drop_large_strides,
    ),
    Trap(
        operators=frozenset({"gatherElements"}),
        reason="indices that are not constant are refused; gathered from the flattened elements",
        evidence=(
            Probe(
                lambda g: g.gatherElements(g.tensor([10.0, 20.0, 30.0]), g.tensor([2, 0], "int32")),
                Values([30.0, 10.0]),
                alone=True,
            ),
        ),
        rule=_gather_elements,
    ),
    Trap(
        operators=frozenset({"scatterElements"}),
        reason="indices that are not constant are refused, and updates of the same element would "
        "be added together; each element is gathered from itself and its updates",
        evidence=(
            Probe(
                lambda g: g.scatterElements(
                    g.tensor([1.0, 2.0, 3.0]), g.tensor([2, 0], "int32"), g.tensor([8.0, 9.0])
                ),
                Values([9.0, 2.0, 8.0]),
                alone=True,
            ),
            Probe(
                lambda g: g.scatterElements(
                    g.tensor([1.0, 2.0, 3.0]), g.constant([1, 1], "int32"), g.tensor([7.0, 7.0])
                ),
                Values([1.0, 7.0, 3.0]),
            ),
        ),
        rule=_scatter_elements,
    ),
    Trap(
        operators=frozenset({"scatterND"}),
        reason="updates of the same element would be added together; each element is gathered "
        "from itself and the updates",
        evidence=(
            Probe(
                lambda g: g.scatterND(
                    g.tensor([1.0, 2.0, 3.0]), g.tensor([[1], [1]], "int32"), g.tensor([7.0, 7.0])
                ),
                Values([1.0, 7.0, 3.0]),
            ),
        ),
        rule=_scatter_slices,
    ),
    Trap(
        operators=frozenset({"resample2d"}),
        reason="a centre on the border of two cells would take the wrong one by rounding; the "
        "cells are gathered",
        evidence=(
            Probe(
                lambda g: [
                    g.resample2d(_draw_row(g, size), mode="nearest-neighbor", sizes=[1, target])
                    for size, target in RESAMPLED_SIZES
                ],
                [
                    # The centre of cell k is at (k + ½) · size / target.
                    Values(
                        [float((2 * k + 1) * size // (2 * target)) for k in range(target)],
                        "float32",
                        [1, 1, 1, target],
                    )
                    for size, target in RESAMPLED_SIZES
                ],
            ),
        ),
        rule=_gather_nearest,
    ),
)
