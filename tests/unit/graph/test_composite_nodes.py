"""Composites in the graph: what follows from a decomposition, and when a node stays whole."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.compiler.legalising import legalise
from webnnm import GraphBuilder, gradients
from webnnm.backends.reference import evaluate
from webnnm.compiler.plan import lower
from webnnm.graph.node import Graph, Operand, OperatorNode
from webnnm.ops.declare import checks
from webnnm.ops.declare.operator import Composite, Option, Slot, sample
from webnnm.ops.declare.tensors import Builder, Tensor

np = pytest.importorskip("numpy")


def _square_and_root(b: Builder, x: Tensor, *, scale: float) -> tuple[Tensor, Tensor]:
    return x * x * scale, b.sqrt(x)


PAIR = Composite(
    name="squareAndRoot",
    summary="x² times a scale, and √x",
    operands=(Slot(name="input"),),
    options={"scale": Option(1.0, checks.number)},
    decompose=_square_and_root,
    layer=None,
    samples=(sample((2,), scale=2.0),),
)
NATIVE = replace(PAIR, native="squareAndRoot", covers=lambda scale: scale < 10)


def apply(operator: Composite, **options: Any) -> tuple[Operand, tuple[Operand, Operand]]:
    b = GraphBuilder()
    x = b.input("x", "float32", [2])
    return x, b.apply(operator, [x], options)


def operators(graph: Graph) -> list[str]:
    return [node.operator.name for node in graph.nodes() if isinstance(node, OperatorNode)]


def test_composite_without_a_method_is_inlined() -> None:
    x, (square, root) = apply(PAIR, scale=3)
    assert operators(x.builder.build({"y": square, "z": root})) == ["mul", "mul", "sqrt"]


def test_composite_with_a_method_stays_one_node() -> None:
    x, (square, root) = apply(NATIVE, scale=3)
    assert (square.node, root.node) == (root.node, square.node)
    assert [square.type, root.type] == [x.type, x.type]
    (call,) = lower(x.builder.build({"y": square, "z": root})).content["operators"]
    assert (call["op"], call["options"], len(call["results"])) == (
        "squareAndRoot",
        {"scale": 3.0},
        2,
    )


def test_options_that_the_method_lacks_are_decomposed() -> None:
    x, (square, _) = apply(NATIVE, scale=10)
    assert operators(x.builder.build({"y": square})) == ["mul", "mul"]


def test_result_is_that_of_the_decomposition() -> None:
    x, (square, root) = apply(NATIVE, scale=2)
    found = evaluate(x.builder.build({"y": square, "z": root}), {"x": [1, 4]})
    assert found["y"].tolist() == [2, 32]
    assert found["z"].tolist() == [1, 2]


def test_given_kernel_replaces_the_decomposition() -> None:
    kernel = replace(NATIVE, reference=lambda np, x, *, scale: (x + scale, x))
    x, (square, _) = apply(kernel, scale=2)
    assert evaluate(x.builder.build({"y": square}), {"x": [1, 4]})["y"].tolist() == [3, 6]


def test_gradient_follows_from_the_decomposition() -> None:
    x, (square, root) = apply(NATIVE, scale=2)
    (dx,) = gradients((square + root).reduce_sum(), [x])
    found = evaluate(x.builder.build({"dx": dx}), {"x": [1, 4]})["dx"]
    np.testing.assert_allclose(found, [4 + 0.5, 16 + 0.25])


def test_gradient_of_one_result_alone() -> None:
    x, (_, root) = apply(NATIVE, scale=2)
    (dx,) = gradients(root.reduce_sum(), [x])
    assert evaluate(x.builder.build({"dx": dx}), {"x": [1, 4]})["dx"].tolist() == [0.5, 0.25]


def test_derived_gradients_may_be_differentiated_again() -> None:
    x, (square, root) = apply(NATIVE, scale=2)
    (dx,) = gradients((square + root).reduce_sum(), [x])
    (ddx,) = gradients(dx.reduce_sum(), [x])
    found = evaluate(x.builder.build({"y": ddx}), {"x": [1, 4]})["y"]
    np.testing.assert_allclose(found, [4 - 0.25, 4 - 0.25 / 8])


PRODUCT = Composite(
    name="productOf",
    summary="a · b",
    operands=(Slot(name="a"), Slot(name="b", like=0)),
    options={},
    decompose=lambda b, x, y: x * y,
    layer=None,
    samples=(sample((2,), (2,)),),
    native="productOf",
)


def test_operands_may_depend_on_one_another() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [2])
    y = b.apply(PRODUCT, [x, b.exp(x)], {})
    (dx,) = gradients(y.reduce_sum(), [x])
    found = evaluate(b.build({"dx": dx}), {"x": [0, 1]})["dx"]
    np.testing.assert_allclose(found, [1, 2 * np.e], rtol=1e-6)


def test_operand_may_be_given_twice() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [2])
    (dx,) = gradients(b.apply(PRODUCT, [x, x], {}).reduce_sum(), [x])
    assert evaluate(b.build({"dx": dx}), {"x": [1, 4]})["dx"].tolist() == [2, 8]


def test_operands_that_repeat_receive_the_sum() -> None:
    b = GraphBuilder()
    x, y = b.input("x", "float32", [2, 3]), b.input("y", "float32", [3])
    _, dy = gradients(b.apply(PRODUCT, [x, y], {}).reduce_sum(), [x, y])
    assert dy.shape == (3,)


def test_browser_without_the_method_gets_the_decomposition() -> None:
    x, (square, _) = apply(NATIVE, scale=2)
    graph, rewrites = legalise(x.builder.build({"y": square}), {"mul": {}, "identity": {}})
    assert operators(graph) == ["mul", "mul"]
    assert rewrites == ["squareAndRoot: decomposed, because the browser lacks this operator"]


def test_browser_with_the_method_keeps_the_node() -> None:
    x, (square, _) = apply(NATIVE, scale=2)
    graph = x.builder.build({"y": square})
    assert legalise(graph, {"squareAndRoot": {}})[0] is graph


def test_types_that_the_method_lacks_are_decomposed_where_no_cast_helps() -> None:
    x, (square, _) = apply(NATIVE, scale=2)
    float16 = {"input": {"dataTypes": ["float16"]}}
    graph, rewrites = legalise(
        x.builder.build({"y": square}), {"squareAndRoot": float16, "mul": {}}
    )
    assert operators(graph) == ["mul", "mul"]
    assert rewrites == ["squareAndRoot: computed with other operators, because it takes float16"]
