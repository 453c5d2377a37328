"""Padding has no part in what is computed along a sequence: reductions, sums, moves (spec G.6)."""

from __future__ import annotations

import pytest

from tests.unit.graph.texts import model, run
from tests.unit.ops.cases import np
from tests.unit.ops.padded_rows import compare

WORDS = {"words": (5, 2, 1, 4)}
ON_WORDS = "shape={height:2, width:3} sequence=words"
SAME = "matmul(w, shape={height:2, width:3}), add(b)"
ROWS = "matmul(w, shape=[3]), add(b)"

REDUCTIONS = [
    "reduceSum",
    "reduceMean",
    "reduceMax",
    "reduceMin",
    "reduceL1",
    "reduceL2",
    "reduceSumSquare",
    "reduceLogSumExp",
    "reduceProduct",
    "reduceVariance",
]


def check(layers: str, output: str, *more: str, input: str = ON_WORDS, **options: bool) -> None:
    compare(model(layers, *more, input=input, output=output), WORDS, **options)


@pytest.mark.alike
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_over_the_sequence(name: str, training: bool) -> None:
    for axes, output in (
        ("axis=sequence", "shape=[2, 3]"),
        ("axes=[sequence, width]", "shape=[2]"),
        ("axes=[height, words, width]", "shape=[]"),
    ):
        layers = f"{SAME}, {name}({axes}, keepDimensions=false)"
        compare(model(layers, input=ON_WORDS, output=output), WORDS, training=training)


@pytest.mark.parametrize("name", [*REDUCTIONS, "reduceLogSum"])
def test_reductions_that_keep_the_sequence_make_it_one_valid_step(name: str) -> None:
    layers = f"{SAME}, exp(), {name}(axes=[sequence, height], keepDimensions=true)"
    found = compare(model(layers, input=ON_WORDS, output="shape=[1, 3]"), WORDS)
    assert found.masks["m"].tolist() == [[1], [1], [1], [1], [0]]


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_over_features_leave_the_mask(name: str) -> None:
    check(f"{SAME}, {name}(axis=width, keepDimensions=false)", "shape=[2]")


def test_ties_among_valid_positions_share_the_gradient() -> None:
    check(f"{SAME}, relu(), reduceMax(axis=sequence)", "shape=[2, 3]")


@pytest.mark.parametrize("name", ["argMax", "argMin"])
def test_where_the_extremum_is(name: str) -> None:
    check(f"{name}(axis=sequence)", "shape=[2, 3]")
    check(f"{name}(axis=sequence, keepDimensions=true)", "shape=[2, 3]")


def test_extrema_of_integers() -> None:
    for name in ("reduceMax", "reduceMin", "argMax", "argMin"):
        text = model(
            f"{name}(axis=sequence)",
            input="int32 shape=[2] sequence=words",
            output="int32 shape=[2]",
        )
        compare(text, WORDS)


@pytest.mark.parametrize("name", ["softmax", "logSoftmax", "squaremax"])
def test_shares_over_the_sequence(name: str) -> None:
    found = compare(
        model(f"{SAME}, {name}(axis=words)", input=ON_WORDS, output="shape=[2, 3]"), WORDS
    )
    assert not found.outputs["m"][1, 2:].any()
    check(f"{SAME}, {name}(axis=words), mul(v), reduceSum(axis=words)", "shape=[2, 3]")


@pytest.mark.parametrize("exclusive", ["true", "false"])
@pytest.mark.parametrize("reversed", ["true", "false"])
def test_running_sums(exclusive: str, reversed: str) -> None:
    options = f"axis=sequence, exclusive={exclusive}, reversed={reversed}"
    check(f"{SAME}, cumulativeSum({options}), mul(v)", "shape=[2, 3]")


def test_reversal_is_of_the_valid_positions() -> None:
    check(f"{SAME}, reverse(axis=sequence)", "shape=[2, 3]")
    check(f"{SAME}, reverse(axes=[height, sequence])", "shape=[2, 3]")


