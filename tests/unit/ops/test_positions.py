"""Embeddings and positions: against the formula, and as the notation writes them (spec C.9)."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.unit.graph.texts import fails, model, network, parameters, run
from tests.unit.ops.cases import np
from webnnm import GraphBuilder, WebNNMError, gradients
from webnnm.backends.reference import evaluate
from webnnm.graph.elaboration.initialise import initialisers
from webnnm.graph.elaboration.lowering import lower_network

TABLE = [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
TOKENS = "int32 shape=[] sequence=true"


def test_rows_of_a_table() -> None:
    text = model("embedding(e, size=3, shape=[2])", input=TOKENS, output="shape=[2]")
    assert parameters(text) == {"e1": (3, 2)}
    found = run(text, {"m": [[2, 0]], "param/e1": TABLE}, {"sequence": 2})
    assert found == [[[4, 5], [0, 1]]]


def test_indices_out_of_range_are_clamped_and_negative_ones_count_from_the_end() -> None:
    b = GraphBuilder()
    rows = b.embedding(b.input("x", "int32", [4]), b.constant(TABLE))
    found = evaluate(b.build({"y": rows}), {"x": [7, -1, -3, -9]})["y"]
    assert found[:, 0].tolist() == [4, 4, 0, 0]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint32", "int64", "uint64"])
def test_integers_of_every_type_are_indices(dtype: Any) -> None:
    b = GraphBuilder()
    rows = b.embedding(b.input("x", dtype, [2]), b.constant(TABLE))
    assert evaluate(b.build({"y": rows}), {"x": [2, 1]})["y"].tolist() == [TABLE[2], TABLE[1]]


def test_rows_that_are_used_twice_receive_the_sum() -> None:
    b = GraphBuilder()
    table = b.input("t", "float32", [3, 2])
    (dt,) = gradients(b.embedding(b.constant([0, 2, 0], "int32"), table).reduce_sum(), [table])
    assert evaluate(b.build({"y": dt}), {"t": TABLE})["y"].tolist() == [[2, 2], [0, 0], [1, 1]]


@pytest.mark.parametrize(
    ("layers", "input", "declared", "output", "expected"),
    [
        ("embedding(e, size=9)", "int32 shape=[]", "", "shape=[4]", {"e1": (9, 4)}),
        ("embedding(e, size=9)", "int32 shape=[5]", "", "shape=[5, 4]", {"e1": (9, 4)}),
        ("embedding(t)", "int32 shape=[]", "t shape=[9, 4]", "shape=[4]", {"t": (9, 4)}),
        (
            "embedding(t), matmul(t, bTranspose=true)",
            "int32 shape=[]",
            "t shape=[9, 4]",
            "shape=[9]",
            {"t": (9, 4)},
        ),
    ],
)
def test_shape_of_the_table(
    layers: str, input: str, declared: str, output: str, expected: dict[str, Any]
) -> None:
    more = (f"m:param {declared};",) if declared else ()
    text = model(layers, *more, input=input, output=output)
    assert parameters(text) == expected
    assert initialisers(network(text))[next(iter(expected))].kind in ("normal", "uniform")


def test_new_tables_start_small() -> None:
    layers = "embedding(e, size=9, shape=[4]), positionalEmbedding(p, size=5)"
    found = initialisers(network(model(layers, input=TOKENS, output="shape=[4]")))
    assert [str(found[name]) for name in ("e1", "p1")] == ["normal(0.02, 0)"] * 2


def test_tokens_have_no_say_in_the_type() -> None:
    text = model("embedding(e, size=9, shape=[4])", input=TOKENS, output="shape=[4]")
    (layer,) = network(text).layers
    assert (layer.dtype, layer.result_types) == ("float32", ["float32"])
    assert (layer.features[0].names, layer.features[0].sequence) == (("features",), "sequence")


def waves(length: int, size: int, base: float = 10000.0) -> Any:
    return np.asarray(
        [
            [
                (math.cos if i % 2 else math.sin)(t / base ** ((i - i % 2) / size))
                for i in range(size)
            ]
            for t in range(length)
        ]
    )


@pytest.mark.parametrize(("length", "size"), [(5, 4), (3, 5), (1, 1)])
def test_waves(length: int, size: int) -> None:
    b = GraphBuilder()
    y = b.positional_encoding(b.input("x", "float32", [length, size]), base=100)
    found = evaluate(b.build({"y": y}), {"x": np.zeros((length, size))})["y"]
    np.testing.assert_allclose(found, waves(length, size, 100), atol=1e-6)


def test_waves_of_a_long_sequence_are_exact() -> None:
    b = GraphBuilder()
    y = b.positional_encoding(b.input("x", "float32", [3000, 2]))
    found = evaluate(b.build({"y": y}), {"x": np.zeros((3000, 2))})["y"]
    np.testing.assert_allclose(found[2999], [math.sin(2999), math.cos(2999)], atol=1e-7)


@pytest.mark.parametrize(
    ("input", "shape", "axis"),
    [
        ("shape=[4] sequence=true", (2, 3, 4), 1),
        ("shape=[5, 4] sequence=true", (2, 3, 5, 4), 1),
        ("shape=[3, 4]", (2, 3, 4), 1),
    ],
)
def test_positions_are_those_of_the_tokens(input: str, shape: Any, axis: int) -> None:
    sequence = {"sequence": 3} if "sequence" in input else None
    x, table = np.ones(shape), np.arange(20.0).reshape(5, 4)
    text = model("positionalEmbedding(p, size=5)", input=input, output=input)
    found = run(text, {"m": x, "param/p1": table}, sequence)
    spread = (slice(None), *(None,) * (len(shape) - 3), slice(None))
    np.testing.assert_allclose(found, x + table[:3][spread])
    text = model("positionalEncoding()", input=input, output=input)
    np.testing.assert_allclose(run(text, {"m": x}, sequence), x + waves(3, 4)[spread], 1e-6)


def test_rotation_in_the_notation() -> None:
    text = model("rotaryEmbedding(heads=2)", input="shape=[4] sequence=true", output="shape=[4]")
    x = np.asarray([[[1, 0, 1, 0], [1, 0, 1, 0]]])
    ((first, second),) = run(text, {"m": x}, {"sequence": 2})
    assert first == [1, 0, 1, 0]
    np.testing.assert_allclose(second, [math.cos(1), math.sin(1)] * 2, rtol=1e-6)


def test_a_sequence_longer_than_the_table() -> None:
    input = "shape=[4] sequence=true"
    found = network(model("positionalEmbedding(p, size=5)", input=input, output="shape=[4]"))
    with pytest.raises(WebNNMError, match="the table of positions has 5 rows") as caught:
        lower_network(found, sequence={"sequence": 6})
    assert (caught.value.code, caught.value.line, caught.value.column) == ("NNM711", 3, 10)


def test_tokens_are_integers() -> None:
    text = model("¦embedding(e, size=3)", input="shape=[4]", output="shape=[4, 2]")
    fails("NNM501", text, says="its input is float32")


@pytest.mark.parametrize(
    ("code", "layers", "input", "says"),
    [
        ("NNM403", "embedding(¦e, shape=[4])", TOKENS, '"e1": [?, 4]'),
        ("NNM403", "positionalEmbedding(¦p)", "shape=[4] sequence=true", '"p1": [?, 4]'),
        ("NNM404", "embedding(t, ¦size=8)", TOKENS, "table [9, 4], expected 8 rows"),
        ("NNM402", "embedding(t, shape=¦[3, 4])", TOKENS, "declared [3, 4], inferred []"),
        ("NNM303", "embedding(e, ¦size=0)", TOKENS, "0"),
        ("NNM302", "¦embedding()", TOKENS, "takes 1 operand"),
        ("NNM411", "¦positionalEncoding()", "shape=[4]", "neither a sequence"),
        ("NNM303", "positionalEncoding(¦base=-2)", "shape=[4] sequence=true", "above 0"),
        ("NNM404", "¦positionalEmbedding(t)", "shape=[3] sequence=true", "table [9, 4]"),
        ("NNM406", "rotaryEmbedding(¦heads=3)", "shape=[4] sequence=true", "4 features, 3 heads"),
        ("NNM406", "¦rotaryEmbedding()", "shape=[3] sequence=true", "does not split into pairs"),
    ],
)
def test_errors(code: str, layers: str, input: str, says: str) -> None:
    text = model(layers, "m:param t shape=[9, 4];", input=input, output="shape=[4]")
    fails(code, text, says=says)
