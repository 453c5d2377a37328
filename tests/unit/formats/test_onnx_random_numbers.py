"""Random numbers of ONNX models: their distributions, and what they are drawn from."""

from __future__ import annotations

from statistics import fmean, pstdev
from typing import Any

import pytest

from tests.unit.formats.onnx_models import constant, graph, info, model, node
from webnnm.backends.reference import evaluate
from webnnm.core.arrays import HostArray
from webnnm.formats.onnx.importing.importer import import_model
from webnnm.formats.onnx.messages import NodeProto
from webnnm.graph.node import ConstantNode

AMOUNT = 4000


def draw(*nodes: NodeProto) -> list[HostArray]:
    """Return the constants that the outputs of nodes without other operands are."""
    names = [name for each in nodes for name in each.output]
    of = graph(list(nodes), [], names, constant("x", [[0.0] * 50] * 80, "float32"))
    found = import_model(model(of))
    return [
        operand.node.array
        for name in names
        for operand in found.graph.outputs[name].node.operands  # an output is a copy
        if isinstance(operand.node, ConstantNode)
    ]


@pytest.mark.parametrize("text", ["y = RandomNormal()", "y = RandomNormalLike(x)"])
def test_normal_numbers(text: str) -> None:
    shape: dict[str, Any] = {} if "x" in text else {"shape": [80, 50]}
    (y,) = draw(node(text, mean=2.0, scale=3.0, **shape))
    assert (y.dtype, y.shape) == ("float32", (80, 50))
    values = [*y.values()]
    assert abs(fmean(values) - 2) < 0.2
    assert abs(pstdev(values) - 3) < 0.2
    assert len(set(values)) > AMOUNT - 10


@pytest.mark.parametrize("text", ["y = RandomUniform()", "y = RandomUniformLike(x)"])
def test_uniform_numbers(text: str) -> None:
    shape: dict[str, Any] = {} if "x" in text else {"shape": [80, 50]}
    (y,) = draw(node(text, low=-1.0, high=3.0, dtype=10, **shape))
    values = [*y.values()]
    assert y.dtype == "float16"
    assert -1 <= min(values) < -0.9
    assert 2.9 < max(values) < 3
    assert abs(fmean(values) - 1) < 0.1


def test_a_seed_decides_and_nodes_without_one_differ() -> None:
    seeded = [node(f"{name} = RandomNormal()", shape=[8], seed=5.0) for name in "ab"]
    free = [node(f"{name} = RandomNormal()", shape=[8]) for name in "cd"]
    a, b, c, d = (array.tolist() for array in draw(*seeded, *free))
    assert a == b
    assert len({str(row) for row in (a, c, d)}) == 3
    assert [array.tolist() for array in draw(*free)] == [c, d]


def test_iterations_of_a_loop_draw_other_numbers() -> None:
    body = graph(
        [node("go = Identity(c)"), node("r = RandomNormal()", shape=[4]), node("s = Add(v, r)")],
        [info("i", code=7), info("c", code=9), info("v", 4)],
        ["go", "s", "r"],
    )
    start = constant("v0", [0.0] * 4, "float32")
    of = graph([node("y, all = Loop(n, , v0)", body=body)], [], ["all"], start, constant("n", 3))
    found = import_model(model(of)).graph.outputs["all"]
    (rows,) = [o.node.array.tolist() for o in found.node.operands if o is not None]  # type: ignore[union-attr]
    assert len({str(row) for row in rows}) == 3


def test_truth_values_and_classes_follow_their_probabilities() -> None:
    nodes = [
        node("p = ConstantOfShape(n)", value=constant("", [0.25], "float32")),
        node("y = Bernoulli(p)"),
        node("k = Multinomial(logits)", sample_size=AMOUNT),
    ]
    values = [constant("n", [AMOUNT]), constant("logits", [[0.0, -50.0, 1.0986123]], "float32")]
    found = import_model(model(graph(nodes, [], ["y", "k"], *values)))

    arrays = evaluate(found.graph, found.parameters)
    results = {name: array.reshape(-1).tolist() for name, array in arrays.items()}
    assert set(results["y"]) == {0.0, 1.0}
    assert abs(fmean(results["y"]) - 0.25) < 0.03
    assert set(results["k"]) == {0, 2}
    assert abs(fmean(results["k"]) - 1.5) < 0.06
    assert found.graph.outputs["k"].dtype == "int32"