def test_reversal_of_tokens() -> None:
    text = model(
        "reverse(axis=sequence)",
        input="int32 shape=[] sequence=words",
        output="int32 shape=[]",
    )
    compare(text, WORDS)


@pytest.mark.alike
@pytest.mark.parametrize(
    "layer",
    [
        "layerNorm(axes=[sequence, width])",
        "layerNorm(axis=sequence)",
        "layerNorm(axis=width, scale=g, bias=c)",
        "rmsNorm(axes=[sequence, height])",
        "rmsNorm(axis=width, scale=g)",
        "meanVarianceNormalization(axes=[sequence, width])",
        "meanVarianceNormalization(axes=[sequence, width], variance=2)",
        "meanVarianceNormalization(axes=[height, width])",
    ],
)
def test_normalisation_along_the_sequence(layer: str) -> None:
    check(f"{SAME}, {layer}, mul(v)", "shape=[2, 3]")


@pytest.mark.parametrize(
    ("layer", "output"),
    [
        ("gather(shape={sequence:-1})", "shape=[2, 3]"),
        ("gather(shape={sequence:0})", "shape=[2, 3]"),
        ("gather(shape={words:-1, height:1})", "shape=[3]"),
        ("gather(shape={words:-1, height:-1, width:1})", "shape=[]"),
        ("gather(shape={words:-1}, keepDimensions=true)", "shape=[2, 3]"),
        ("gather(shape={words:0}, keepDimensions=true)", "shape=[2, 3]"),
        ("gather(shape={words:50%})", "shape=[2, 3]"),
        ("gather(shape={words:30%, height:1})", "shape=[3]"),
        ("gather(shape=[2], data=[-1, 0], axis=words)", "shape=[2, 2, 3]"),
        ("gather(shape=[2, 2], data=[-1, 0, 0, -1], axis=words)", "shape=[2, 2, 2, 3]"),
        ("gather(data=[1, 0], axis=height)", "shape=[2, 3]"),
    ],
)
def test_positions_along_the_sequence(layer: str, output: str) -> None:
    check(f"{SAME}, {layer}", output)


def test_a_position_that_some_rows_do_not_have() -> None:
    text = model(
        "gather(shape={words:-2}, keepDimensions=true)", input=ON_WORDS, output="shape=[2, 3]"
    )
    found = compare(text, {"words": (5, 2, 4)})
    assert found.masks["m"].tolist() == [[1], [1], [1], [0]]


def test_positions_by_index_tensors_stay_inside_the_row() -> None:
    ports = f"i:input int32 shape=[2]; m:input {ON_WORDS}; m:output shape=[2, 2, 3];"
    text = f"{ports} m:layers {SAME}, gather(indices=j, axis=words); i:layers sub(4, name=j);"
    compare(text, WORDS)
    # From −1 on they count from the last valid position, and none is beyond it.
    text = text.replace("sub(4", "add(3")
    compare(text, WORDS)


def test_a_sequence_resampled_to_the_length_of_another() -> None:
    ports = f"p:input shape=[1] sequence=pixels; m:input {ON_WORDS}; m:output shape=[2, 3];"
    layer = "gather(shape={words:q.dimension('sequence')})"
    text = f"{ports} m:layers {SAME}, {layer}; p:layers identity(name=q);"
    compare(text, {"words": (5, 2, 3, 4), "pixels": (3, 4, 1, 4)})


@pytest.mark.parametrize("operands", ["o", "o, o"])
def test_sequences_one_behind_the_other(operands: str) -> None:
    ports = "o:input shape=[3] sequence=more; m:input shape=[3] sequence=words;"
    ports += " m:output shape=[4];"
    tail = "attend(q, k, r, causal=true, rope=true, headSize=4)"
    layers = f"m:layers {ROWS}, concat({operands}, axis=sequence), {tail}; o:layers mul(s);"
    compare(f"{ports} {layers}", {"words": (5, 2, 1, 4), "more": (1, 3, 2, 1)})


