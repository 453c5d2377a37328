"""Padding has no part in attention, recurrence and statistics of batches (spec G.6, E.9)."""

from __future__ import annotations

import pytest

from tests.unit.graph.texts import model, network
from tests.unit.ops.cases import np
from tests.unit.ops.padded_rows import (
    PADDING,
    compare,
    draw,
    operator_names,
    outcome,
)
from webnnm.core.errors import ModelError
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.elaboration.lowering import lower_network

WORDS = {"words": (5, 2, 1, 4)}
BOTH = {"words": (5, 2, 1, 4), "keys": (3, 4, 6, 1)}
ON_WORDS = "shape=[4] sequence=words"


# Attention.


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(
    "options",
    [
        "",
        "causal=true",
        "rope=true",
        "causal=true, rope=true, heads=2, kvHeads=1",
        "o=o, heads=2, bias=true",
    ],
)
def test_queries_do_not_see_padded_keys(options: str, training: bool) -> None:
    text = model(
        f"attend(q, k, v, {options})".replace(", )", ")"), input=ON_WORDS, output="shape=[4]"
    )
    compare(text, WORDS, training=training)


@pytest.mark.parametrize("causal", ["true", "false"])
@pytest.mark.parametrize("amounts", [BOTH, {"words": (3, 3, 3, 3), "keys": (3, 4, 6, 1)}])
def test_queries_of_one_sequence_see_keys_of_another(
    causal: str, amounts: dict[str, tuple[int, ...]]
) -> None:
    ports = "t:input shape=[3] sequence=keys; m:input shape=[4] sequence=words; m:output shape=[4];"
    layers = f"m:layers attend(q, k, v, to=u, causal={causal}); t:layers tanh(name=u);"
    compare(f"{ports} {layers}", amounts)


def test_tokens_of_features_have_no_padding() -> None:
    ports = "t:input shape=[3] sequence=keys; m:input shape=[2, 4]; m:output shape=[2, 4];"
    compare(
        f"{ports} m:layers attend(q, k, v, to=u); t:layers tanh(name=u);", {"keys": BOTH["keys"]}
    )


def test_keys_without_padding() -> None:
    ports = "t:input shape=[5, 3]; m:input shape=[4] sequence=words; m:output shape=[4];"
    for causal in ("true", "false"):
        layers = f"m:layers attend(q, k, v, to=u, causal={causal}); t:layers tanh(name=u);"
        compare(f"{ports} {layers}", WORDS)


def test_a_mask_of_the_model_and_padding() -> None:
    ports = f"t:input shape=[] sequence=words; m:input {ON_WORDS}; m:output shape=[4];"
    layers = "m:layers attend(q, k, v, mask=a); t:layers greater(0, name=a);"
    compare(f"{ports} {layers}", WORDS)


def test_a_mask_of_the_model_that_leaves_no_key() -> None:
    ports = f"t:input shape=[] sequence=words; m:input {ON_WORDS}; m:output shape=[4];"
    layers = "m:layers attend(q, k, v, mask=a); t:layers greater(5, name=a);"
    compare(f"{ports} {layers}", WORDS)


def test_dimensions_between_sample_and_token() -> None:
    text = model(
        "attend(q, k, v, causal=true)", input="shape=[2, 4] sequence=words", output="shape=[2, 4]"
    )
    compare(text, WORDS)


def test_learnt_queries_of_a_sequence_that_is_called_alike() -> None:
    ports = "m:input shape=[3] sequence=true; m:output shape=[3]; m:param c shape=[3];"
    layers = "identity(name=x), repeatSequence(node=c, length=2), attend(q, k, v, to=x)"
    found = compare(f"{ports} m:layers {layers};", {"sequence": (5, 2, 1)})
    assert found.masks["m"].tolist() == [[1, 1]] * 4


