"""The graph builder: equal expressions, constants, literals, errors, places."""

from __future__ import annotations

import operator as python
from array import array
from collections.abc import Callable
from typing import Any

import pytest

from webnnm import GraphBuilder, WebNNMError
from webnnm.core.errors import Span
from webnnm.graph.node import ConstantNode, InputNode, Operand, OperatorNode


@pytest.fixture
def b() -> GraphBuilder:
    return GraphBuilder()


@pytest.fixture
def x(b: GraphBuilder) -> Operand:
    return b.input("x", "float32", [2, 3])


def constant_of(operand: Operand | None) -> ConstantNode:
    assert operand is not None
    assert isinstance(operand.node, ConstantNode)
    return operand.node


def node_of(operand: Operand) -> OperatorNode:
    assert isinstance(operand.node, OperatorNode)
    return operand.node


def test_equal_expressions_are_one_node(b: GraphBuilder, x: Operand) -> None:
    assert b.softmax(x, axis=1) == b.softmax(x, axis=-1)
    assert b.softmax(x, axis=1).node is x.softmax(axis=1).node
    assert b.transpose(x) == b.transpose(x, permutation=[1, 0])
    assert b.reduce_sum(x) == b.reduce_sum(x, axes=(0, 1), keep_dimensions=False)
    assert b.reshape(x, new_shape=[3, -1]) == b.reshape(x, new_shape=[3, 2])
    assert (x * 2 + 1).node is (x * 2.0 + 1.0).node


def test_different_expressions_are_different_nodes(b: GraphBuilder, x: Operand) -> None:
    assert b.softmax(x, axis=1) != b.softmax(x, axis=0)
    assert b.sin(x) != b.cos(x)
    assert x - 1 != 1 - x
    assert b.reduce_sum(x) != b.reduce_mean(x)


def test_equal_expressions_of_two_builders_are_two_nodes(b: GraphBuilder, x: Operand) -> None:
    other = GraphBuilder()
    assert other.sin(other.input("x", "float32", [2, 3])) != b.sin(x)


def test_constants_are_shared_by_content(b: GraphBuilder) -> None:
    first = b.constant([1.0, 2.0])
    assert first == b.constant(array("f", [1, 2])) == b.constant((1, 2), "float32")
    assert first == b.constant(array("d", [1, 2]))
    assert first != b.constant([1.0, 2.0], "float16")
    assert first != b.constant([1.0, 2.0], shape=[1, 2])
    assert first != b.constant([1.0, 3.0])
    assert b.constant(0.0) != b.constant(-0.0)


@pytest.mark.parametrize(
    ("value", "dtype", "shape", "expected"),
    [
        (1, None, None, "float32[]"),
        ([[1, 2], [3, 4]], None, None, "float32[2, 2]"),
        ([1, 2], "int64", None, "int64[2]"),
        (range(4), "uint8", [2, 2], "uint8[2, 2]"),
        (array("i", [1, 2]), None, None, "int32[2]"),
        (array("h", [1, 2]), None, None, "int32[2]"),
        (b"\x01\x02", "uint8", [2], "uint8[2]"),
        ([1, -8, 7], "int4", None, "int4[3]"),
        (True, "uint8", None, "uint8[]"),
    ],
)
def test_types_of_constants(
    b: GraphBuilder, value: Any, dtype: Any, shape: Any, expected: str
) -> None:
    assert repr(b.constant(value, dtype, shape)) == expected


@pytest.mark.parametrize(
    ("value", "dtype", "shape"),
    [
        ([[1], [2, 3]], None, None),
        ([1, 2, 3], None, [2]),
        (256, "uint8", None),
        (0.5, "int32", None),
        (1e6, "float16", None),
        ("one", None, None),
        (memoryview(bytes(8)).cast("P"), None, None),
    ],
)
def test_constants_that_make_no_tensor(b: GraphBuilder, value: Any, dtype: Any, shape: Any) -> None:
    with pytest.raises(WebNNMError) as caught:
        b.constant(value, dtype, shape)
    assert caught.value.code == "NNM702"


@pytest.mark.parametrize(
    ("method", "expression"),
    [
        ("add", lambda x: x + 2),
        ("sub", lambda x: x - 2),
        ("mul", lambda x: x * 2),
        ("div", lambda x: x / 2),
    ],
)
def test_numbers_become_scalars_of_the_operands_type(
    b: GraphBuilder, method: str, expression: Callable[[Any], Operand]
) -> None:
    for dtype in ("float32", "float16", "int32", "uint8"):
        x = b.input(dtype, dtype, [2])
        node = node_of(expression(x))
        assert node.operator.name == method
        assert node.operands[0] == x
        assert str(constant_of(node.operands[1]).types[0]) == f"{dtype}[]"


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv"])
def test_numbers_on_the_left_stay_on_the_left(x: Operand, name: str) -> None:
    node = node_of(getattr(python, name)(2, x))
    assert constant_of(node.operands[0]).array.tolist() == 2
    assert node.operands[1] == x


