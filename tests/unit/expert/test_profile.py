"""The profile of a network (spec F.1)."""

from __future__ import annotations

import json

import pytest

from tests.unit.expert.cases import (
    DEEP,
    EXACT,
    HALF,
    IRIS,
    RECURRENT,
    RESIDUAL,
    TANH,
    DataFacts,
    device,
    facts,
    model,
    output,
    repeat,
)

IMAGE = (
    "m:input float16 shape={channels:3, height:8, width:8}; m:output shape=[10]; m:layers "
    "conv2d(f, filters=16, kernel=[3, 3], padding=[1, 1, 1, 1]), batchNormalization(), relu(), "
    "dropout(0.5), residual(skip=1), flatten(), matmul(w), softmax();"
)


def test_profile_of_a_small_model() -> None:
    found = facts(IRIS).profile
    assert (found.depth, found.width, found.heavy_ops, found.heavy_float32) == (6, 3, 2, 2)
    assert found.activations == {"relu": 1, "softmax": 1}
    assert (found.param_count, found.trainable_count, found.input_features) == (24, 24, 4)
    assert not found.recurrent
    assert found.risky_float16 == ()


def test_profile_of_an_image_model_in_float16() -> None:
    found = facts(IMAGE).profile
    assert (found.heavy_ops, found.heavy_float16, found.heavy_float32) == (2, 2, 0)
    # The width of a convolution is that of its channels, not of its pixels.
    assert found.width == 16
    assert (found.dropout_count, found.dropout_density) == (1, 0.5)
    assert (found.norm_count, found.residual_count, found.input_features) == (1, 1, 192)
    assert found.risky_float16 == ("batchNormalization1", "softmax1")
    assert found.param_count - found.trainable_count == 32


@pytest.mark.parametrize(
    ("text", "heavy"),
    [
        (model("attend(q, k, v, o=z), matmul(u)", sequence=True), 5),
        (model("attend(input, k, v), matmul(u)", sequence=True), 3),
        (RECURRENT, 2),
        (
            "matmul(w, shape=[5]), relu(), matmul(v, shape=[3]), "
            "residual(to=m:input, project=true)",
            3,
        ),
    ],
)
def test_heavy_operators(text: str, heavy: int) -> None:
    assert facts(text).profile.heavy_ops == heavy


def test_attention_and_recurrence_are_counted() -> None:
    text = model("attend(q, k, v, o=z), matmul(u)", sequence=True)
    assert facts(text).profile.attention_count == 1
    assert facts(RECURRENT).profile.recurrent


@pytest.mark.parametrize(
    ("layers", "length"),
    [
        (repeat(TANH, 6), 6),
        (f"{repeat(TANH, 3)}, matmul(a, shape=[4]), relu(), {repeat('tanh()', 2)}", 3),
        (f"{repeat(TANH, 3)}, layerNormalization(), {repeat('sigmoid()', 2)}", 3),
        (RESIDUAL.removesuffix(", matmul(v)"), 0),
    ],
)
def test_longest_saturating_chain(layers: str, length: int) -> None:
    assert facts(f"{layers}, matmul(last)").profile.longest_saturating_chain == length


@pytest.mark.parametrize(
    ("text", "rows", "high"),
    [
        (IRIS, None, False),
        (IRIS, 3, False),
        (IRIS, 2, True),
        (DEEP, None, True),
        ("matmul(w, shape=[511]), relu(), matmul(v)", None, False),
        ("matmul(w, shape=[512]), relu(), matmul(v)", None, True),
    ],
)
def test_high_capacity(text: str, rows: int | None, high: bool) -> None:
    data = DataFacts(sizes={} if rows is None else {"training": rows})
    assert facts(text, data=data).profile.high_capacity is high


def test_profile_is_json() -> None:
    outputs = output("CCE", EXACT).outputs
    data = DataFacts(sizes={"training": 105})
    found = facts(HALF, outputs=outputs, data=data, device=device(name="npu")).profile
    record = json.loads(json.dumps(found.to_dict()))
    assert record["outputs"] == [
        {
            "name": "m",
            "activation": "softmax",
            "loss": "CCE",
            "label_format": "onehot",
            "classes": 3,
            "class_counts": [35, 35, 35],
        }
    ]
    assert (record["samples_per_class"], record["device"]) == (35, "npu")
    assert record["longest_saturating_chain"] == 0
    assert record["risky_float16"] == ["softmax1"]


@pytest.mark.parametrize(
    ("shape", "kernel", "layout"),
    [
        ("[3, 8, 8]", "kernel=[3, 3]", ""),
        ("[8, 8, 3]", "kernel=[3, 3]", ", inputLayout=nhwc, filterLayout=ohwi"),
    ],
)
def test_width_of_convolutions_without_names(shape: str, kernel: str, layout: str) -> None:
    text = (
        f"m:input shape={shape}; m:output shape=[2]; "
        f"m:layers conv2d(f, filters=16, {kernel}{layout}), relu(), flatten(), matmul(w);"
    )
    assert facts(text).profile.width == 16
