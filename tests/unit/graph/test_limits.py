"""Texts that ask for too much: work that grows with the text, and limits with a name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.graph.texts import MARK, codes, fails, model, network
from webnnm.core import errors, spelling
from webnnm.core.errors import BackendError, ModelError
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.elaboration.lowering import lower_network
from webnnm.graph.elaboration.vertices import LayerVertex
from webnnm.ops.declare.tensors import OperatorError

MANY = 1000


def count_calls(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[None]:
    """Count the calls of a function: one element for each."""
    calls: list[None] = []
    function: Callable[..., Any] = getattr(owner, name)

    def count(*given: Any, **named: Any) -> Any:
        calls.append(None)
        return function(*given, **named)

    monkeypatch.setattr(owner, name, count)
    return calls


# Work that grows with the text, and no faster.


@pytest.mark.alike
def test_many_errors_scan_the_text_once() -> None:
    text = model(", ".join(["matmul(w)"] * MANY))
    before = errors.line_starts.cache_info().misses
    with pytest.raises(ModelError) as caught:
        network(text)
    assert caught.value.code == "NNM403"
    assert len(caught.value.others) >= MANY
    assert errors.line_starts.cache_info().misses == before + 1


def test_many_layers_behind_a_cycle(monkeypatch: pytest.MonkeyPatch) -> None:
    behind = [f"add(1, name=n{k})" if k else "add(1, node=z, name=n0)" for k in range(MANY)]
    text = model(", ".join([*behind, "¦add(z, node=input, name=y)", "add(y, name=z)"]))
    looked_at = count_calls(monkeypatch, LayerVertex, "sources")
    fails("NNM208", text, says='"y" depends on itself')
    assert len(looked_at) < 10 * MANY


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (model(", ".join(["¦add(a, name=c)", "add(c, name=a)"]), output="shape=[4]"), '"c"'),
        (model("tanh(), add(x, name=x)".replace("add", "¦add")), '"x"'),
        (
            model(
                "relu(node=d), ¦add(c, node=input, name=b), relu(node=b, name=c), "
                "add(d, node=input, name=d)"
            ),
            '"b"',
        ),
    ],
)
def test_the_first_layer_that_depends_on_itself(text: str, expected: str) -> None:
    fails("NNM208", text, says=f"{expected} depends on itself")


def names(count: int) -> list[str]:
    return [f"abcdefgh{k}" for k in range(count)]


@pytest.mark.alike
@pytest.mark.parametrize(
    "text",
    [
        model(
            ", ".join([*(f"add({name}x)" for name in names(MANY)), "matmul(w)"]),
            "m:param " + ", ".join(f"{name} shape=[4]" for name in names(MANY)) + ";",
        ),
        model(
            "matmul(w)",
            *(f"{name}:name title; {name}x:layers relu();" for name in names(MANY)),
        ),
    ],
    ids=["parameters", "blocks"],
)
def test_many_names_that_are_nearly_alike(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = count_calls(monkeypatch, spelling, "edit_distance")
    assert len(codes(text)) >= MANY
    assert len(compared) < 100 * MANY


def test_copies_of_a_parameter_have_names_of_their_own() -> None:
    text = model(
        "unit(repeat=3), matmul(w)", "m:param p shape=[4] shared=false;", "unit:layers add(p);"
    )
    assert [p.name for p in network(text).parameters] == ["p", "p2", "p3", "w1"]


# Limits.


def lower(marked: str, sequence: int = 2) -> Any:
    found = network(marked.replace(MARK, ""))
    lengths = {v.features[0].sequence: v.length or sequence for v in found.inputs}
    return lower_network(found, batch=2, sequence={n: k for n, k in lengths.items() if n})


HUGE = 2**31 - 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            model("¦fillSequence(shape=[2147483647]), reduceSum(), add(input)", output="shape=[4]"),
            "the sequence [2147483647]: 2147483647 numbers, 17179869176 bytes",
        ),
        (
            model("¦maxPool2d()", input=f"shape=[1, {HUGE}, 1]", output="shape=[1, 1, 1]"),
            "1 windows of 2147483647 cells",
        ),
        (
            model(
                "¦averagePool2d(windowDimensions=[2, 1], padding=[1, 0, 0, 0])",
                input="shape=[1, 1000000000, 1]",
                output="shape=[1, 1000000000, 1]",
            ),
            "1000000000 windows of 2 cells: 2000000000 numbers",
        ),
        (
            model(
                "¦positionalEncoding()",
                input="shape=[4] sequence={words:100000000}",
                output="shape=[4]",
            ),
            "100000000 positions of 4 features",
        ),
        (
            model(
                "¦rotaryEmbedding()",
                input="shape=[4] sequence={words:100000000}",
                output="shape=[4]",
            ),
            "100000000 positions of 4 features",
        ),
        (
            model(
                "¦gather(shape={words:50%}, axis=words)",
                input="shape=[4] sequence={words:100000000}",
                output="shape=[4]",
            ),
            "50000000 of 100000000 elements",
        ),
        (
            model("¦expand([65536, 65536])", input="shape=[65536]", output="shape=[65536, 65536]"),
            'the result of "expand1" is float32[2, 65536, 65536], 34359738368 bytes',
        ),
        (
            model("matmul(¦w)", input="shape=[65536]", output="shape=[65536]"),
            'the parameter "w1" is float32[65536, 65536], 17179869184 bytes',
        ),
        (
            model("relu()", input="shape=¦[2147483647]", output="shape=[2147483647]"),
            'the input "m" is float32[2, 2147483647], 17179869176 bytes',
        ),
        (
            model(
                "add(c)",
                "¦c float16 [65536, 65536] 0;",
                output="shape=[65536, 65536]",
                input="shape=[1, 1]",
            ),
            'the constant "c" is float16[65536, 65536], 8589934592 bytes',
        ),
    ],
    ids=lambda value: None if "m:" in value else value.split(":")[0],
)
def test_sizes_that_nobody_computes(text: str, says: str) -> None:
    with pytest.raises(ModelError) as caught:
        lower(text)
    error = caught.value
    assert error.code == "NNM409"
    assert says in error.message
    assert error.hint
    assert error.span is not None
    assert error.span.start == text.index(MARK)


def test_more_parts_than_a_layer_may_have() -> None:
    fails("NNM303", model("split(¦2147483647)"), says="at most 65536")


@pytest.mark.parametrize("columns", [(2**28,), (2**30, 2**30)])
def test_kernels_say_what_does_not_fit_into_memory(columns: tuple[int, ...]) -> None:
    np = pytest.importorskip("numpy")
    from webnnm.backends.reference import evaluate

    b = GraphBuilder()
    x = b.input("x", "float32", [2**20, *(1 for _ in columns)])
    with b.place("wide"):
        graph = b.build({"y": b.exp(b.expand(x, new_shape=(2**20, *columns)))})
    with pytest.raises(BackendError) as caught:
        evaluate(graph, {"x": np.zeros(2**20)})
    assert caught.value.code == "NNM409"
    assert '"wide"' in caught.value.message
    assert str(2**22 * math.prod(columns)) in caught.value.message


async def test_outputs_that_do_not_fit_into_memory_are_named() -> None:
    pytest.importorskip("numpy")
    from webnnm.backends.reference import ReferenceBackend
    from webnnm.ops.declare.tensors import TensorType

    backend = await ReferenceBackend.load()
    with pytest.raises(BackendError, match=r"NNM409: .* float32\[4294967296, 65536\]: ") as caught:
        await backend.tensor(TensorType("float32", (2**32, 2**16)))
    assert "1125899906842624 bytes" in caught.value.message


def test_more_nodes_than_a_graph_may_have() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [2])
    b.nodes *= 1_000_000  # the input so many times
    with pytest.raises(OperatorError, match="more than 1000000 nodes") as caught:
        b.relu(x)
    assert caught.value.code == "NNM409"


@pytest.mark.parametrize("numbers", [range(2**64), range(2**64, 0, -1), range(0, 2**67, 8)])
def test_numbers_of_a_range_are_counted_however_many(numbers: range) -> None:
    with pytest.raises(
        OperatorError, match="the numbers of a range: 18446744073709551616 "
    ) as caught:
        GraphBuilder().constant(numbers, "int64")
    assert caught.value.code == "NNM409"


@pytest.mark.parametrize("numbers", [range(5), range(5, 0, -2), range(1, 8, 3), range(3, 4)])
def test_numbers_of_a_range_are_a_constant(numbers: range) -> None:
    assert GraphBuilder().constant(numbers, "int32").shape == (len(numbers),)
