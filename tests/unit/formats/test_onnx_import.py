"""Import of ONNX models: sizes, functions, branches and loops, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.formats.onnx_models import (
    DOUBLE,
    FLOAT,
    INT64,
    STRING,
    constant,
    graph,
    info,
    model,
    node,
)
from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.formats.onnx.importing.importer import Imported, import_model
from webnnm.formats.onnx.importing.refusals import UnknownValue
from webnnm.formats.onnx.messages import (
    AttributeProto,
    FunctionProto,
    ModelProto,
    NodeProto,
    OperatorSetIdProto,
    TensorProto,
)
from webnnm.graph.node import ConstantNode, OperatorNode


def operators(found: Imported) -> list[str]:
    nodes = found.graph.nodes()
    return [each.operator.name for each in nodes if isinstance(each, OperatorNode)]


def catch_error(given: ModelProto, *options: Any, **more: Any) -> str:
    with pytest.raises(DataError) as caught:
        import_model(given, *options, **more)
    return str(caught.value)


RELU = graph([node("y = Relu(x)")], [info("x", "batch", 3, None)], ["y"])


def test_sizes_come_by_name_or_for_a_whole_input() -> None:
    shapes = {"batch": 2, "x": [2, 3, 5]}
    assert str(import_model(model(RELU), shapes).graph.outputs["y"]) == "float32[2, 3, 5]"


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({}, 'dimension 0, "batch", of input "x" is free'),
        ({"batch": 2}, 'dimension 2 of input "x" is free'),
        ({"batch": 2, "x": [2, 4, 5]}, "is 3, but 4 was given"),
        ({"x": [2, 3]}, "has 3 dimensions"),
        ({"batch": -1, "x": [-1, 3, 5]}, "sizes are 0"),
        ({"x": [1, 3, 5], "bach": 1}, 'did you mean "batch"'),
    ],
)
def test_sizes_that_do_not_fit(shapes: dict[str, Any], message: str) -> None:
    text = catch_error(model(RELU), shapes)
    assert "NNM813" in text
    assert message in text


def test_weights_are_inputs_of_the_graph_and_numbers_constants() -> None:
    weights, scale = constant("w", [1.0, 2.0], "float32"), constant("s", 3.0, "float32")
    unused = constant("u", [1.0, 2.0], "float32")
    of = graph([node("a = Mul(x, w)"), node("y = Mul(a, s)")], [info("x", 2)], ["y"])
    of.initializer += [weights, scale, unused]
    found = import_model(model(of))
    assert list(found.parameters) == ["w"]
    assert list(found.graph.inputs) == ["x", "w"] or list(found.graph.inputs) == ["w", "x"]
    assert list(found.inputs) == ["x"]


def test_what_a_model_computes_of_its_shapes_is_known() -> None:
    nodes = [
        node("s = Shape(x)"),
        node("n = Gather(s, zero)"),
        node("m = Mul(n, two)"),
        node("t = Concat(m, rest)", axis=0),
        node("y = Reshape(x, t)"),
    ]
    given = [constant("zero", [0]), constant("two", [2]), constant("rest", [-1])]
    found = import_model(model(graph(nodes, [info("x", "n", 4)], ["y"], *given)), {"n": 3})
    assert found.graph.outputs["y"].shape == (6, 2)
    assert operators(found) == ["reshape"]


def test_shapes_that_depend_on_an_input_name_it() -> None:
    of = graph([node("y = Reshape(x, s)")], [info("x", 4), info("s", 2, code=INT64)], ["y"])
    with pytest.raises(UnknownValue) as caught:
        import_model(model(of))
    assert caught.value.inputs == {"s"}
    found = import_model(model(of), constants={"s": HostArray.of([2, 2], "int64")})
    assert found.graph.outputs["y"].shape == (2, 2)


def test_weights_can_decide_a_shape() -> None:
    scales = constant("r", [2.0, 1.0], "float32")
    nodes = [node("z = Resize(x, , r)")]
    found = import_model(model(graph(nodes, [info("x", 2, 3)], ["z"], scales)))
    assert found.graph.outputs["z"].shape == (4, 3)
    assert not found.parameters


BRANCHES = {
    "then_branch": graph([node("p = Relu(x)")], [], ["p"]),
    "else_branch": graph([node("q = Neg(x)")], [], ["q"]),
}


def test_a_known_branch_is_taken_of_others_both_are_computed() -> None:
    of = graph([node("y = If(c)", **BRANCHES)], [info("x", 2)], ["y"], constant("c", 1))
    assert operators(import_model(model(of))) == ["relu"]
    of = graph([node("y = If(c)", **BRANCHES)], [info("x", 2), info("c", code=9)], ["y"])
    assert sorted(operators(import_model(model(of)))) == ["neg", "relu", "where"]


def loop(trips: int) -> ModelProto:
    body = graph(
        [node("b = Add(a, x)"), node("d = Identity(c)"), node("r = Mul(b, b)")],
        [info("i", code=INT64), info("c", code=9), info("a", 2)],
        ["d", "b", "r"],
    )
    nodes = [node("y, rows = Loop(n, , x)", body=body)]
    return model(graph(nodes, [info("x", 2)], ["y", "rows"], constant("n", trips)))


def test_loops_are_written_out() -> None:
    found = import_model(loop(3))
    assert operators(found).count("add") == 3
    assert found.graph.outputs["rows"].shape == (3, 2)


def test_functions_are_expanded_with_their_attributes() -> None:
    inner = NodeProto(["a"], ["b"], "", "LeakyRelu")
    inner.attribute = [AttributeProto(name="alpha", ref_attr_name="slope")]
    function = FunctionProto("Leak", ["a"], ["b"], ["slope"], [inner], domain="own")
    of = graph([node("y = own.Leak(x)", slope=0.25)], [info("x", 2)], ["y"])
    found = import_model(model(of, function))
    (result,) = [each for each in found.graph.nodes() if isinstance(each, OperatorNode)]
    assert result.options == {"alpha": 0.25}


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("y = Sofmax(x)", "NNM812", 'the nearest one is "Softmax"'),
        ("y = own.Thing(x)", "NNM812", "own.Thing"),
        ("y = Relu(z)", "NNM811", '"z" is used before it is computed'),
        ("y = Relu(x, x)", "NNM811", "has 2 inputs"),
        ("y = Add(x)", "NNM811", "has 1 inputs"),
        ("y, z = Relu(x)", "NNM812", "output 1"),
        ("y = MatMul(x, x)", "NNM812", "3 columns, 2 rows"),
        ("y = Transpose(x)", "NNM812", "axis 7, rank 2"),
    ],
)
def test_nodes_that_cannot_be_imported(text: str, code: str, message: str) -> None:
    attributes = {"perm": [0, 7]} if "Transpose" in text else {}
    found = catch_error(model(graph([node(text, **attributes)], [info("x", 2, 3)], ["y"])))
    assert code in found
    assert message in found


def test_types_that_webnn_lacks_are_named() -> None:
    of = graph([node("y = Relu(x)")], [info("x", 2, code=STRING)], ["y"])
    assert 'NNM814: input "x" is of type string' in catch_error(model(of))
    empty = graph([node("y = Relu(x)")], [info("x", 2, 0)], ["y"])
    assert "NNM814" in catch_error(model(empty))


def text(name: str) -> TensorProto:
    return TensorProto([1], STRING, name=name, string_data=[b"label"])


def test_texts_that_nothing_uses_do_not_matter() -> None:
    nodes = [node("t = Constant()", value=text("")), node("u = Concat(t, s)", axis=0)]
    given = [info("x", 2), info("names", "n", code=STRING)]
    of = graph([*nodes, node("y = Relu(x)")], given, ["y"], text("s"))
    assert operators(import_model(model(of))) == ["relu"]
    used = graph([*nodes, node("y = Relu(x)")], given, ["y", "u"], text("s"))
    assert "NNM814" in catch_error(model(used))
    assert "string" in catch_error(model(used))


def test_nodes_that_no_output_depends_on_are_left_out() -> None:
    of = graph([node("z = own.Thing(x)"), node("y = Relu(x)")], [info("x", 2)], ["y"])
    assert operators(import_model(model(of))) == ["relu"]


def test_float64_is_computed_as_float32() -> None:
    nodes = [
        node("d = Constant()", value=constant("", [0.1, 1e300], "float64")),
        node("e = Mul(d, w)"),
        node("f = Add(e, x)"),
        node("y = Cast(f)", to=FLOAT),
    ]
    weights = constant("w", [3.0, 1.0], "float64")
    of = graph(nodes, [info("x", 2, code=DOUBLE)], ["y", "f"], weights)
    found = import_model(model(of))
    assert str(found.graph.outputs["f"]) == str(found.graph.outputs["y"]) == "float32[2]"
    assert found.parameters["w"].dtype == "float32"
    assert found.inputs["x"].dtype == "float32"
    assert "cast" not in operators(found)
    assert "float64 is computed as float32" in found.notes[0]


def test_what_is_known_in_float64_is_computed_in_float64() -> None:
    nodes = [
        node("n = Shape(x)"),
        node("d = Cast(n)", to=DOUBLE),
        node("e = Mul(d, k)"),
        node("f = Floor(e)"),
        node("s = Cast(f)", to=INT64),
        node("y = Expand(x, s)"),
    ]
    # In float32, 0.29 · 100 is 29.
    of = graph(nodes, [info("x", 1)], ["y"], constant("k", [0.29 * 100], "float64"))
    assert import_model(model(of)).graph.outputs["y"].shape == (28,)


def test_integers_of_16_bits_are_moved_and_not_computed_with() -> None:
    short = TensorProto([2], 4, name="k", raw_data=b"\xff\xff\x01\x00")
    moving = [node("t = Reshape(k, s)"), node("y = Cast(t)", to=FLOAT)]
    of = graph(moving, [], ["y"], short, constant("s", [2, 1]))
    found = import_model(model(of))
    (result,) = [each for each in found.graph.nodes() if isinstance(each, ConstantNode)]
    assert result.array.tolist() == [[65535.0], [1.0]]
    adding = [node("t = Identity(k)"), node("u = Add(t, t)"), node("y = Cast(u)", to=FLOAT)]
    message = catch_error(model(graph(adding, [], ["y"], short)))
    assert 'NNM814: Add "u" computes with "t" of type uint16' in message
    nodes = [node("y = Cast(x)", to=5)]
    wrapped = import_model(model(graph(nodes, [], ["y"], constant("x", [40000, -3], "int32"))))
    (result,) = [each for each in wrapped.graph.nodes() if isinstance(each, ConstantNode)]
    assert result.array.tolist() == [40000 - 65536, -3]


@pytest.mark.parametrize(
    ("text", "indices"),
    [
        ("y = Gather(x, i)", [0, 3]),
        ("y = Gather(x, i)", [-4]),
        ("y = Gather(x, i)", [2**40]),
        ("y = GatherElements(x, i)", [[3, 0]]),
        ("y = GatherND(x, i)", [[0, 2]]),
        ("y = GatherND(x, i)", [[-4]]),
        ("y = ScatterElements(x, i, u)", [[0, 3]]),
        ("y = ScatterND(x, i, v)", [[3]]),
    ],
)
def test_known_indices_beyond_an_axis_are_refused(text: str, indices: Any) -> None:
    given = constant("i", indices)
    updates = [constant("u", [[0.5, 0.5]], "float32"), constant("v", [[0.5, 0.5]], "float32")]
    of = graph([node(text)], [info("x", 3, 2)], ["y"], given, *updates)
    assert "there is no element" in catch_error(model(of))


def test_an_index_beyond_the_depth_of_one_hot_hits_nothing() -> None:
    values = [constant("i", [2**32 + 1, 1, -2]), constant("d", 3), constant("v", [0, 1], "int32")]
    found = import_model(model(graph([node("y = OneHot(i, d, v)")], [], ["y"], *values)))
    (result,) = [each for each in found.graph.nodes() if isinstance(each, ConstantNode)]
    assert result.array.tolist() == [[0, 0, 0], [0, 1, 0], [0, 1, 0]]


@pytest.mark.parametrize(
    ("start", "end", "step", "expected"),
    [(-9, -10, -1, [0]), (9, 2**63 - 1, -2, [3, 1]), (5, 1, 1, []), (-2, 2**31 - 1, 1, [2, 3])],
)
def test_bounds_of_slices_beyond_an_axis(
    start: int, end: int, step: int, expected: list[int]
) -> None:
    bounds = [constant(n, [k]) for n, k in zip("sekt", (start, end, 0, step), strict=True)]
    nodes = [node("y = Slice(x, s, e, k, t)"), node("n = Shape(y)")]
    of = graph(nodes, [], ["n"] if not expected else ["y"], constant("x", [0, 1, 2, 3]), *bounds)
    found = import_model(model(of))
    (result,) = [each for each in found.graph.nodes() if isinstance(each, ConstantNode)]
    assert result.array.tolist() == (expected or [0])


def test_values_are_made_once() -> None:
    of = graph([node("y = Relu(x)"), node("y = Neg(x)")], [info("x", 2)], ["y"])
    assert "two nodes compute" in catch_error(model(of))


def test_a_small_file_cannot_ask_for_much() -> None:
    assert "NNM815" in catch_error(loop(10**9))
    again = FunctionProto("Again", ["a"], ["b"], [], [node("b = own.Again(a)")], domain="own")
    of = graph([node("y = own.Again(x)")], [info("x", 2)], ["y"])
    assert "NNM815" in catch_error(model(of, again))
    twice = [
        FunctionProto(
            f"F{k}",
            ["a"],
            ["c"],
            [],
            [node(f"b = own.F{k + 1}(a)"), node(f"c = own.F{k + 1}(b)")],
            domain="own",
        )
        for k in range(30)
    ]
    last = FunctionProto("F30", ["a"], ["c"], [], [node("c = Identity(a)")], domain="own")
    of = graph([node("y = own.F0(x)")], [info("x", 2)], ["y"])
    assert "NNM815" in catch_error(model(of, *twice, last))
    nodes = [node("r = Range(zero, n, one)"), node("y = Cast(r)", to=FLOAT)]
    numbers = [constant("zero", 0), constant("n", 2**40), constant("one", 1)]
    assert "NNM815" in catch_error(model(graph(nodes, [info("x", 2)], ["y"], *numbers)))


def test_tensors_have_as_many_dimensions_as_arrays_may_have() -> None:
    many = [node("r = Reshape(x, s)"), node("y = Relu(r)")]
    for of in (
        graph(many, [info("x", 2)], ["y"], constant("s", [1] * 5000 + [2])),
        graph([node("y = Relu(x)")], [info("x", *[1] * 5000)], ["y"]),
    ):
        assert "NNM815: the rank of" in catch_error(model(of))


def trees(**more: Any) -> ModelProto:
    """Return a model of one tree with one comparison."""
    attributes: dict[str, Any] = {
        "n_targets": 1,
        **{key: [0] for key in ("tree_roots", "nodes_featureids", "nodes_truenodeids")},
        **{key: [1] for key in ("nodes_falsenodeids", "nodes_trueleafs", "nodes_falseleafs")},
        "leaf_targetids": [0, 0],
        "leaf_weights": constant("", [1.0, 2.0], "float32"),
        "nodes_splits": constant("", [0.5], "float32"),
        "nodes_modes": constant("", [0], "int8"),
        **more,
    }
    call = node("y = ai.onnx.ml.TreeEnsemble(x)", **attributes)
    made = model(graph([call], [info("x", 2, 3)], ["y"]))
    made.opset_import.append(OperatorSetIdProto("ai.onnx.ml", 5))
    return made


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, [-1]) for name in ("tree_roots", "nodes_truenodeids", "nodes_falsenodeids")),
        *((name, -1) for name in ("aggregate_function", "post_transform")),
        *((name, 9) for name in ("aggregate_function", "post_transform")),
        *((name, [9]) for name in ("tree_roots", "nodes_truenodeids", "nodes_featureids")),
        ("nodes_modes", constant("", [-1], "int8")),
    ],
)
def test_numbers_in_trees_do_not_count_from_the_end(name: str, value: Any) -> None:
    assert import_model(trees()).graph.outputs
    assert "NNM811" in catch_error(trees(**{name: value}))


@pytest.mark.parametrize(("number", "name"), [(3, "SOFTMAX_ZERO"), (4, "PROBIT")])
def test_transforms_of_trees_have_the_numbers_of_onnx(number: int, name: str) -> None:
    assert "NNM812: ai.onnx.ml.TreeEnsemble" in (text := catch_error(trees(post_transform=number)))
    assert f"the transform {name}" in text
