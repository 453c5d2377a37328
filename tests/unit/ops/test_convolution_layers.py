"""Convolutions in the notation: shapes in both directions, layouts, sequences."""

from __future__ import annotations

import pytest

from tests.unit.graph.texts import calls, network, parameters, run
from tests.unit.ops.cases import np
from tests.unit.ops.test_convolution import apply_operator, draw
from webnnm.graph.elaboration.initialise import fans


def text(layers: str, input: str, output: str) -> str:
    return f"m:input shape={input}; m:output shape={output}; m:layers {layers};"


IMAGE = "{channels:3, height:8, width:6}"

CONVOLUTIONS = [
    (IMAGE, "conv2d(f, filters=4, kernel=3)", "[4, 6, 4]", (4, 3, 3, 3)),
    ("[3, 8, 6]", "conv2D(f, filters=4, kernel=[3, 1])", "[4, 6, 6]", (4, 3, 3, 1)),
    (IMAGE, "conv2d(f, filters=4, kernel={height:1, width:3})", "[4, 8, 4]", (4, 3, 1, 3)),
    (IMAGE, "conv2d(f, filters=4, kernel=3, padding=1)", "[4, 8, 6]", (4, 3, 3, 3)),
    (IMAGE, "conv2d(f, filters=4, kernel=3, padding=same)", "[4, 8, 6]", (4, 3, 3, 3)),
    (IMAGE, "conv2d(f, filters=4, kernel=3, padding=valid)", "[4, 6, 4]", (4, 3, 3, 3)),
    (IMAGE, "conv2d(f, filters=4, kernel=3, padding=same, strides=4)", "[4, 2, 2]", None),
    (IMAGE, "conv2d(f, filters=4, kernel=2, padding=[1, 0, 0, 2])", "[4, 8, 7]", None),
    (IMAGE, "conv2d(f, filters=4, kernel=2, padding={height:1, width:0})", "[4, 9, 5]", None),
    (IMAGE, "conv2d(f, filters=4, kernel=2, strides=[3, 2])", "[4, 3, 3]", None),
    (IMAGE, "conv2d(f, filters=4, kernel=2, dilations={height:3, width:2})", "[4, 5, 4]", None),
    (IMAGE, "conv2d(f, filters=6, kernel=2, groups=3)", "[6, 7, 5]", (6, 1, 2, 2)),
    ("[8, 6, 3]", "conv2d(f, filters=4, kernel=2, inputLayout=nhwc)", "[7, 5, 4]", None),
    (
        "{height:8, width:6, channels:3}",
        "conv2d(f, filters=4, kernel=2, filterLayout=hwio)",
        "[7, 5, 4]",
        (2, 2, 3, 4),
    ),
    (IMAGE, "conv2d(f, filters=4, kernel=2, filterLayout=ohwi)", "[4, 7, 5]", (4, 2, 2, 3)),
    (IMAGE, "conv2d(f, filters=4, kernel=2, filterLayout=ihwo)", "[4, 7, 5]", (3, 2, 2, 4)),
    (IMAGE, "conv2d(f)", "[5, 6, 4]", (5, 3, 3, 3)),
    (IMAGE, "conv2d(f, padding=[0, 1, 1, 1])", "[5, 6, 4]", (5, 3, 4, 5)),
    (IMAGE, "conv2d(f, kernel=2)", "[5, 7, 5]", (5, 3, 2, 2)),
]

TRANSPOSED = [
    ("f, filters=4, kernel=3", "[4, 10, 8]", (3, 4, 3, 3)),
    ("f, filters=4, kernel=2, strides=2", "[4, 16, 12]", None),
    ("f, filters=4, kernel=4, strides=2, padding=1", "[4, 16, 12]", None),
    ("f, filters=4, kernel=3, strides=2, padding=same", "[4, 16, 12]", None),
    ("f, filters=4, kernel=1, strides=2, padding=same", "[4, 16, 12]", None),
    ("f, filters=4, kernel=2, strides=3, outputPadding=[1, 2]", "[4, 24, 19]", None),
    ("f, filters=4, kernel=2, strides=3, outputSizes=[25, 18]", "[4, 25, 18]", None),
    ("f, filters=6, kernel=2, groups=3", "[6, 9, 7]", (3, 2, 2, 2)),
    ("f, filters=4, kernel=2, filterLayout=hwoi", "[4, 9, 7]", (2, 2, 4, 3)),
    ("f", "[5, 10, 7]", (3, 5, 3, 2)),
    ("f, padding=1", "[5, 10, 7]", (3, 5, 5, 4)),
]

