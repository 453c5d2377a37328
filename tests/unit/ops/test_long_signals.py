"""Operators on signals and pictures so large that numbers cannot be computed one by one."""

from __future__ import annotations

from webnnm import GraphBuilder
from webnnm.backends.reference import evaluate
from webnnm.core.arrays import HostArray
from webnnm.core.shapes import count
from webnnm.graph.node import ConstantNode
from webnnm.graph.transforms.rewrite import inline_composites
from webnnm.ops.declare.checks import MAX_NUMBERS
from webnnm.ops.declare.windows import Windows
from webnnm.ops.pool2d import real_cells

LENGTH = MAX_NUMBERS // 8
"""Steps whose windows of 20 have more cells than one constant may have numbers."""


def test_a_convolution_of_a_long_signal() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [1, 1, 1, LENGTH])
    kernel = b.constant([1.0] * 20, "float32", (1, 1, 1, 20))
    graph = b.build({"y": b.conv2d(x, kernel, padding=[0, 0, 10, 9])})
    signal = HostArray("float32", (1, 1, 1, LENGTH), memoryview(bytes(LENGTH * 4)))
    y = evaluate(graph, {"x": signal})["y"]
    assert y.shape == (1, 1, 1, LENGTH)
    assert not y.any()


def test_elements_of_many_lines_are_gathered_without_a_constant_of_their_places() -> None:
    b = GraphBuilder()
    x = b.input("x", "int32", [2100, 2, 2100])
    indices = b.expand(b.constant(1, "int32"), new_shape=(2100, 1, 2100))
    graph = b.build({"y": b.gather_elements(x, indices, axis=1)})
    graph = inline_composites(graph, lambda operator: operator.name == "gatherElements")
    constants = [node.array for node in graph.nodes() if isinstance(node, ConstantNode)]
    assert max(count(array.shape) for array in constants) == 2100


def test_the_real_cells_of_many_windows_are_those_of_both_axes() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [1, 1, 2100, 2100])
    windows = Windows(2100, 3, 2100, before=1)
    cells = real_cells(b, x, "nchw", windows, windows)
    assert not isinstance(cells, float)
    found = evaluate(b.build({"cells": cells}), {})["cells"]
    assert found.shape == (1, 1, 2100, 2100)
    assert found[0, 0, 0, :3].tolist() == [4, 6, 6]
    assert found[0, 0, 1, 2099] == 6
    assert found[0, 0, 5, 5] == 9
