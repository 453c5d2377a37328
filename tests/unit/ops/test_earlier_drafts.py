"""Calls as the 2022 draft of WebNN and the transformer list had them, on today's operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.ops.cases import np
from webnnm import GraphBuilder, WebNNMError
from webnnm.backends.reference import evaluate
from webnnm.graph.node import Operand

X = np.arange(-12.0, 12).reshape(2, 3, 4)
IMAGE = np.sin(np.arange(50.0)).reshape(1, 2, 5, 5)
FILTER = np.cos(np.arange(54.0)).reshape(3, 2, 3, 3)

Call = Callable[[GraphBuilder, Operand], Operand]


def value(call: Call, x: Any = X, dtype: Any = "float32") -> Any:
    """Return what a call computes from a constant."""
    b = GraphBuilder()
    return evaluate(b.build({"y": call(b, b.constant(np.asarray(x), dtype))}), {})["y"]


def image(**options: Any) -> Call:
    """Return a convolution of an image with its filter."""
    return lambda b, x: b.conv2d(x, b.constant(FILTER, "float32"), **options)


SAME: dict[str, tuple[Any, Call, Call]] = {
    "softmax without an axis is over columns": (
        X[0],
        lambda b, x: b.softmax(x),
        lambda b, x: b.softmax(x, axis=1),
    ),
    "steepness of softplus": (
        X,
        lambda b, x: b.softplus(x, steepness=2),
        lambda b, x: b.softplus(x * 2) / 2,
    ),
    "squeeze": (
        X[:, :1],
        lambda b, x: b.squeeze(x, axes=[1]),
        lambda b, x: b.reshape(x, new_shape=[2, 4]),
    ),
    "squeeze of all": (
        X[:1, :1],
        lambda b, x: b.squeeze(x),
        lambda b, x: b.reshape(x, new_shape=[4]),
    ),
    "unsqueeze": (
        X,
        lambda b, x: b.unsqueeze(x, axes=[0, 2]),
        lambda b, x: b.reshape(x, new_shape=[1, 2, 1, 3, 4]),
    ),
    "flattenTo2d": (
        X,
        lambda b, x: b.flatten_to2d(x, axis=2),
        lambda b, x: b.reshape(x, new_shape=[6, 4]),
    ),
    "padding in a constant": (
        X[0],
        lambda b, x: b.pad(x, b.constant([[1, 0], [0, 2]], "uint32"), value=7),
        lambda b, x: b.pad(x, beginning_padding=[1, 0], ending_padding=[0, 2], value=7),
    ),
    "slice along some axes": (
        X,
        lambda b, x: b.slice(x, starts=[-2, 1], sizes=[-1, 2], axes=[2, 1]),
        lambda b, x: b.slice(x, starts=[0, 1, 2], sizes=[2, 2, 2]),
    ),
    "negative axes": (
        X,
        lambda b, x: b.concat([b.reduce_sum(x, axes=[-1], keep_dimensions=True), x], axis=-1),
        lambda b, x: b.concat([b.reduce_sum(x, axes=[2], keep_dimensions=True), x], axis=2),
    ),
    "second part of a split along a negative axis": (
        X,
        lambda b, x: b.split(x, [1, 2], axis=-2)[1],
        lambda b, x: b.slice(x, starts=[0, 1, 0], sizes=[2, 2, 4]),
    ),
    "reshape with an open size": (
        X,
        lambda b, x: b.reshape(x, new_shape=[4, None]),
        lambda b, x: b.reshape(x, new_shape=[4, 6]),
    ),
    "matmul of vectors": (
        X[0, 0],
        lambda b, x: b.matmul(x, x),
        lambda b, x: b.reduce_sum(x * x),
    ),
    "matmul of a vector and a matrix": (
        X[0],
        lambda b, x: b.matmul(b.constant([1.0, 2.0, 3.0]), x),
        lambda b, x: b.reduce_sum(x * b.constant([[1.0], [2.0], [3.0]]), axes=[0]),
    ),
    "matmul of matrices and a vector": (
        X,
        lambda b, x: b.matmul(x, b.constant([1.0, 2.0, 3.0, 4.0])),
        lambda b, x: b.reduce_sum(x * b.constant([1.0, 2.0, 3.0, 4.0]), axes=[2]),
    ),
    "negative axes of resample2d": (
        IMAGE,
        lambda b, x: b.resample2d(x, scales=[2.0, 2.0], axes=[-2, -1]),
        lambda b, x: b.resample2d(x, scales=[2.0, 2.0], axes=[2, 3]),
    ),
    "fused activation by name": (
        IMAGE,
        image(activation="relu"),
        lambda b, x: b.relu(image()(b, x)),
    ),
    "fused activation as an operator": (
        IMAGE,
        lambda b, x: image(activation=b.clamp(min_value=-1, max_value=0.5))(b, x),
        lambda b, x: b.clamp(image()(b, x), min_value=-1, max_value=0.5),
    ),
    "automatic padding, upper": (
        IMAGE,
        image(auto_pad="same-upper", strides=[2, 2]),
        image(padding=[1, 1, 1, 1], strides=[2, 2]),
    ),
    "automatic padding of an even window, lower": (
        IMAGE,
        lambda b, x: b.max_pool2d(x, window_dimensions=[2, 2], auto_pad="same-lower"),
        lambda b, x: b.max_pool2d(x, window_dimensions=[2, 2], padding=[1, 0, 1, 0]),
    ),
    "rounding type": (
        IMAGE,
        lambda b, x: b.max_pool2d(
            x, window_dimensions=[2, 2], strides=[2, 2], rounding_type="ceil"
        ),
        lambda b, x: b.max_pool2d(
            x, window_dimensions=[2, 2], strides=[2, 2], output_shape_rounding="ceil"
        ),
    ),
    "fused activation of batchNormalization": (
        IMAGE,
        lambda b, x: b.batch_normalization(
            x, b.constant([0.0, 1.0]), b.constant([1.0, 2.0]), axis=-3, activation="tanh"
        ),
        lambda b, x: b.tanh(
            b.batch_normalization(x, b.constant([0.0, 1.0]), b.constant([1.0, 2.0]), axis=1)
        ),
    ),
    "elementwiseIf": (
        X,
        lambda b, x: b.elementwise_if(b.greater(x, 0.0), x, -x),
        lambda b, x: b.where(b.greater(x, 0.0), x, -x),
    ),
    "triangularMatrix": (
        X,
        lambda b, x: b.triangular_matrix(x, triangular_part="lower", diagonal_delta=1),
        lambda b, x: b.triangular(x, upper=False, diagonal=1),
    ),
    "group normalisation through meanVarianceNormalization": (
        IMAGE,
        lambda b, x: b.mean_variance_normalization(x, axes=[2, 3]),
        lambda b, x: b.instance_normalization(x),
    ),
}


@pytest.mark.parametrize(("x", "earlier", "today"), SAME.values(), ids=SAME)
def test_earlier_call_computes_what_todays_does(x: Any, earlier: Call, today: Call) -> None:
    expected = value(today, x)
    found = value(earlier, x)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_symmetric_padding_repeats_the_edge() -> None:
    found = value(
        lambda b, x: b.pad(x, beginning_padding=[0, 2], ending_padding=[1, 3], mode="symmetric"),
        X[0],
    )
    np.testing.assert_array_equal(found, np.pad(X[0], [(0, 1), (2, 3)], mode="symmetric"))


@pytest.mark.parametrize("name", ["arg_max", "arg_min"])
def test_last_index_of_ties(name: str) -> None:
    ties = [[1.0, 3.0, 3.0, 1.0], [2.0, 2.0, 2.0, 2.0]]
    first = value(lambda b, x: getattr(b, name)(x, axis=1), ties)
    last = value(lambda b, x: getattr(b, name)(x, axis=1, select_last_index=True), ties)
    assert first.tolist() == ([1, 0] if name == "arg_max" else [0, 0])
    assert last.tolist() == ([2, 3] if name == "arg_max" else [3, 3])


def test_fill_sequence() -> None:
    b = GraphBuilder()
    y = b.fill_sequence("int32", [2, 3], start=5, delta=-2)
    assert evaluate(b.build({"y": b.identity(y)}), {})["y"].tolist() == [[5, 3, 1], [-1, -3, -5]]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("clamp", {"min_value": -1, "max_value": 2}),
        ("elu", {"alpha": 0.5}),
        ("hard_sigmoid", {"alpha": 0.3, "beta": 0.1}),
        ("hard_swish", {}),
        ("leaky_relu", {"alpha": 0.2}),
        ("linear", {"alpha": 2.0, "beta": 1.0}),
        ("relu", {}),
        ("sigmoid", {}),
        ("softplus", {"steepness": 2.0}),
        ("softsign", {}),
        ("tanh", {}),
    ],
)
def test_activations_as_values(name: str, options: dict[str, Any]) -> None:
    def fused(b: GraphBuilder, x: Operand) -> Operand:
        return image(activation=getattr(b, name)(**options))(b, x)

    def apart(b: GraphBuilder, x: Operand) -> Operand:
        return getattr(b, name)(image()(b, x), **options)

    np.testing.assert_allclose(value(fused, IMAGE), value(apart, IMAGE), rtol=1e-6)


def test_what_is_not_an_activation_is_refused() -> None:
    with pytest.raises(WebNNMError):
        value(image(activation=3), IMAGE)
    with pytest.raises(WebNNMError):
        value(image(activation="nothing"), IMAGE)