ROWS = [
    ("{length:9, channels:4}", "conv1d(f, filters=3, kernel=2)", "[8, 3]", (3, 4, 2)),
    ("{channels:4, length:9}", "conv1d(f, filters=3, kernel=2)", "[3, 8]", (3, 4, 2)),
    ("[9, 4]", "conv1d(f, filters=6, kernel=3, groups=2, strides=2)", "[4, 6]", (6, 2, 3)),
    ("[9, 4]", "conv1d(f, filters=3, kernel=3, padding=same)", "[9, 3]", (3, 4, 3)),
    ("[9, 4]", "conv1d(f, filters=3, kernel=3, padding=[0, 2], dilations=2)", "[7, 3]", None),
    ("[9, 4]", "conv1d(f)", "[7, 3]", (3, 4, 3)),
    ("[4] sequence=true", "conv1d(f, filters=3, kernel=2)", "[3] sequence=true", (3, 4, 2)),
    ("[4] sequence=true", "conv1d(f, kernel=2, padding=1)", "[3] sequence=true", (3, 4, 2)),
]
LONGER_ROWS = [
    ("{length:5, channels:4}", "convTranspose1d(f, filters=3, kernel=2)", "[6, 3]", (4, 3, 2)),
    ("{channels:4, length:5}", "convTranspose1d(f, filters=3, kernel=2)", "[3, 6]", (4, 3, 2)),
    (
        "[5, 4]",
        "convTranspose1d(f, filters=6, kernel=3, groups=2, strides=2)",
        "[11, 6]",
        (4, 3, 3),
    ),
    (
        "[5, 4]",
        "convTranspose1d(f, kernel=4, strides=2, padding=1, bias=c)",
        "[10, 3]",
        None,
    ),
    (
        "[4] sequence=true",
        "convTranspose1d(f, kernel=3, padding=[0, 1], dilations=2)",
        "[3] sequence=true",
        (4, 3, 3),
    ),
]


@pytest.mark.parametrize(
    ("input", "layer", "output", "filter"),
    [
        *CONVOLUTIONS,
        *((IMAGE, f"convTranspose2d({words})", *more) for words, *more in TRANSPOSED),
        *ROWS,
        *LONGER_ROWS,
    ],
    ids=str,
)
def test_shapes(input: str, layer: str, output: str, filter: tuple[int, ...] | None) -> None:
    written = text(layer, input, output)
    found = parameters(written)
    if filter is not None:
        assert found == {"f1": filter}
    names = network(written).layers[0].features[0].names
    assert "channels" in names


def test_names_of_the_result() -> None:
    layers = "conv2d(f, filters=4, kernel=2), convTranspose2d(g, filters=2, kernel=2)"
    for input, expected in [
        ("[3, 8, 6]", ("channels", "height", "width")),
        ("{colours:3, height:8, width:6}", ("channels", "height", "width")),
        ("{height:8, width:6, colours:3}", ("height", "width", "channels")),
    ]:
        for layer in network(
            text(layers, input, "[2, 8, 6]" if input[1] != "h" else "[8, 6, 2]")
        ).layers:
            assert layer.features[0].names == expected
    renamed = text("conv2d(f, kernel=2, shape={maps:4, y:7, x:5})", IMAGE, "[4, 7, 5]")
    assert network(renamed).layers[0].features[0].names == ("maps", "y", "x")


def test_a_layout_that_disagrees_with_the_names_is_that_of_the_result() -> None:
    layer = "conv2d(f, filters=4, kernel=2, inputLayout=nhwc)"
    written = text(layer, IMAGE, "{height:7, width:5, channels:4}")
    assert network(written).layers[0].features[0].names == ("height", "width", "channels")
    assert calls(written) == ["transpose", "conv2d"]


