"""ONNX models whose shapes depend on values that they compute."""

from __future__ import annotations

from typing import Any

import webnnm
from tests.unit.formats.onnx_models import BOOL, DOUBLE, constant, graph, info, model, node
from webnnm.core.arrays import HostArray
from webnnm.formats.onnx.messages import GraphProto, ModelProto
from webnnm.formats.onnx.onnx_model import MOST_COMPILED
from webnnm.formats.onnx.writer import serialize

LIMITS = [
    constant("most", [2]),
    constant("overlap", [0.5], "float32"),
    constant("least", [0.3], "float32"),
]


async def results(of: ModelProto, *data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the outputs for several data, as lists."""
    async with await webnnm.load_onnx(serialize(of), backend="numpy") as net:
        found = [await net.predict(each) for each in data]
    return [{name: array.tolist() for name, array in each.items()} for each in found]


def detector() -> ModelProto:
    """Return a network that selects boxes, and returns their corners and scores."""
    nodes = [
        node("s = Sigmoid(x)"),
        node("chosen = NonMaxSuppression(boxes, s, most, overlap, least)"),
        node("k = Gather(chosen, two)", axis=1),
        node("first = Gather(boxes, zero)", axis=0),
        node("corners = Gather(first, k)", axis=0),
    ]
    given = [info("boxes", 1, 4, 4), info("x", 1, 2, 4)]
    numbers = [constant("zero", 0), constant("two", 2)]
    return model(graph(nodes, given, ["chosen", "corners"], *LIMITS, *numbers))


BOXES = [[[0, 0, 2, 2], [0, 0, 2, 2.2], [5, 5, 6, 6], [9, 9, 8, 8]]]


async def test_boxes_are_selected_within_a_run() -> None:
    scores = [[[1.0, 2.0, -9.0, 0.0], [-9.0, -9.0, 3.0, -9.0]]]
    none = [[[-9.0] * 4] * 2]
    one, empty = await results(
        detector(), {"boxes": BOXES, "x": scores}, {"boxes": BOXES, "x": none}
    )
    assert one["chosen"] == [[0, 0, 1], [0, 0, 3], [0, 1, 2]]
    corners = [[round(value, 3) for value in row] for row in one["corners"]]
    assert corners == [[0, 0, 2, 2.2], [9, 9, 8, 8], [5, 5, 6, 6]]
    assert empty == {"chosen": [], "corners": []}


async def test_boxes_around_centers_and_limits() -> None:
    nodes = [node("y = NonMaxSuppression(boxes, x, most, overlap)", center_point_box=1)]
    of = graph(nodes, [info("boxes", 1, 3, 4), info("x", 1, 1, 3)], ["y"], *LIMITS)
    boxes = [[[1, 1, 2, 2], [1, 1, 2, 2.2], [4, 4, 1, 1]]]
    ((found),) = await results(model(of), {"boxes": boxes, "x": [[[0.1, 0.1, -5.0]]]})
    assert found["y"] == [[0, 0, 0], [0, 0, 2]]
    unlimited = graph(
        [node("y = NonMaxSuppression(boxes, x)")], list(of.input), ["y"]
    )  # by default, no boxes
    ((found),) = await results(model(unlimited), {"boxes": boxes, "x": [[[0.1, 0.1, -5.0]]]})
    assert found["y"] == []


async def test_graphs_of_segments_are_kept_and_bounded() -> None:
    nodes = [
        node("p = MatMul(x, w)"),
        node("g = Greater(p, zero)"),
        node("z = NonZero(g)"),
        node("t = Transpose(z)"),
        node("v = GatherND(p, t)"),
        node("y = Mul(v, v)"),
    ]
    weights = constant("w", [[1.0, 0.0], [0.0, 1.0]], "float32")
    of = graph(nodes, [info("x", "n", 2)], ["y"], weights, constant("zero", 0.0, "float32"))
    async with await webnnm.load_onnx(serialize(model(of)), backend="numpy") as net:
        for k in range(1, MOST_COMPILED + 4):
            rows = [[1.0, -1.0]] * k + [[-1.0, -1.0]] * (20 - k)
            found = await net.predict({"x": rows})
            assert found["y"].tolist() == [1.0] * k
        assert 2 < net.backend.memory().graphs <= MOST_COMPILED
        before = net.backend.memory().graphs
        await net.predict({"x": rows})
        assert net.backend.memory().graphs == before
    assert net.backend.memory().graphs == 0


def counting() -> GraphProto:
    body = [node("d = Add(c, x)"), node("m = ReduceMax(d)", keepdims=0), node("go = Less(m, top)")]
    inputs = [info("i", code=7), info("before", code=BOOL), info("c", 2)]
    return graph(body, inputs, ["go", "d"])


async def test_loops_that_end_by_a_computed_condition() -> None:
    nodes = [
        node("r = Relu(x0)"),
        node("x = Add(r, one)"),
        node("y = Loop(, true, x)", body=counting()),
    ]
    values = [constant("one", [1.0, 1.0], "float32"), constant("top", 7.5, "float32")]
    true = constant("true", 1, "uint8")
    true.data_type = BOOL
    of = graph(nodes, [info("x0", 2)], ["y"], *values, true)
    one, other = await results(model(of), {"x0": [0.5, -1.0]}, {"x0": [3.0, 0.0]})
    assert one["y"] == [7.5, 5.0]
    assert other["y"] == [8.0, 2.0]


async def test_values_of_float64_cross_segments() -> None:
    nodes = [
        node("a = Exp(x)"),
        node("g = Greater(a, k)"),
        node("z = NonZero(g)"),
        node("t = Transpose(z)"),
        node("v = GatherND(a, t)"),
        node("y = Mul(v, k)"),
    ]
    of = graph(nodes, [info("x", 3, code=DOUBLE)], ["y"], constant("k", 1.0, "float64"))
    of.output = [info("y", None, code=DOUBLE)]
    async with await webnnm.load_onnx(serialize(model(of)), backend="numpy") as net:
        found = await net.predict({"x": [0.0, 1.0, -1.0]})
    y = HostArray.of(found["y"], "float64")
    assert y.shape == (1,)
    assert abs(y.values()[0] - 2.718281828) < 1e-6
    assert memoryview(found["y"]).format == "d"


async def test_outputs_without_elements_are_returned() -> None:
    nodes = [node("y = Slice(x, two, two)"), node("z = Relu(x)")]
    of = graph(nodes, [info("x", 3)], ["y", "z"], constant("two", [2]))
    ((found),) = await results(model(of), {"x": [1.0, -1.0, 2.0]})
    assert found == {"y": [], "z": [1.0, 0.0, 2.0]}
    only = graph([nodes[0]], [info("x", 3)], ["y"], *of.initializer)
    ((found),) = await results(model(only), {"x": [1.0, -1.0, 2.0]})
    assert found == {"y": []}


async def test_texts_that_nothing_uses_are_not_asked_for() -> None:
    inputs = [info("x", 2), info("names", "n", code=8)]
    of = model(graph([node("y = Relu(x)")], inputs, ["y"]))
    one, other = await results(of, {"x": [1.0, -1.0]}, {"x": [2.0, 0.0], "names": ["a"]})
    assert (one["y"], other["y"]) == ([1.0, 0.0], [2.0, 0.0])
