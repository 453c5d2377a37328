"""What legalise rewrites, what it leaves alone and what it refuses; the numbers stay the same."""

from __future__ import annotations

import copy
import random
from typing import Any

import numpy as np
import pytest

from tests.unit.compiler.legalising import Make, build_graph, chromium_limits, legalise
from tests.unit.ops.cases import CASES, build
from webnnm import ops
from webnnm.backends.reference import evaluate
from webnnm.compiler import traps
from webnnm.compiler.limits import Limits
from webnnm.compiler.plan import lower
from webnnm.compiler.ranks import merge_axes
from webnnm.compiler.traps.constants import check_constants, split_constant
from webnnm.core.errors import BackendError, Span
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph, Operand, OperatorNode
from webnnm.graph.transforms.rewrite import rewrite


@pytest.fixture(scope="module")
def limits() -> dict[str, Any]:
    """The limits of the bundled Chromium."""
    return chromium_limits()


def values_for(graph: Graph) -> dict[str, Any]:
    """Small numbers for all inputs; integers include zeros and the ends of their ranges."""
    generator = np.random.default_rng(7)
    values: dict[str, Any] = {}
    for name, operand in graph.inputs.items():
        dtype, shape = operand.type
        if dtype.startswith("float"):
            values[name] = generator.uniform(0.5, 2, shape).astype(dtype)
        else:
            found = np.iinfo(dtype)
            drawn = generator.integers(max(found.min, -3), 4, shape)
            values[name] = np.asarray(drawn).astype(dtype)
            values[name].flat[:1] = found.max
            values[name].flat[-1:] = found.min if name == "x" else -1 if found.min < 0 else 0
    return values


def check(make: Make, limits: dict[str, Any]) -> tuple[Graph, list[str]]:
    """Legalise a graph; the result fits, and computes what the graph computed."""
    graph = build_graph(make)
    fitted, rewrites = legalise(graph, limits)
    # These alone may be put up twice, and then their views be views of views.
    reasons = [trap.reason for trap in (*traps.GUARDS, *traps.views.TRAPS)]
    _, again = legalise(fitted, limits)
    assert all(any(reason in rewrite for reason in reasons) for rewrite in again)
    known = Limits(limits)
    for node in fitted.nodes():
        if isinstance(node, OperatorNode):
            assert node.operator.name in known.operators
            for type, bounds in known.list_bounds(node):
                assert type.dtype in bounds.dtypes
                assert bounds.ranks[0] <= len(type.shape) <= bounds.ranks[1]
    values = values_for(graph)
    expected, found = evaluate(graph, values), evaluate(fitted, values)
    for name, array in expected.items():
        assert fitted.outputs[name].type == graph.outputs[name].type
        tolerance = 1e-3 if array.dtype == np.float16 else 1e-6
        np.testing.assert_allclose(found[name], array, rtol=tolerance, strict=True)
    return fitted, rewrites


def test_outputs_are_different_operators_after_what_stands_between_them_goes(
    limits: dict[str, Any],
) -> None:
    def two(b: GraphBuilder) -> dict[str, Operand]:
        same = b.clamp(b.input("x", "uint8", [2]), min_value=-1)  # of no effect, as it turns out
        return {"y": same, "z": b.identity(same)}

    graph, _ = check(two, limits)
    assert len(set(graph.outputs.values())) == 2


FITTING: dict[str, Make] = {
    "network": lambda b: b.softmax(
        b.relu(b.matmul(b.input("x", "float32", [2, 3]), b.constant([[1.0], [2.0], [3.0]]))),
        axis=1,
    ),
    "comparison": lambda b: b.where(
        b.equal(b.input("i", "int32", [3]), b.input("k", "int32", [])),
        b.input("x", "float32", [3]),
        b.constant(0.0),
    ),
    "integer division by a constant": lambda b: b.div(b.input("i", "int32", [3]), 2),
    "float division": lambda b: b.input("x", "float32", [3]) / b.input("z", "float32", [3]),
    "resident batch": lambda b: b.gather(
        b.input("x", "float32", [5, 4]),
        b.gather(b.input("order", "int32", [3, 2]), b.input("step", "int32", [])),
    ),
}


@pytest.mark.parametrize("make", FITTING.values(), ids=FITTING)
def test_a_graph_that_fits_comes_back_as_it_is(make: Make, limits: dict[str, Any]) -> None:
    graph = build_graph(make)
    fitted, rewrites = legalise(graph, limits)
    assert fitted is graph
    assert rewrites == []