def test_operators_between_tensors(b: GraphBuilder, x: Operand) -> None:
    z = b.input("z", "float32", [3])
    assert x + z == b.add(x, z)
    assert x - z == b.sub(x, z)
    assert x * z == b.mul(x, z)
    assert x / z == b.div(x, z)
    assert -x == b.neg(x)
    assert (x * z).shape == (2, 3)


def test_condition_says_nothing_about_numbers_beside_it(b: GraphBuilder, x: Operand) -> None:
    mask = b.greater(x, 0)
    assert b.where(mask, x, 0).type == x.type
    assert b.where(mask, 0, x).type == x.type


def test_every_operator_is_a_method_of_operands(b: GraphBuilder, x: Operand) -> None:
    assert x.matmul(b.transpose(x)).shape == (2, 2)
    assert x.reduce_sum(axes=[0]).shape == (3,)
    assert (x.rank, x.dtype, x.shape, repr(x)) == (2, "float32", (2, 3), "float32[2, 3]")
    with pytest.raises(AttributeError):
        _ = x.__array__
    with pytest.raises(AttributeError, match='no operator "sofmax"; did you mean "softmax"'):
        _ = x.sofmax
    with pytest.raises(AttributeError, match="no operator"):
        _ = b.reduceSum


def test_gemm_takes_its_third_operand_by_name_or_place(b: GraphBuilder, x: Operand) -> None:
    w, c = b.input("w", "float32", [3, 4]), b.input("c", "float32", [4])
    assert b.gemm(x, w, c=c) == b.gemm(x, w, c)
    assert b.gemm(x, w, c=c) != b.gemm(x, w)
    assert constant_of(node_of(b.gemm(x, w, c=1)).operands[2]).array.tolist() == 1
    assert node_of(b.gemm(x, w)).operands[2] is None


def test_lists_of_operands_stand_in_one_list_or_alone(b: GraphBuilder, x: Operand) -> None:
    assert b.concat([x, x], axis=0) == b.concat(x, x, axis=0) == b.concat((x, x), axis=0)
    assert b.concat([x], axis=0) == b.concat(x, axis=0)


@pytest.mark.parametrize(
    ("call", "code", "message"),
    [
        (lambda b, x: b.softmax(x, axsi=1), "NNM301", '"softmax" has no option "axsi"'),
        (lambda b, x: b.gemm(x, x, d=x), "NNM301", '"gemm" has no option "d"'),
        (lambda b, x: b.add(x), "NNM302", '"add" takes 2 operands, 1 given'),
        (lambda b, x: b.relu(x, x), "NNM302", '"relu" takes 1 operand, 2 given'),
        (lambda b, x: b.gemm(x), "NNM302", '"gemm" takes 2 to 3 operands, 1 given'),
        (lambda b, x: b.gemm(x, x, x, c=x), "NNM302", '"gemm" is given c twice'),
        (lambda b, x: b.add(1, 2), "NNM302", '"add" needs a tensor among its operands'),
        (lambda b, x: b.concat([], axis=0), "NNM302", '"concat" needs a tensor among its operands'),
        (lambda b, x: b.softmax(x, axis=2), "NNM308", 'axis of "softmax": axis 2, rank 2'),
        (lambda b, x: b.concat(x, x), "NNM304", '"concat" needs axis='),
        (
            lambda b, x: b.reduce_sum(x, axes=[0, 0]),
            "NNM309",
            'axes of "reduceSum": an axis occurs twice in [0, 0]',
        ),
        (
            lambda b, x: b.matmul(x, x),
            "NNM404",
            "[2, 3] by [2, 3]: 3 columns, 2 rows",
        ),
        (
            lambda b, x: b.softmax(b.constant(1.0)),
            "NNM405",
            'input of "softmax" is float32[], needs rank 1 … ',
        ),
        (
            lambda b, x: b.sin(b.constant(1, "int32")),
            "NNM501",
            'input of "sin" is int32, not float16, float32',
        ),
        (
            lambda b, x: x + b.constant(1, "int32"),
            "NNM501",
            'operands of "add" are float32 and int32',
        ),
    ],
)
def test_errors(b: GraphBuilder, x: Operand, call: Any, code: str, message: str) -> None:
    with pytest.raises(WebNNMError) as caught:
        call(b, x)
    assert (caught.value.code, caught.value.message) == (code, message)


def test_hint_names_the_nearest_option(b: GraphBuilder, x: Operand) -> None:
    with pytest.raises(WebNNMError) as caught:
        b.gemm(x, x, alpah=2)
    assert caught.value.hint == 'did you mean "alpha"?'


