"""The WebNN of the specification's text: what it returns, and what it lets nobody do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.backends.strict_webnn import MLContext, MLGraphBuilder, MLOperand, assemble
from tests.unit.backends.webnn_shapes import RULES, Refusal, Type, Unsupported
from tests.unit.backends.webnn_tables import DATA_TYPES, methods, support_limits
from webnnm.compiler.plan import Plan, lower
from webnnm.graph.builder import GraphBuilder


class Maker:
    """Calls a builder: operands first, then other arguments; options by keyword."""

    def __init__(self) -> None:
        self.context = MLContext()
        self.builder = MLGraphBuilder(self.context)
        self._inputs = 0

    def x(self, *shape: int, dtype: str = "float32") -> MLOperand:
        self._inputs += 1
        return self.builder.input(f"x{self._inputs}", Type(dtype, shape))

    def shapes(self, operator: str, *arguments: Any, **options: Any) -> list[tuple[int, ...]]:
        return [y.shape for y in self.builder.call(operator, arguments, options)]


def test_every_method_has_a_rule() -> None:
    assert RULES.keys() == methods().keys()
    assert len(RULES) == 95


def test_limits_name_what_an_implementation_names() -> None:
    wide, least = support_limits(), support_limits(required=True)
    assert wide["lstm"].keys() >= {"input", "peepholeWeight", "output0", "output1", "output2"}
    assert wide["concat"].keys() == {"inputs", "output"}
    assert wide["split"].keys() == {"input", "outputs"}
    assert wide["add"]["b"]["dataTypes"] == [*DATA_TYPES]
    assert least["add"]["b"] == {
        "dataTypes": ["float32", "float16", "int32"], "rankRange": {"min": 0, "max": 5}
    }  # fmt: skip
    assert least["batchNormalization"]["input"]["rankRange"] == {"min": 3, "max": 5}


SHAPES: dict[str, tuple[Callable[[Maker], list[tuple[int, ...]]], list[tuple[int, ...]]]] = {
    "broadcast": (lambda m: m.shapes("add", m.x(2, 1, 4), m.x(3, 1)), [(2, 3, 4)]),
    "arg": (lambda m: m.shapes("argMax", m.x(2, 3), 1, keepDimensions=True), [(2, 1)]),
    "concat": (lambda m: m.shapes("concat", [m.x(2, 3), m.x(2, 4)], 1), [(2, 7)]),
    "conv2d": (
        lambda m: m.shapes(
            "conv2d", m.x(1, 5, 6, 4), m.x(3, 3, 2, 8), padding=[1, 1, 0, 0], strides=[2, 1],
            groups=2, inputLayout="nhwc", filterLayout="hwio",
        ),
        [(1, 3, 4, 8)],
    ),
    "convTranspose2d": (
        lambda m: m.shapes(
            "convTranspose2d", m.x(1, 2, 3, 3), m.x(2, 4, 2, 2), strides=[2, 2],
            outputSizes=[7, 6],
        ),
        [(1, 4, 7, 6)],
    ),
    "gather": (lambda m: m.shapes("gather", m.x(4, 5), m.x(2, 3, dtype="int32")), [(2, 3, 5)]),
    "gatherND": (lambda m: m.shapes("gatherND", m.x(4, 5), m.x(3, 1, dtype="int32")), [(3, 5)]),
    "gemm": (lambda m: m.shapes("gemm", m.x(3, 2), m.x(3, 4), aTranspose=True, c=m.x(4)), [(2, 4)]),
    "gru": (
        lambda m: m.shapes(
            "gru", m.x(5, 2, 3), m.x(2, 12, 3), m.x(2, 12, 4), 5, 4, direction="both",
            returnSequence=True,
        ),
        [(2, 2, 4), (5, 2, 2, 4)],
    ),
    "lstmCell": (
        lambda m: m.shapes(
            "lstmCell", m.x(2, 3), m.x(16, 3), m.x(16, 4), m.x(2, 4), m.x(2, 4), 4
        ),
        [(2, 4), (2, 4)],
    ),
    "matmul": (lambda m: m.shapes("matmul", m.x(7, 2, 3), m.x(3, 4)), [(7, 2, 4)]),
    "pad": (lambda m: m.shapes("pad", m.x(2, 3), [0, 1], [1, 0], mode="edge"), [(3, 4)]),
    "pool": (
        lambda m: m.shapes(
            "maxPool2d", m.x(1, 2, 5, 5), windowDimensions=[2, 2], strides=[2, 2],
            outputShapeRounding="ceil",
        ),
        [(1, 2, 3, 3)],
    ),
    "reduce": (lambda m: m.shapes("reduceSum", m.x(2, 3, 4), axes=[0, 2]), [(3,)]),
    "resample2d": (lambda m: m.shapes("resample2d", m.x(1, 1, 2, 3), sizes=[4, 5]), [(1, 1, 4, 5)]),
    "slice": (lambda m: m.shapes("slice", m.x(5, 4), [1, 0], [1, 4], strides=[2, 3]), [(1, 2)]),
    "split": (lambda m: m.shapes("split", m.x(6, 2), [1, 5]), [(1, 2), (5, 2)]),
    "transpose": (lambda m: m.shapes("transpose", m.x(2, 3, 4)), [(4, 3, 2)]),
    "where": (lambda m: m.shapes("where", m.x(3, dtype="uint8"), m.x(2, 1), m.x()), [(2, 3)]),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_are_those_of_the_text(name: str) -> None:
    make, expected = SHAPES[name]
    assert make(Maker()) == expected


REFUSED: dict[str, tuple[Callable[[Maker], Any], str]] = {
    "types": (lambda m: m.shapes("add", m.x(2), m.x(2, dtype="int32")), "add.b may be"),
    "type of a method": (lambda m: m.shapes("exp", m.x(2, dtype="int32")), "exp.input may be"),
    "unknown type": (lambda m: m.x(2, dtype="int4"), "no data type int4"),
    "shapes": (lambda m: m.shapes("mul", m.x(2), m.x(3)), "do not broadcast"),
    "rank": (lambda m: m.shapes("gemm", m.x(2, 2, 2), m.x(2, 2)), "rank 2–2"),
    "dimension 0": (lambda m: m.x(2, 0), "no valid dimension"),
    "axis": (lambda m: m.shapes("softmax", m.x(2, 3), 2), "axis 2 is out of range"),
    "repeated axis": (lambda m: m.shapes("reduceMax", m.x(2, 3), axes=[1, 1]), "repeat"),
    "arguments": (lambda m: m.shapes("softmax", m.x(2)), "1 arguments"),
    "kind": (lambda m: m.shapes("softmax", m.x(2), 0.0), "axis is 0.0"),
    "option": (lambda m: m.shapes("relu", m.x(2), slope=1.0), "no options"),
    "infinity": (lambda m: m.shapes("elu", m.x(2), alpha="Infinity"), "alpha"),
    "enum": (lambda m: m.shapes("pad", m.x(2), [0], [0], mode="symmetric"), "mode"),
    "method": (lambda m: m.shapes("swish", m.x(2)), "no method swish"),
    "clamp": (lambda m: m.shapes("clamp", m.x(2), minValue=2, maxValue=1), "greater than"),
    "no inputs": (lambda m: m.shapes("concat", [], 0), "0 inputs"),
    "slice beyond": (lambda m: m.shapes("slice", m.x(3), [2], [2]), "beyond"),
    "empty slice": (lambda m: m.shapes("slice", m.x(3), [2], [0]), "a size is 0"),
    "reshape": (lambda m: m.shapes("reshape", m.x(4), [3]), "elements"),
    "reflection": (
        lambda m: m.shapes("pad", m.x(2), [2], [0], mode="reflection"),
        "as long as the input",
    ),
    "sizes of pools": (
        lambda m: m.shapes(
            "maxPool2d", m.x(1, 1, 4, 4), windowDimensions=[2, 2], strides=[2, 2],
            outputSizes=[2, 2],
        ),
        "outputSizes and strides",
    ),
    "groups": (
        lambda m: m.shapes("conv2d", m.x(1, 3, 4, 4), m.x(2, 3, 1, 1), groups=2),
        "channels",
    ),
    "steps": (
        lambda m: m.shapes("gru", m.x(5, 2, 3), m.x(1, 12, 3), m.x(1, 12, 4), 6, 4),
        "steps is 6",
    ),
    "scales": (
        lambda m: m.shapes(
            "dequantizeLinear", m.x(4, dtype="int8"), m.x(3), m.x(3, dtype="int8")
        ),
        "does not divide",
    ),
    "coordinates": (
        lambda m: m.shapes("gatherND", m.x(4), m.x(1, 2, dtype="int32")),
        "coordinates of 2",
    ),
    "scalar gathered": (
        lambda m: m.shapes("gather", m.x(4), m.x(dtype="int32")),
        "gather.output is []",
    ),
    "batch normalisation": (
        lambda m: m.shapes("batchNormalization", m.x(2, 3), m.x(2), m.x(3)),
        "mean is [2], not [3]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_text_refuses(name: str) -> None:
    make, words = REFUSED[name]
    with pytest.raises(Refusal) as caught:
        make(Maker())
    assert words in str(caught.value)
    assert caught.value.name == "TypeError"
    assert not isinstance(caught.value, Unsupported)


def test_inputs_and_outputs_of_a_graph() -> None:
    m = Maker()
    x, unused = m.x(2), m.x(3)
    (y,) = m.builder.call("relu", [x], {"label": "first"})
    for outputs, words in (({}, "no outputs"), ({"": y}, "no name"), ({"y": x}, "is input of")):
        with pytest.raises(Refusal, match=words):
            m.builder.build(outputs)
    with pytest.raises(Refusal, match="another builder"):
        Maker().builder.call("relu", [y], {})
    with pytest.raises(Refusal, match="two inputs are named x1"):
        m.builder.input("x1", Type("float32", (2,)))
    graph = m.builder.build({"y": y})
    assert graph.inputs == {"x1": x.type}, f"{unused.name} is not reached"
    with pytest.raises(Refusal, match="has built") as caught:
        m.builder.build({"y": y})
    assert caught.value.name == "InvalidStateError"


def test_an_implementation_has_less_than_the_specification_allows() -> None:
    context = MLContext(support_limits(required=True))
    builder = MLGraphBuilder(context)
    x = builder.input("x", Type("int8", (2,)))
    with pytest.raises(Unsupported, match="float32, float16, int32, not int8"):
        builder.call("add", [x, x], {})
    with pytest.raises(Unsupported, match="not of rank"):
        builder.input("y", Type("float32", (1,) * 6))
    del context.limits["relu"]  # type: ignore[attr-defined]
    with pytest.raises(Unsupported, match="has no relu"):
        builder.call("relu", [x], {})


def test_tensors_and_dispatches() -> None:
    m = Maker()
    context, type = m.context, Type("float32", (2,))
    graph = m.builder.build({"y": m.builder.call("relu", [m.x(2)], {})[0]})
    x = context.create_tensor(type, readable=False, writable=True)
    y = context.create_tensor(type, readable=True, writable=False)
    context.write_tensor(x, bytes(8))
    assert context.read_tensor(y) == bytes(8)
    context.dispatch(graph, {"x1": x}, {"y": y})
    other = MLContext().create_tensor(type, readable=True, writable=True)
    long = context.create_tensor(Type("float32", (3,)), readable=True, writable=True)
    for words, call in {
        "not readable": lambda: context.read_tensor(x),
        "not writable": lambda: context.write_tensor(y, bytes(8)),
        "7 bytes": lambda: context.write_tensor(x, bytes(7)),
        "bound twice": lambda: context.dispatch(graph, {"x1": x}, {"y": x}),
        "are bound, not": lambda: context.dispatch(graph, {"x1": x, "z": long}, {"y": y}),
        "x1 is": lambda: context.dispatch(graph, {"x1": long}, {"y": y}),
        "another context": lambda: context.dispatch(graph, {"x1": other}, {"y": y}),
    }.items():
        with pytest.raises(Refusal, match=words):
            call()
    y.destroyed = True
    with pytest.raises(Refusal, match="the tensor was destroyed"):
        context.dispatch(graph, {"x1": x}, {"y": y})
    graph.destroyed = True
    with pytest.raises(Refusal, match="the graph was destroyed"):
        context.dispatch(graph, {"x1": x}, {"y": y})
    context.lost = True
    with pytest.raises(Refusal, match="the context is lost"):
        context.create_tensor(type, readable=True, writable=True)


def test_a_plan_is_checked_with_what_it_says_of_itself() -> None:
    b = GraphBuilder()
    plan = lower(b.build({"y": b.exp(b.input("x", "float32", [2]), label="first")}))
    assert assemble(MLContext(), plan).outputs == {"y": Type("float32", (2,))}
    outputs = [{**plan.content["outputs"][0], "shape": [3]}]
    with pytest.raises(Refusal, match="but the plan says"):
        assemble(MLContext(), Plan({**plan.content, "outputs": outputs}, plan.constants))
    (call,) = plan.content["operators"]
    wrong = Plan({**plan.content, "operators": [{**call, "op": "softmax"}]}, plan.constants)
    with pytest.raises(Refusal, match="1 arguments of softmax") as caught:
        assemble(MLContext(), wrong)
    assert caught.value.__notes__[0].startswith("in softmax 'first' of [Type(")