def test_a_stack_of_attention() -> None:
    layers = """
    matmul(w, shape=[4]), positionalEncoding(name=a), layerNorm(scale=g, bias=b),
    attend(q, k, v, o=o, causal=true), residual(to=a, name=c), layerNorm(scale=g, bias=b),
    matmul(w, shape=[8]), gelu(), matmul(w, shape=[4]), residual(to=c), reduceMean(axis=sequence)
    """
    compare(model(layers, input=ON_WORDS, output="shape=[4]"), WORDS)


def test_rotated_causal_queries_of_other_keys_are_refused() -> None:
    text = model(
        "tanh(name=x), gather(shape={words:50%}), attend(q, k, v, to=x, causal=true)",
        input=ON_WORDS,
        output="shape=[4]",
    )
    compare(text, WORDS)
    text = model(
        "matmul(w, shape=[4], name=x), gather(shape={words:50%}),"
        " attend(q, x, x, causal=true, rope=true)",
        input=ON_WORDS,
        output="shape=[4]",
    )
    with pytest.raises(ModelError, match="NNM411"):
        compare(text, WORDS)


# Recurrence.


@pytest.mark.alike
@pytest.mark.usual(
    *("biased-forward-True", "biased-backward-False", "biased-both-True"),
    *("begun-forward-False", "begun-backward-True", "begun-both-False"),
    *("gru-forward-True", "gru-backward-False", "gru-both-True"),
    *("begun gru-forward-False", "begun gru-backward-True", "begun gru-both-False"),
)
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("direction", ["forward", "backward", "both"])
@pytest.mark.parametrize(
    "layer",
    [
        "lstm(w, r, bias=b, peepholeWeight=p",
        "lstm(w, r, initialHiddenState=h, initialCellState=h",
        "gru(w, r, bias=b, recurrentBias=c",
        "gru(w, r, initialHiddenState=h, resetAfter=false",
    ],
    ids=["biased", "begun", "gru", "begun gru"],
)
def test_recurrence_ends_with_the_last_valid_step(
    layer: str, direction: str, training: bool
) -> None:
    size = 6 if direction == "both" else 3
    for sequence in ("false", "true"):
        options = f"hiddenSize=3, direction={direction}, returnSequence={sequence}"
        ports = f"m:input {ON_WORDS}; m:output shape=[{size}]; "
        if "=h" in layer:
            ports = f"i:input shape=[{size}]; i:layers tanh(name=h); " + ports
        compare(f"{ports} m:layers tanh(), {layer}, {options});", WORDS, training=training)


def test_every_result_of_a_recurrence() -> None:
    ports = f"m:input {ON_WORDS}; m:output shape=[3];"
    layers = "lstm(w, r, hiddenSize=3, returnSequence=true, name=l)"
    layers += ", gru(w, r, hiddenSize=3), add(l.cell), add(l.hidden)"
    compare(f"{ports} m:layers {layers};", WORDS)


def test_cells_work_position_by_position() -> None:
    ports = f"h:input shape=[3]; h:layers tanh(name=s); m:input {ON_WORDS}; m:output shape=[3];"
    compare(f"{ports} m:layers gruCell(w, r, s), reduceSum(axis=sequence);", WORDS)


def test_without_a_mask_recurrence_is_one_method_and_with_one_it_is_steps() -> None:
    text = model("lstm(w, r, hiddenSize=3)", input=ON_WORDS, output="shape=[3]")
    assert "lstm" in operator_names(text, WORDS, masked=False)
    assert "lstm" not in operator_names(text, WORDS, masked=True)


# Statistics of batches.


