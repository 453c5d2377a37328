"""repeat= and shapes= (spec A.6)."""

from __future__ import annotations

import pytest

from tests.unit.graph.texts import fails, labels, model, network, parameters

UNIT = "unit:layers matmul(w), add(b);"


def test_repeat_copies_the_layer_with_own_parameters() -> None:
    text = model("matmul(w, shape=[4], repeat=2), matmul(w)")
    assert parameters(text) == {"w1": (4, 4), "w2": (4, 4), "w3": (4, 3)}


def test_repeat_of_a_block() -> None:
    text = model("unit(shape=[4], repeat=2), unit()", UNIT)
    assert list(parameters(text)) == ["w1", "b1", "w2", "b2", "w3", "b3"]


def test_repeat_once_is_the_layer_itself() -> None:
    assert labels(model("matmul(w, repeat=1)")) == labels(model("matmul(w)"))


def test_shapes_repeat_once_per_shape() -> None:
    text = model("unit(shapes=[[8], [6], {labels:3}])", UNIT)
    found = parameters(text)
    assert {n: s for n, s in found.items() if n[0] == "w"} == {
        "w1": (4, 8),
        "w2": (8, 6),
        "w3": (6, 3),
    }
    assert network(text).layers[-1].features[0].names == ("labels",)


def test_name_is_the_last_ones_and_node_the_first_ones() -> None:
    text = model(
        "tanh(name=x), sin(), mul(2, repeat=3, name=last, node=x), matmul(w), add([last])".replace(
            ", add([last])", ""
        )
    )
    layers = {layer.label: layer for layer in network(text).layers}
    assert list(layers) == ["x", "mul1", "mul2", "last", "matmul1"]
    assert layers["mul1"].operands[0].vertex is layers["x"]
    assert layers["mul2"].operands[0].vertex is layers["mul1"]
    assert layers["last"].operands[0].vertex is layers["mul2"]


def test_repetitions_count_for_skip_one_by_one() -> None:
    text = model("matmul(w, shape=[3]), tanh(repeat=3), residual(skip=3)")
    layers = network(text).layers
    assert list(layers[-1].sources())[1].vertex is layers[0]


@pytest.mark.parametrize(
    ("layer", "code"),
    [
        ("tanh(shapes=[[4]], ¦repeat=2)", "NNM212"),
        ("tanh(¦repeat=2, shapes=[[4]])", "NNM212"),
        ("tanh(¦repeat=0)", "NNM303"),
        ("tanh(¦repeat=-1)", "NNM303"),
        ("tanh(¦repeat=1.5)", "NNM303"),
        ("tanh(¦repeat=x)", "NNM303"),
        ("tanh(¦repeat=300000)", "NNM303"),
        ("tanh(¦shapes=4)", "NNM303"),
        ("tanh(¦shapes=[4])", "NNM303"),
        ("tanh(¦shapes=[])", "NNM303"),
    ],
)
def test_errors(layer: str, code: str) -> None:
    fails(code, model(f"{layer}, matmul(w)"))


def test_repeat_of_a_block_is_not_a_placeholder_of_it() -> None:
    text = model("unit(repeat=2)", "unit:layers tanh(repeat=3), matmul(w, shape=[3]);")
    assert len(network(text).layers) == 8