def test_a_token_in_front_of_a_sequence() -> None:
    text = model(
        "identity(name=x), repeatSequence(node=c, length=1), concat(x, axis=sequence),"
        " attend(q, k, v, causal=true), gather(shape={sequence:-1})",
        "m:param c shape=[3];",
        input="shape=[3] sequence=words",
        output="shape=[3]",
    )
    compare(text, WORDS)


def test_a_token_in_front_of_every_row_without_a_mask() -> None:
    text = model(
        "identity(name=x), repeatSequence(node=c, length=1), concat(x, axis=sequence)",
        "m:param c shape=[3];",
        input="shape=[3] sequence=words",
        output="shape=[3]",
    )
    x = np.random.default_rng(0).uniform(-1, 1, (2, 2, 3)).astype("float32")
    found = np.asarray(run(text, {"m": x, "param/c": [1, 2, 3]}, {"words": 2}))
    np.testing.assert_allclose(found[:, 1:], x)
    np.testing.assert_allclose(found[:, 0], [[1, 2, 3]] * 2)


def test_tokens_one_behind_the_other() -> None:
    ports = "o:input int32 shape=[] sequence=more;"
    ports += " m:input int32 shape=[] sequence=words; m:output shape=[2];"
    layers = "m:layers concat(o, axis=sequence), embedding(e, size=3), reverse(axis=sequence);"
    compare(f"{ports} {layers} o:layers identity();", {"words": (5, 2, 1), "more": (1, 3, 2)})


@pytest.mark.alike
@pytest.mark.parametrize(
    "options",
    [
        "kernel=1",
        "kernel=3, padding=1",
        "kernel=3, padding=[2, 0]",
        "kernel=3, padding=same",
        "kernel=4, padding=same",
        "kernel=3, padding=same, strides=2",
        "kernel=4, padding=same, strides=2",
        "kernel=2, padding=same, strides=3, dilations=2",
        "kernel=3, padding=[2, 1], strides=2, dilations=2",
        "kernel=2, padding=[1, 1], bias=c, strides=2",
    ],
)
def test_convolution_along_the_sequence(options: str) -> None:
    layers = f"{ROWS}, conv1d(f, filters=2, {options}), add(d), reduceMean(axis=sequence)"
    text = model(layers, input="shape=[3] sequence=words", output="shape=[2]")
    compare(text, {"words": (6, 2, 3, 5, 4)})
    layers = f"{ROWS}, conv1d(f, filters=2, {options}), mul(d)"
    text = model(layers, input="shape=[3] sequence=words", output="shape=[2]")
    compare(text, {"words": (7, 2, 3, 5, 4)})


@pytest.mark.parametrize(
    "options",
    ["kernel=3", "kernel=4, strides=2, padding=1, bias=c", "kernel=2, padding=[0, 2], dilations=3"],
)
def test_transposed_convolution_along_the_sequence(options: str) -> None:
    layers = f"{ROWS}, convTranspose1d(f, filters=2, {options}), mul(d), reduceMean(axis=sequence)"
    text = model(layers, input="shape=[3] sequence=words", output="shape=[2]")
    compare(text, {"words": (6, 2, 3, 5, 4)})


def test_convolution_along_a_feature_leaves_the_mask() -> None:
    layers = "matmul(w, shape={length:2, channels:3}), conv1d(f, filters=3, kernel=2)"
    layers += ", reduceSum(axis=sequence)"
    text = model(layers, input="shape={length:2, channels:3} sequence=words", output="shape=[1, 3]")
    compare(text, WORDS)


@pytest.mark.alike
@pytest.mark.parametrize(
    "layer",
    [
        "reverse(axis=words)",
        "softmax(axis=words)",
        "layerNorm(axes=[words, width])",
        "cumulativeSum(axis=words, reversed=true)",
        "gather(shape={words:50%})",
        "reduceMean(axis=words, keepDimensions=true)",
    ],
)
def test_any_order_of_dimensions(layer: str) -> None:
    there = "transpose(permutation=[words, height, batch, width])"
    back = "transpose(permutation=[batch, words, height, width])"
    output = "shape=[2, 3]"
    check(f"{SAME}, {there}, {layer}, {back}", output)
