"""The units of weights (spec E.6), and which parameters are clipped by them."""

from __future__ import annotations

import pytest

from tests.unit.training.trained import network
from webnnm.training.units import find_clipped_units, find_head_parameters, find_unit_axes

CONVOLVED = "m:input shape=[2, 6, 6]; m:output shape=[3, 4, 4]; m:layers "
GROWN = "m:input shape=[2, 4, 4]; m:output shape=[3, 6, 6];"
GROWN += "m:layers convTranspose2d(w, kernel=3{});"
UNITS = [
    ("m:input shape=[4]; m:output shape=[3]; m:layers matmul(w);", 1),
    ("m:input shape=[4]; m:output shape=[3]; m:layers matmul(w, bTranspose=true);", 0),
    ("m:input shape=[4]; m:output shape=[3]; m:layers gemm(w);", 1),
    (CONVOLVED + "conv2d(w, kernel=3);", 0),
    (CONVOLVED + "conv2d(w, kernel=3, filterLayout=oihw);", 0),
    (CONVOLVED + "conv2d(w, kernel=3, filterLayout=hwio);", 3),
    (CONVOLVED + "conv2d(w, kernel=3, filterLayout=ohwi);", 0),
    (CONVOLVED + "conv2d(w, kernel=3, filterLayout=ihwo);", 3),
    (GROWN.format(""), 1),
    (GROWN.format(", filterLayout=hwoi"), 2),
]


@pytest.mark.parametrize(("text", "axis"), UNITS)
def test_where_the_units_are(text: str, axis: int) -> None:
    (weight,) = network(text).parameters
    assert find_unit_axes(weight) == (axis,)
    # The channels that go out are the only size 3 besides the kernel's.
    assert weight.features[0].sizes()[axis] == 3


@pytest.mark.parametrize(
    ("layer", "gates", "directions"),
    [
        ("lstm(w, r)", 4, 1),
        ("lstm(w, r, layout=ifgo)", 4, 1),
        ("lstm(w, r, direction=both)", 4, 2),
        ("gru(w, r)", 3, 1),
        ("gru(w, r, layout=rzn, direction=backward)", 3, 1),
        ("gru(w, r, direction=both)", 3, 2),
    ],
)
def test_units_of_recurrent_weights_are_rows_of_gates(
    layer: str, gates: int, directions: int
) -> None:
    text = "m:input shape=[5] sequence=true; m:output shape=[{}]; m:layers {};"
    for weight, columns in zip(
        network(text.format(2 * directions, layer)).parameters, (5, 2), strict=True
    ):
        sizes = weight.features[0].sizes()
        assert sizes == (directions, gates * 2, columns)
        assert [sizes[axis] for axis in find_unit_axes(weight)] == [directions, gates * 2]


def test_units_of_cells_are_rows_of_gates() -> None:
    text = "m:input shape=[5]; h:input shape=[2]; m:output shape=[2]; m:layers gruCell(w, r, h);"
    found = [find_unit_axes(p) for p in network(text).parameters]
    assert found == [(0,), (0,)]


def test_units_of_stacked_products_are_columns_of_each() -> None:
    text = "m:input shape=[2, 3, 4]; m:output shape=[2, 3, 5]; m:param w shape=[2, 4, 5];"
    (weight,) = network(text + "m:layers matmul(w);").parameters
    assert find_unit_axes(weight) == (0, 2)


def test_vectors_have_no_units() -> None:
    found = network("m:input shape=[4]; m:output shape=[4]; m:layers add(b);").parameters
    assert [find_unit_axes(p) for p in found] == [()]


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        ("matmul(w, shape=[5]), relu(), matmul(w), add(b), softmax()", {"w2", "b1"}),
        ("matmul(w, shape=[5]), matmul(w, shape=[6]), relu(), matmul(w), softmax()", {"w3"}),
        ("matmul(w, shape=[5]), add(b), relu(), gemm(w, c=b)", {"w2", "b2"}),
        ("matmul(w), add(b)", {"w1", "b1"}),
    ],
)
def test_what_stands_before_a_head(layers: str, expected: set[str]) -> None:
    text = f"m:input shape=[4]; m:output shape=[3]; m:layers {layers};"
    assert find_head_parameters(network(text)) == expected


def test_weights_and_vectors_before_the_last_weights_are_clipped() -> None:
    text = "m:input shape=[4]; m:output shape=[3];"
    text += "m:layers matmul(w, shape=[5]), add(b), layerNormalization(), prelu(a), matmul(w, "
    text += "shape=[6], trainable=false), relu(), matmul(w), add(b);"
    found = find_clipped_units(network(text))
    assert found["w1"] == (1,)
    assert found["b1"] == ()
    assert not {"w2", "w3", "b2"} & found.keys()


@pytest.mark.parametrize("layer", ["lstm(w, r, b, c, direction=both)", "gru(w, r, b, c)"])
def test_biases_of_recurrent_layers_are_clipped_by_direction(layer: str) -> None:
    text = f"m:input shape=[5] sequence=true; m:output shape=[3]; m:layers {layer}, matmul(v);"
    text = text.replace(", c", ", c, hiddenSize=4")
    found = find_clipped_units(network(text))
    assert {name: found[name] for name in ("b1", "c1")} == {"b1": (0,), "c1": (0,)}