@pytest.mark.parametrize("rows", [None, [1, 1, 0]])
def test_batch_statistics_are_over_valid_positions(rows: list[int] | None) -> None:
    amounts = (4, 2, 3)
    net = network(
        model("batchNorm(scale=g, bias=b, momentum=0.75)", input=ON_WORDS, output="shape=[4]")
    )
    x = np.random.default_rng(0).uniform(-1, 1, (3, 4 + PADDING, 4))
    mask = (np.arange(4 + PADDING) < np.asarray(amounts)[:, None]).astype("float32")
    found = outcome(net, {"m": x}, {"words": 7}, {"words": mask}, {}, training=True, rows=rows)
    counted = mask if rows is None else mask * np.asarray(rows)[:, None]
    valid = x[counted > 0]
    centre, spread = valid.mean(axis=0), valid.var(axis=0)
    scale, bias = (draw(name, (4,)) for name in ("g1", "b1"))
    wanted = (x - centre) / np.sqrt(spread + 1e-5) * scale + bias
    np.testing.assert_allclose(found.outputs["m"], wanted, rtol=1e-6)
    unbiased = spread * len(valid) / (len(valid) - 1)
    for name, statistic in (("mean1", centre), ("variance1", unbiased)):
        expected = 0.75 * draw(name, (4,)) + 0.25 * statistic
        np.testing.assert_allclose(found.values[f"param/{name}"], expected, rtol=1e-6)


def test_a_batch_of_padding_alone_has_finite_statistics() -> None:
    net = network(model("batchNorm()", input=ON_WORDS, output="shape=[4]"))
    x, mask = np.ones((2, 3, 4)), np.zeros((2, 3), "float32")
    found = outcome(net, {"m": x}, {"words": 3}, {"words": mask}, {}, training=True)
    assert all(np.all(np.isfinite(value)) for value in found.values.values())


def test_gradients_through_batch_statistics_have_no_padding() -> None:
    net = network(
        model(
            "matmul(w, shape=[3]), batchNorm(scale=g), relu(), reduceSum(axis=sequence)",
            input=ON_WORDS,
        )
    )
    amounts, draw = np.asarray([4, 2, 3, 0]), np.random.default_rng(0)
    weights = draw.uniform(-1, 1, (4, 3)) * [[1], [1], [1], [0]]
    found = []
    for garbage, length in ((0.0, 4), (7.5, 6)):
        mask = (np.arange(length) < amounts[:, None]).astype("float32")
        x = np.full((4, length, 4), garbage)
        x[mask > 0] = np.random.default_rng(1).uniform(-1, 1, (9, 4))
        masks, rows = {"words": mask}, [1, 1, 1, 0]
        found.append(
            outcome(
                net, {"m": x}, {"words": length}, masks, {"m": weights}, training=True, rows=rows
            )
        )
    short, long = (f.values for f in found)
    for name in ("grad/w1", "grad/g1", "param/mean1", "param/variance1"):
        np.testing.assert_allclose(long[name], short[name], rtol=1e-6, atol=1e-9)


def test_in_use_batch_normalisation_works_by_position() -> None:
    text = model("batchNorm(scale=g), reduceMax(axis=sequence)", input=ON_WORDS, output="shape=[4]")
    compare(text, WORDS, training=False)


# What works position by position, and what does not.


@pytest.mark.parametrize(
    "layers",
    [
        "positionalEmbedding(p, size=8), mul(v)",
        "positionalEncoding(), mul(v)",
        "rotaryEmbedding(), mul(v)",
        "matmul(w, shape=[4], name=a), tanh(), add(a), concat(a, axis=features), matmul(v)",
        "fillSequence(like=m), reduceMean(axis=sequence)",
        "reduceMean(axis=sequence), repeatSequence(like=m), add(m), reduceMax(axis=sequence)",
        "matmul(w, shape=[8]), split(2, name=s), add(s.1), reduceMean(axis=sequence)",
    ],
)
def test_values_along_a_sequence_have_its_mask(layers: str) -> None:
    layers = layers.replace("like=m", "like=x").replace("add(m)", "add(x)")
    size = "" if "fillSequence" in layers else "4"
    compare(model(f"identity(name=x), {layers}", input=ON_WORDS, output=f"shape=[{size}]"), WORDS)


def test_splitting_rows_of_different_lengths_is_refused() -> None:
    text = model("split([1, 3], axis=sequence)", input=ON_WORDS, output="shape=[4]")
    b = GraphBuilder()
    masks = {"words": b.input("mask", "float32", (1, 4))}
    with pytest.raises(ModelError, match="NNM411"):
        lower_network(network(text), sequence={"words": 4}, builder=b, masks=masks)
    lower_network(network(text), sequence={"words": 4})