def test_transposes_stand_only_where_they_are_needed() -> None:
    turned = "transpose(permutation=[height, width, channels]), conv2d(f, filters=4, kernel=2)"
    assert calls(text(turned, IMAGE, "[7, 5, 4]")) == ["transpose", "conv2d"]
    odd = "{height:8, channels:3, width:6}"
    layers = "conv2d(f, filters=4, kernel=2), relu(), maxPool2d(window=2)"
    between = ["conv2d", "maxPool2d", "relu"]  # relu on what the pool has left
    assert calls(text(layers, odd, "[6, 4, 4]")) == ["transpose", *between, "transpose"]


def test_biases_are_additive_parameters() -> None:
    written = text("conv2d(f, filters=4, kernel=2, bias=b), relu()", IMAGE, "[4, 7, 5]")
    assert parameters(written) == {"f1": (4, 3, 2, 2), "b1": (4,)}
    assert [parameter.role for parameter in network(written).parameters] == ["weight", "additive"]


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        ("conv2d(f, filters=8, kernel=3)", (36, 72)),
        ("conv2d(f, filters=8, kernel=3, groups=2)", (18, 36)),
        ("conv2d(f, filters=8, kernel=3, groups=2, filterLayout=hwio)", (18, 36)),
        ("convTranspose2d(f, filters=8, kernel=3)", (36, 72)),
        ("convTranspose2d(f, filters=8, kernel=3, groups=2)", (18, 36)),
    ],
)
def test_fans_are_those_of_a_group(layer: str, expected: tuple[int, int]) -> None:
    size = "10" if layer.startswith("convT") else "6"
    written = text(layer, "[4, 8, 8]", f"[8, {size}, {size}]")
    assert fans(network(written).parameters[0]) == expected


def test_fans_of_rows() -> None:
    written = text("conv1d(f, filters=6, kernel=3, groups=2)", "[9, 4]", "[7, 6]")
    assert fans(network(written).parameters[0]) == (6, 9)
    longer = text("convTranspose1d(f, filters=6, kernel=3, groups=2)", "[5, 4]", "[7, 6]")
    assert fans(network(longer).parameters[0]) == (6, 9)


# What layers compute.


def test_an_image_layer_over_a_sequence_works_on_every_frame() -> None:
    frames, kernel = draw(1, 2, 5, 3, 8, 6), draw(2, 4, 3, 2, 2)
    written = text(
        "conv2d(f, filters=4, kernel=2)",
        "{channels:3, height:8, width:6} sequence=true",
        "[4, 7, 5] sequence=true",
    )
    found = run(written, {"m": frames, "param/f1": kernel}, {"sequence": 5})
    each = [apply_operator("conv2d", frames[:, k], kernel) for k in range(5)]
    np.testing.assert_allclose(found, np.stack(each, axis=1), rtol=1e-5, atol=1e-5)


def test_rows_of_every_form_compute_the_same() -> None:
    x, kernel = draw(1, 2, 9, 4), draw(2, 3, 4, 2)
    layer = "conv1d(f, filters=3, kernel=2)"
    expected = apply_operator("conv1d", x, kernel, input_layout="nlc")
    feeds = {"m": x, "param/f1": kernel}
    rows = run(text(layer, "[9, 4]", "[8, 3]"), feeds)
    steps = run(text(layer, "[4] sequence=true", "[3] sequence=true"), feeds, {"sequence": 9})
    channels = run(
        text(layer, "{channels:4, length:9}", "[3, 8]"),
        {**feeds, "m": np.swapaxes(x, 1, 2)},
    )
    np.testing.assert_allclose(rows, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(steps, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(np.swapaxes(channels, 1, 2), expected, rtol=1e-5, atol=1e-6)


def test_rows_keep_the_length_with_same_padding_whatever_it_is() -> None:
    written = text(
        "conv1d(f, filters=3, kernel=4, padding=same)", "[4] sequence=true", "[3] sequence=true"
    )
    for length in (1, 5, 8):
        feeds = {"m": draw(1, 1, length, 4), "param/f1": draw(2, 3, 4, 4)}
        assert np.shape(run(written, feeds, {"sequence": length})) == (1, length, 3)