REWRITTEN: dict[str, tuple[str, Make]] = {
    "input": ("has to be the result", lambda b: b.input("x", "uint32", [2])),
    "constant": ("has to be the result", lambda b: b.constant([1.0, 2.0])),
    "two names": (
        "cannot have two names",
        lambda b: dict.fromkeys("pqr", b.input("x", "float32", [2]) + 1),
    ),
    "identity of uint32": ("as a reshape", lambda b: b.identity(b.input("x", "uint32", [2]))),
    "uint8 sum": ("as int32", lambda b: b.input("x", "uint8", [3]) + b.input("z", "uint8", [3])),
    "int8 sum": ("as int32", lambda b: b.input("x", "int8", [3]) * b.input("z", "int8", [1])),
    "uint32 sum": ("as int64", lambda b: b.input("x", "uint32", [3]) - 2),
    "uint32 comparison": ("as int64", lambda b: b.greater(b.input("x", "uint32", [3]), 2)),
    "uint32 reduction": ("as int64", lambda b: b.reduce_max(b.input("x", "uint32", [3, 2]))),
    "uint8 choice": (
        "as int32",
        lambda b: b.where(b.input("c", "uint8", [3]), b.input("x", "uint8", [3]), 0),
    ),
    "uint32 rows": (
        "as int64",
        lambda b: b.gather(b.input("x", "uint32", [3, 2]), b.constant([2, 0], "uint32")),
    ),
    "uint32 transpose": ("as int64", lambda b: b.transpose(b.input("x", "uint32", [3, 2]))),
    "rank 6 comparison": (
        "reshaped",
        lambda b: b.lesser(
            b.input("x", "float32", [2, 1, 3, 1, 2, 2]), b.input("z", "float32", [3, 1, 2, 2])
        ),
    ),
    "rank 6 power, broadcast crosswise": (
        "reshaped",
        lambda b: b.pow(
            b.input("x", "float32", [2, 1, 3, 1, 2, 1]), b.input("z", "float32", [3, 1, 2, 1, 2])
        ),
    ),
    "rank 6 indices": (
        "reshaped",
        lambda b: b.gather(
            b.input("x", "float32", [4, 3]), b.input("i", "int32", [1, 2, 1, 2, 1, 2]), axis=1
        ),
    ),
    "rank 7 sum with a scalar": ("reshaped", lambda b: b.input("x", "float32", [2] * 7) + 1),
    "rank 6 relu": ("reshaped", lambda b: b.relu(b.input("x", "float32", [2] * 6) - 1)),
    "rank 7 softmax": (
        "reshaped",
        lambda b: b.softmax(b.input("x", "float32", [1, 2, 1, 3, 1, 2, 2]), axis=3),
    ),
    "rank 6 slice": (
        "reshaped",
        lambda b: b.slice(
            b.input("x", "float32", [2, 3, 4, 2, 5, 2]),
            starts=[0, 1, 0, 0, 1, 0],
            sizes=[2, 2, 4, 1, 4, 2],
            strides=[1, 1, 2, 1, 3, 1],
        ),
    ),
    "rank 7 transpose": (
        "reshaped",
        lambda b: b.transpose(
            b.input("x", "float32", [1, 2, 3, 1, 2, 2, 1]), permutation=[3, 4, 5, 6, 1, 2, 0]
        ),
    ),
    "rank 6 product": (
        "reshaped",
        lambda b: b.matmul(
            b.input("x", "float32", [2, 1, 2, 3, 2, 3]), b.input("z", "float32", [2, 1, 1, 3, 2])
        ),
    ),
    "rank 6 product with a matrix": (
        "reshaped",
        lambda b: b.matmul(
            b.input("x", "float32", [2, 1, 2, 3, 2, 3]), b.input("z", "float32", [3, 2])
        ),
    ),
    "integer division": (
        "division by zero",
        lambda b: b.div(b.input("x", "int32", [6]), b.input("z", "int32", [6])),
    ),
    "uint8 division of rank 6": (
        "division by zero",
        lambda b: b.div(b.input("x", "uint8", [1, 2] * 3), b.input("z", "uint8", [2, 1, 2])),
    ),
    "division by constants with a zero": (
        "division by zero",
        lambda b: b.div(b.input("x", "int32", [2]), b.constant([2, 0], "int32")),
    ),
    "a float16 constant in float32": (
        "would be zeros",
        lambda b: b.cast(b.constant([[1.0, 2.0]], "float16"), type="float32"),
    ),
    "a float16 constant, laid out anew, in float32": (
        "would be zeros",
        lambda b: b.cast(
            b.reshape(b.constant([[1.0, 2.0]], "float16"), new_shape=[2]), type="float32"
        ),
    ),
    "a name that the browser lacks": (
        "decomposed, because the browser lacks",
        lambda b: b.log_softmax(b.input("x", "float32", [2, 3]), axis=1),
    ),
}


@pytest.mark.parametrize(("reason", "make"), REWRITTEN.values(), ids=REWRITTEN)
def test_a_graph_that_does_not_fit_is_rewritten(
    reason: str, make: Make, limits: dict[str, Any]
) -> None:
    _, rewrites = check(make, limits)
    assert any(reason in rewrite for rewrite in rewrites)


