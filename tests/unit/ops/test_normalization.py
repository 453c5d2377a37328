"""Normalisations by their definition, and their use in the notation (spec C.5)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.graph.texts import calls, model, network, parameters, run
from tests.unit.ops.cases import np
from tests.unit.ops.gradient import check_gradients, functional
from tests.work import seeds
from webnnm import GraphBuilder, gradients
from webnnm.backends.reference import evaluate
from webnnm.graph.elaboration.initialise import initialisers
from webnnm.graph.node import OperatorNode

IMAGE = "shape={channels:3, height:4, width:5}"


def draw(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).uniform(0.5, 2, shape)


def apply_operator(
    name: str, *arrays: Any, wide: bool = True, dtype: Any = "float32", **given: Any
) -> Any:
    """Apply an operator to arrays, those among the options included, in float64 unless not wide."""
    b = GraphBuilder()
    feeds: dict[str, Any] = {}

    def input(array: Any) -> Any:
        feeds[f"x{len(feeds)}"] = array
        return b.input(f"x{len(feeds) - 1}", dtype, array.shape)

    xs = [array if array is None else input(array) for array in arrays]
    options = {k: input(v) if isinstance(v, np.ndarray) else v for k, v in given.items()}
    graph = b.build({"y": getattr(b, name)(*xs, **options)})
    return evaluate(graph, feeds, wide=wide)["y"]


def unit(x: Any, axes: tuple[int, ...], epsilon: float = 1e-5) -> Any:
    """(x − mean)/√(variance + ε)."""
    centred = x - np.mean(x, axis=axes, keepdims=True)
    return centred / np.sqrt(np.var(x, axis=axes, keepdims=True) + epsilon)


def near(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


# By definition.


def test_layer_normalisation_takes_scale_and_bias_in_the_order_of_the_axes() -> None:
    x, scale, bias = draw(0, 2, 3, 4), draw(1, 4, 2), draw(2, 4, 2)
    found = apply_operator("layer_normalization", x, scale, bias, axes=[2, 0], epsilon=0.125)
    factor, offset = (np.transpose(t)[:, None, :] for t in (scale, bias))
    near(found, unit(x, (0, 2), 0.125) * factor + offset)


def test_layer_normalisation_is_over_all_but_the_first_axis_unless_told() -> None:
    x = draw(0, 2, 3, 4)
    near(apply_operator("layer_norm", x), unit(x, (1, 2)))
    near(apply_operator("layer_norm", draw(0)), 0)


def test_layer_normalisation_over_no_axes_leaves_the_bias() -> None:
    x = draw(0, 2, 3)
    near(
        apply_operator("layer_normalization", x, None, np.asarray(0.5), axes=[]),
        np.full((2, 3), 0.5),
    )


def test_rms_normalisation_does_not_centre() -> None:
    x, scale = draw(0, 2, 3), draw(1, 3)
    expected = x / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + 1e-6) * scale
    near(apply_operator("rms_norm", x, scale), expected)
    near(apply_operator("rms_norm", x, scale=scale), expected)


def test_batch_normalisation_takes_a_negative_axis_and_a_fused_activation() -> None:
    """As in the draft of 2022."""
    x, mean, variance = draw(0, 2, 4, 3), draw(1, 3), draw(2, 3)
    expected = (x - mean) / np.sqrt(variance + 1e-5)
    near(apply_operator("batch_normalization", x, mean, variance, axis=-1), expected)
    for activation in ("relu", GraphBuilder().relu()):
        found = apply_operator("batch_norm", x, mean, variance, axis=-1, activation=activation)
        near(found, np.maximum(expected, 0))


def test_the_other_normalisations_are_cases_of_mean_variance_normalisation() -> None:
    x, mean, variance, scale, bias = draw(0, 2, 3, 4, 5), *(draw(k, 3) for k in range(1, 5))
    of_channels = {"scale": scale.reshape(3, 1, 1), "bias": bias.reshape(3, 1, 1)}

    def general(axes: list[int], **given: Any) -> Any:
        return apply_operator("mean_variance_normalization", x, axes=axes, **given)

    near(general([1, 2, 3]), apply_operator("layer_normalization", x))
    near(
        general([2, 3], **of_channels),
        apply_operator("instance_normalization", x, scale, bias),
    )
    near(
        general([0, 2, 3], mean=mean, variance=variance, **of_channels),
        apply_operator("batch_normalization", x, mean, variance, scale, bias),
    )


def test_group_normalisation_is_mean_variance_normalisation_of_five_dimensions() -> None:
    x, scale = draw(0, 2, 4, 3, 3), draw(1, 4)
    groups, factor = x.reshape(2, 2, 2, 3, 3), scale.reshape(2, 2, 1, 1)
    found = apply_operator("mean_variance_normalization", groups, scale=factor, axes=[2, 3, 4])
    near(found, unit(groups, (2, 3, 4)) * factor)
    near(apply_operator("group_normalization", x, scale, groups=2), found.reshape(x.shape))


def test_a_mean_alone_is_what_the_variance_is_about() -> None:
    x, mean = draw(0, 2, 3), draw(1, 2, 1)
    variance = np.mean((x - mean) ** 2, axis=1, keepdims=True)
    found = apply_operator("mean_variance_normalization", x, mean=mean)
    near(found, (x - mean) / np.sqrt(variance + 1e-5))
    found = apply_operator("mean_variance_normalization", x, variance=variance)
    near(found, (x - np.mean(x, axis=1, keepdims=True)) / np.sqrt(variance + 1e-5))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("layer_normalization", {}),
        ("rms_norm", {}),
        ("instance_normalization", {}),
        ("group_normalization", {"groups": 1}),
        ("mean_variance_normalization", {}),
        ("mean_variance_normalization", {"mean": np.zeros((2, 1, 1, 1))}),
    ],
)
def test_squares_of_halves_do_not_overflow(name: str, options: Any) -> None:
    x = draw(0, 2, 3, 4, 4) * 1000 - 1250
    found = apply_operator(name, x, wide=False, dtype="float16", **options)
    expected = apply_operator(name, x.astype("float16").astype("float64"), **options)
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, expected, rtol=5e-3, atol=5e-3)


def test_a_large_mean_does_not_blur_the_variance() -> None:
    x = (draw(0, 2, 64) + 1000).astype("float32")
    found = apply_operator("layer_normalization", x, wide=False)
    np.testing.assert_allclose(found, unit(x.astype("float64"), (1,)), atol=2e-3)


@pytest.mark.parametrize(
    ("name", "shapes", "native"),
    [
        ("layer_normalization", [(2, 3)], ["layerNormalization"]),
        ("mean_variance_normalization", [(2, 3)], ["layerNormalization"]),
        ("batch_normalization", [(2, 3), (3,), (3,)], ["batchNormalization"]),
        ("instance_normalization", [(2, 3, 4, 5)], ["instanceNormalization"]),
    ],
)
def test_what_webnn_has_stays_one_operator(name: str, shapes: Any, native: list[str]) -> None:
    b = GraphBuilder()
    xs = [b.input(f"x{k}", "float32", shape) for k, shape in enumerate(shapes)]
    nodes = b.build({"y": getattr(b, name)(*xs)}).nodes()
    assert [n.operator.native for n in nodes if isinstance(n, OperatorNode)] == native


# In the notation.


@pytest.mark.parametrize(
    ("layer", "shapes"),
    [
        ("layerNorm(scale=g, bias=b)", {"g1": (5,), "b1": (5,)}),
        ("layerNormalization(g, b)", {"g1": (5,), "b1": (5,)}),
        ("layerNorm(g, axes=[width, channels])", {"g1": (5, 3)}),
        ("layerNorm()", {}),
        ("rmsNorm(g)", {"g1": (5,)}),
        ("rmsNorm(g, axis=height)", {"g1": (4,)}),
        ("instanceNorm(scale=g, bias=b)", {"g1": (3,), "b1": (3,)}),
        ("instanceNorm(scale=g, layout=nhwc)", {"g1": (3,)}),
        ("groupNorm(groups=3, scale=g, bias=b)", {"g1": (3,), "b1": (3,)}),
        ("meanVarianceNormalization(scale=g, bias=b)", {"g1": (3, 4, 5), "b1": (3, 4, 5)}),
        ("meanVarianceNormalization(bias=b, axes=[height])", {"b1": (4,)}),
        ("batchNorm()", {"mean1": (3,), "variance1": (3,)}),
        ("batchNorm(axis=width)", {"mean1": (5,), "variance1": (5,)}),
        ("batchNorm(a, v, scale=g)", {"a1": (3,), "v1": (3,), "g1": (3,)}),
        ("batchNorm(k, k, scale=g)", {"g1": (3,)}),
        ("batchNorm(k, k)", {}),
    ],
)
def test_parameters_have_the_sizes_of_the_axes(layer: str, shapes: dict[str, Any]) -> None:
    text = model(layer, "k {channels:3} 1;", input=IMAGE, output=IMAGE)
    assert parameters(text) == shapes


def test_running_statistics_are_states_that_are_not_trained() -> None:
    text = model("matmul(w, shape=[3]), batchNorm(scale=g, bias=b), batchNorm()")
    learns = {p.name: p.trainable for p in network(text).parameters}
    states = [name for name, trainable in learns.items() if not trainable]
    assert states == ["mean1", "variance1", "mean2", "variance2"]
    starts = {name: str(init) for name, init in initialisers(network(text)).items()}
    assert (starts["mean1"], starts["variance1"]) == ("constant(0)", "constant(1)")
    assert (starts["g1"], starts["b1"]) == ("constant(1)", "constant(0)")


def test_the_channel_is_the_feature_of_that_name_or_the_first() -> None:
    last = "shape={height:4, width:5, channels:3}"
    assert parameters(model("batchNorm()", input=last, output=last))["mean1"] == (3,)
    plain = "shape=[4, 5, 3]"
    assert parameters(model("batchNorm()", input=plain, output=plain))["mean1"] == (4,)
    assert parameters(model("instanceNorm(g)", input=plain, output=plain))["g1"] == (4,)
    text = model("instanceNorm(g, layout=nhwc)", input=plain, output=plain)
    assert parameters(text)["g1"] == (3,)


def test_sizes_are_learnt_from_scale() -> None:
    text = model("matmul(w), layerNorm(scale=g), matmul(w)", "m:param g shape=[7];")
    assert parameters(text) == {"w1": (4, 7), "g": (7,), "w2": (7, 3)}


def test_named_features_decide_the_layout_of_instance_normalisation() -> None:
    x, scale = draw(0, 2, 4, 3, 5), draw(1, 3)
    between = "shape={height:4, channels:3, width:5}"
    text = model("instanceNorm(scale=g)", input=between, output=between)
    expected = unit(x, (1, 3)) * scale[:, None]
    np.testing.assert_allclose(run(text, {"m": x, "param/g1": scale}), expected, atol=1e-5)


def test_channels_of_groups_stand_anywhere_beside_a_sequence() -> None:
    x, scale = draw(0, 2, 6, 5, 4), draw(1, 4)
    last = "shape={width:5, channels:4}"
    text = model("groupNorm(scale=g, groups=2)", input=f"{last} sequence=true", output=last)
    grouped = unit(x.reshape(2, 6, 5, 2, 2), (2, 4)).reshape(x.shape)
    found = run(text, {"m": x, "param/g1": scale}, {"sequence": 6})
    np.testing.assert_allclose(found, grouped * scale, atol=1e-5)


def test_normalisation_works_beside_and_along_a_sequence() -> None:
    x = draw(0, 2, 6, 3, 4, 5)
    input = f"{IMAGE} sequence=true"

    def found(layer: str) -> Any:
        return run(model(layer, input=input, output=IMAGE), {"m": x}, {"sequence": 6})

    np.testing.assert_allclose(found("instanceNorm()"), unit(x, (3, 4)), atol=1e-5)
    np.testing.assert_allclose(found("layerNorm()"), unit(x, (4,)), atol=1e-5)
    along = found("layerNorm(axes=[sequence, width])")
    np.testing.assert_allclose(along, unit(x, (1, 4)), atol=1e-5)
    np.testing.assert_allclose(found("meanVarianceNormalization()"), unit(x, (2, 3, 4)), atol=1e-5)


def test_statistics_may_come_from_elsewhere() -> None:
    x = draw(0, 3, 3, 4, 5)
    layers = (
        "reduceMean(axes=[height, width], name=centre), "
        "meanVarianceNormalization(node=input, axes=[height, width], mean=centre, variance=k)"
    )
    text = model(layers, "k {channels:3} [1, 4, 9];", input=IMAGE, output=IMAGE)
    variance = np.asarray([1, 4, 9]).reshape(3, 1, 1)
    expected = (x - np.mean(x, axis=(2, 3), keepdims=True)) / np.sqrt(variance + 1e-5)
    np.testing.assert_allclose(run(text, {"m": x}), expected, atol=1e-5)


def test_given_statistics_are_used_as_they_are() -> None:
    text = model("batchNorm(c, d), matmul(w)", "c [4] 2;", "d [4] 3;")
    assert calls(text)[-2:] == ["batchNormalization", "matmul"]
    assert list(parameters(text)) == ["w1"]


def test_halves_are_normalised_in_float32() -> None:
    half = "float16 shape=[4]"
    for layer in ("layerNorm()", "rmsNorm()", "batchNorm()"):
        made = calls(model(layer, input=half, output="float16 shape=[4]"))
        assert (made[0], made[-1]) == ("cast float32", "cast float16")


@pytest.mark.parametrize("seed", seeds(range(2)))
@pytest.mark.parametrize(
    ("name", "shapes", "options"),
    [
        ("layer_normalization", [(3, 4), (4,)], {"epsilon": 0.5}),
        ("instance_normalization", [(2, 2, 2, 3), (2,)], {"epsilon": 0.5}),
        ("batch_normalization", [(3, 2), (2,), (2,), (2,)], {"epsilon": 0.5}),
        ("rms_norm", [(3, 4), (4,)], {"epsilon": 0.5}),
    ],
)
def test_second_gradient_is_the_difference_of_the_first(
    name: str, shapes: Any, options: Any, seed: int
) -> None:
    b = GraphBuilder()
    xs = [b.input(f"x{k}", "float32", shape) for k, shape in enumerate(shapes)]
    loss = functional(b, [getattr(b, name)(*xs, **options)], seed)
    first = gradients(loss * loss, xs)
    feeds = {f"x{k}": draw(seed + k, *shape) for k, shape in enumerate(shapes)}
    check_gradients(functional(b, first, seed + 10), xs, feeds, seed)