@pytest.mark.parametrize(
    ("name", "dtype", "shape", "code"),
    [
        ("x", "float32", [1], "NNM206"),
        ("y", "float32", [2, 0], "NNM109"),
        ("y", "float32", [2**31], "NNM109"),
        ("y", "float32", [2.5], "NNM109"),
        ("y", "bfloat16", [2], "NNM113"),
    ],
)
def test_inputs_that_are_refused(
    b: GraphBuilder, x: Operand, name: str, dtype: Any, shape: list[Any], code: str
) -> None:
    with pytest.raises(WebNNMError) as caught:
        b.input(name, dtype, shape)
    assert caught.value.code == code
    assert f'"{name}"' in caught.value.message
    assert list(b.build({}).inputs) == ["x"], "nothing is left of a refused input"


def test_place_labels_the_nodes_made_inside(b: GraphBuilder, x: Operand) -> None:
    with b.place("outer", Span(0, 5)):
        first = b.sin(x)
        with b.place("inner"):
            second = b.cos(x)
            again = b.sin(x)
            constant = b.constant([5.0])
        third = b.tan(x)
    after = b.exp(x)
    places = [(o.node.label, o.node.span) for o in (first, second, third, constant, after)]
    outer = ("outer", Span(0, 5))
    assert places == [outer, ("inner", None), outer, ("inner", None), ("", None)]
    assert again.node is first.node, "an equal expression keeps the first place"


def test_place_is_restored_after_an_error(b: GraphBuilder, x: Operand) -> None:
    with pytest.raises(WebNNMError), b.place("broken"):
        b.softmax(x, axis=5)
    assert b.sin(x).node.label == ""


def test_graph_lists_what_outputs_depend_on(b: GraphBuilder, x: Operand) -> None:
    unused = b.input("unused", "float32", [1])
    y = b.sin(x) * 2
    graph = b.build({"y": y, "x": x})
    assert dict(graph.inputs) == {"x": x, "unused": unused}
    assert dict(graph.outputs) == {"y": y, "x": x}
    kinds = [type(node) for node in graph.nodes()]
    assert kinds == [InputNode, OperatorNode, ConstantNode, OperatorNode]


@pytest.mark.parametrize(
    "descriptor",
    [
        {"dataType": "float32", "shape": [2, 3]},
        {"type": "float32", "dimensions": [2, 3]},
    ],
)
def test_descriptors_of_both_drafts_describe_inputs_and_constants(
    b: GraphBuilder, descriptor: dict[str, Any]
) -> None:
    assert b.input("y", descriptor).type == ("float32", (2, 3))
    assert b.constant(descriptor, array("f", range(6))).type == ("float32", (2, 3))


def test_descriptor_without_dimensions_is_a_scalar(b: GraphBuilder) -> None:
    assert b.input("s", {"type": "int32"}).type == ("int32", ())
    assert b.constant({"dataType": "int32"}, array("i", [7])).type == ("int32", ())


def test_descriptor_with_an_unknown_member_is_refused(b: GraphBuilder) -> None:
    with pytest.raises(WebNNMError) as caught:
        b.input("y", {"dataType": "float32", "shap": [2]})
    assert (caught.value.code, caught.value.message) == (
        "NNM301",
        'a descriptor has no member "shap"',
    )
    assert "shape" in caught.value.hint


def test_scalar_constants_in_both_orders(b: GraphBuilder) -> None:
    assert b.constant("int32", 7) == b.constant(7, "int32")
    assert b.constant("int32", 7).type == ("int32", ())


async def test_build_async_compiles_on_the_context() -> None:
    from webnnm import backend

    pytest.importorskip("numpy")
    b = GraphBuilder(await backend("numpy"))
    graph = await b.build_async({"y": b.input("x", "float32", [2]) * 2})
    assert (await graph.run({"x": [1, 2]}))["y"].tolist() == [2, 4]


async def test_build_async_needs_a_context(b: GraphBuilder, x: Operand) -> None:
    with pytest.raises(WebNNMError, match="no context to compile on"):
        await b.build_async({"y": x})


def test_activation_without_an_operand_is_a_value(b: GraphBuilder, x: Operand) -> None:
    assert b.relu()(b, x) == b.relu(x)
    assert b.relu().name == "relu"
    with pytest.raises(WebNNMError, match='"softmax" takes 1 operand'):
        b.softmax()


def test_arguments_stand_behind_the_operands_as_in_webnn(b: GraphBuilder, x: Operand) -> None:
    assert b.softmax(x, 1) == b.softmax(x, axis=1)
    assert b.cast(x, "float16") == b.cast(x, type="float16")
    assert b.concat([x, x], 0) == b.concat(x, x, axis=0)
    assert b.slice(x, [0, 1], [2, 2]) == b.slice(x, starts=[0, 1], sizes=[2, 2])
    assert x.reshape([6]) == b.reshape(x, new_shape=[6])


def test_argument_too_many_is_refused(b: GraphBuilder, x: Operand) -> None:
    with pytest.raises(WebNNMError, match='"softmax" takes 1 operand, 3 given'):
        b.softmax(x, 1, 2)


def test_label_names_the_node(b: GraphBuilder, x: Operand) -> None:
    assert b.relu(x, label="first").node.label == "first"