def test_a_large_constant_is_put_together_from_parts() -> None:
    table = [[float(3 * row + column) for column in range(3)] for row in range(9)]
    graph = build_graph(lambda b: b.input("x", "float32", [9, 3]) + b.constant(table))
    split = rewrite(graph, lambda b, node: split_constant(b, node, max_bytes=40))
    assert [constant["length"] for constant in lower(split).content["constants"]] == [40, 40, 28]
    feeds = {"x": np.zeros((9, 3))}
    assert evaluate(split, feeds)["y"].tolist() == table


@pytest.mark.parametrize("shape", [[], [2], [2, 3], [1] * 8])
def test_casts_of_float16_constants_are_reshaped(shape: list[int], limits: dict[str, Any]) -> None:
    def cast(b: GraphBuilder) -> Operand:
        values = np.ones(shape, np.float16).tolist()
        return b.cast(b.constant(values, "float16"), type="float32")

    fitted, _ = check(cast, limits)
    last = fitted.outputs["y"].node
    assert isinstance(last, OperatorNode)
    assert last.operator.name == "reshape"
    assert last.operands[0] is not None
    assert last.operands[0].shape != tuple(shape)


def test_labels_and_places_are_kept(limits: dict[str, Any]) -> None:
    b = GraphBuilder()
    x = b.input("x", "uint8", [2])
    with b.place("hidden", Span(3, 9)):
        y = x + 1
    fitted, rewrites = legalise(b.build({"y": y}), limits)
    assert rewrites == [
        'add "hidden": uint8 computed as int32, because it takes float32, float16, int32, int64'
    ]
    made = [node for node in fitted.nodes() if isinstance(node, OperatorNode)]
    assert [node.operator.name for node in made] == ["cast", "cast", "add", "cast"]
    assert {(node.label, node.span) for node in made} == {("hidden", Span(3, 9))}


REFUSED: dict[str, tuple[str, tuple[str, ...], Make]] = {
    "uint64 division": (
        "NNM505",
        ('div "layer"', "does not support uint64", "float32, float16, int32"),
        lambda b: b.div(b.input("x", "uint64", [2]), 3),
    ),
    "uint64 sum": ("NNM505", ('add "layer"', "uint64"), lambda b: b.input("x", "uint64", [2]) + 1),
    "rank 9": (
        "NNM405",
        ('the input "x"', "9 dimensions", "0 to 8"),
        lambda b: b.relu(b.input("x", "float32", [1] * 9)),
    ),
    "tangled transpose": (
        "NNM405",
        ('transpose "layer"', "7 dimensions", "takes at most 6"),
        lambda b: b.transpose(b.input("x", "float32", [2] * 7)),
    ),
    "large tensor": (
        "NNM409",
        ('expand "layer"', "4000000000 bytes", "2147483647"),
        lambda b: b.expand(b.input("x", "float32", []), new_shape=[1000, 1000, 1000]),
    ),
}


@pytest.mark.parametrize(("code", "words", "make"), REFUSED.values(), ids=REFUSED)
def test_what_nothing_can_stand_in_for_is_refused(
    code: str, words: tuple[str, ...], make: Make, limits: dict[str, Any]
) -> None:
    b = GraphBuilder()
    with b.place("layer"):
        made = make(b)
    assert isinstance(made, Operand)
    with pytest.raises(BackendError) as caught:
        legalise(b.build({"y": made}), limits)
    assert caught.value.code == code
    assert caught.value.hint
    for word in words:
        assert word in caught.value.message


def test_an_operator_that_the_browser_lacks_is_refused(limits: dict[str, Any]) -> None:
    fewer = {name: entry for name, entry in limits.items() if name != "tanh"}
    with pytest.raises(BackendError, match=r"NNM505: tanh: .* no such operator"):
        legalise(build_graph(lambda b: b.tanh(b.input("x", "float32", [2]))), fewer)


def test_too_many_constants_are_refused_before_the_browser_dies() -> None:
    graph = build_graph(lambda b: b.input("x", "float32", [4]) + b.constant([1.0] * 4))
    check_constants(graph, max_bytes=16)
    with pytest.raises(BackendError, match="NNM409: the graph has 16 bytes of constants"):
        check_constants(graph, max_bytes=15)


def test_half_precision_is_computed_in_float32_where_it_is_missing(limits: dict[str, Any]) -> None:
    without = copy.deepcopy(limits)
    for place in without["sigmoid"].values():
        place["dataTypes"].remove("float16")
    _, rewrites = check(lambda b: b.sigmoid(b.input("x", "float16", [3])), without)
    assert "float16 computed as float32" in rewrites[0]


def test_an_input_of_a_type_that_the_browser_does_not_hold_is_refused(
    limits: dict[str, Any],
) -> None:
    without = copy.deepcopy(limits)
    without["input"]["dataTypes"].remove("float16")
    with pytest.raises(BackendError, match=r'NNM505: the input "x" is float16\[2\]; .* holds'):
        legalise(build_graph(lambda b: b.input("x", "float16", [2]) * 2), without)


def test_no_way_through_a_type_that_cannot_be_cast(limits: dict[str, Any]) -> None:
    without = copy.deepcopy(limits)
    without["cast"]["input"]["dataTypes"].remove("uint8")
    graph = build_graph(lambda b: b.input("x", "uint8", [3]) + 1)
    with pytest.raises(BackendError, match=r"add: .* does not support uint8"):
        legalise(graph, without)


@pytest.mark.alike
def test_the_samples_of_all_operators_fit(limits: dict[str, Any]) -> None:
    """No operator meets an internal error, and its float32 samples never need a type."""
    for case in CASES:
        sample = build(case)
        graph = sample.builder.build({f"y{i}": result for i, result in enumerate(sample.results)})
        try:
            fitted, _ = legalise(graph, limits)
        except BackendError as error:
            raise AssertionError(f"{case}: {error}") from error
        assert [o.type for o in fitted.outputs.values()] == [r.type for r in sample.results]


def test_slots_are_named_as_in_the_limits(limits: dict[str, Any]) -> None:
    known = Limits(limits)
    for name, operator in ops.registry().items():
        if name in known.operators:
            for index in range(len(operator.operands)):
                assert known.operand(operator, index), (name, index)
            assert known.result(operator), name


def test_merging_keeps_what_broadcasts_apart() -> None:
    generator = random.Random(3)
    for _ in range(300):
        result = tuple(generator.choice((1, 2, 3)) for _ in range(generator.randint(1, 6)))
        shapes = []
        for _ in range(2):
            kept = result[generator.randint(0, len(result)) :]
            shapes.append(tuple(generator.choice((1, size)) for size in kept))
        full = tuple(np.broadcast_shapes(*shapes))
        groups = merge_axes(shapes, full)
        assert [axis for group in groups for axis in group] == list(range(len(full)))
        arrays = [np.arange(np.prod(shape, dtype=int)).reshape(shape) for shape in shapes]
        grouped = [
            array.reshape(
                [
                    int(np.prod([((1,) * len(full) + array.shape)[axis - len(full)] for axis in g]))
                    for g in groups
                ]
            )
            for array in arrays
        ]
        expected = arrays[0] * 100 + arrays[1]
        assert ((grouped[0] * 100 + grouped[1]).reshape(full) == expected).all()


def test_rewriting_is_linear_and_keeps_what_it_does_not_touch() -> None:
    b = GraphBuilder()
    x = y = b.input("x", "float32", [2])
    for _ in range(3000):
        y = b.relu(y + x)
    graph = b.build({"y": y})
    assert rewrite(graph, lambda *_: None) is graph
    replaced = rewrite(graph, lambda new, node: new.tanh(*_operands(node)) if _is(node) else None)
    names = [n.operator.name for n in replaced.nodes() if isinstance(n, OperatorNode)]
    assert names == ["add", "tanh"] * 3000
    assert replaced.inputs["x"].type == x.type


def _is(node: Any) -> bool:
    return isinstance(node, OperatorNode) and node.operator.name == "relu"


def _operands(node: Any) -> list[Operand]:
    return [operand for operand in node.operands if operand is not None]


@pytest.mark.parametrize(("dtype", "copies"), [("float16", 1), ("float32", 0)])
def test_a_float16_output_that_operators_read_is_copied(dtype: Any, copies: int) -> None:
    b = GraphBuilder()
    moved = b.gather(b.input("x", dtype, [2, 1]), b.constant([1, 0], "int32"))
    graph = b.build({"y": moved, "z": b.reverse(moved, axes=[0])})
    fitted, _ = legalise(graph, {"identity": {}, "gather": {}, "reverse": {}})
    nodes = [node for node in fitted.nodes() if isinstance(node, OperatorNode)]
    assert [node.operator.name for node in nodes].count("identity") == copies
    outputs = {o.number for o in fitted.outputs.values()}
    read = {o.number for node in nodes for o in node.operands if o}
    assert (not outputs & read) == bool(copies)


def test_float16_outputs_with_two_names_that_operators_read_are_distinct() -> None:
    b = GraphBuilder()
    moved = b.gather(b.input("x", "float16", [2, 1]), b.constant([1, 0], "int32"))
    outputs = {"y": moved, "same": b.identity(moved), "again": moved}
    outputs["z"] = b.reverse(moved, axes=[0])
    fitted, _ = legalise(b.build(outputs), {"identity": {}, "gather": {}, "reverse": {}})
    assert len({o.number for o in fitted.outputs.values()}) == 4
