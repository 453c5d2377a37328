"""Recurrent operators in the notation: parameters, results, states, training (spec C.8)."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.unit.graph.texts import calls, fails, model, network, parameters, run
from tests.unit.ops.cases import np
from tests.unit.ops.recurrences import (
    BATCH,
    HIDDEN,
    STEPS,
    apply_operator,
    draw,
    gru_arrays,
    lstm_arrays,
)
from webnnm import Dataset, NNModel
from webnnm.core.errors import ModelError
from webnnm.graph.elaboration.initialise import Initialiser, initialisers
from webnnm.graph.elaboration.lowering import lower_network
from webnnm.graph.node import OperatorNode

SEQUENCE = "shape=[2] sequence=true"


@pytest.mark.parametrize(
    ("layer", "shapes"),
    [
        ("lstm(w, r)", {"w1": (1, 12, 2), "r1": (1, 12, 3)}),
        ("gru(w, r)", {"w1": (1, 9, 2), "r1": (1, 9, 3)}),
        (
            "lstm(w, r, bias=b, recurrentBias=c, peepholeWeight=p)",
            {"w1": (1, 12, 2), "r1": (1, 12, 3), "b1": (1, 12), "c1": (1, 12), "p1": (1, 9)},
        ),
        (
            "gru(w, r, bias=b, direction=both, hiddenSize=4), matmul(v, shape=[3])",
            {"w1": (2, 12, 2), "r1": (2, 12, 4), "b1": (2, 12), "v1": (8, 3)},
        ),
        ("lstm(w, r, shape=[5]), matmul(v)", {"w1": (1, 20, 2), "r1": (1, 20, 5), "v1": (5, 3)}),
        ("lstm(k, r)", {"r1": (1, 12, 3), "k": (1, 12, 2)}),
    ],
)
def test_sizes_follow_from_the_hidden_size_the_result_or_a_weight(
    layer: str, shapes: dict[str, Any]
) -> None:
    declared = ["m:param k shape=[1, 12, 2];"] if "k" in shapes else []
    assert parameters(model(layer, *declared, input=SEQUENCE)) == shapes


def test_features_follow_from_the_weights() -> None:
    text = model(
        "matmul(v), lstm(k, r)", "m:param k shape=[1, 12, 7];", input="shape=[2] sequence=true"
    )
    assert parameters(text)["v1"] == (2, 7)


def test_cells_take_states_by_name() -> None:
    ports = "m:input shape=[2]; h:input shape=[5]; c:input shape=[5]; m:output shape=[5];"
    text = f"{ports} m:layers lstmCell(w, r, h, c, bias=b, name=l), add(l.cell);"
    assert parameters(text) == {"w1": (20, 2), "r1": (20, 5), "b1": (20,)}
    text = "m:input shape=[2]; h:input shape=[5]; m:output shape=[5]; m:layers gruCell(w, r, h);"
    assert parameters(text) == {"w1": (15, 2), "r1": (15, 5)}


def test_weights_are_glorot_per_gate_and_the_forget_gate_starts_open() -> None:
    layers = "lstm(w, r, bias=b, recurrentBias=c, layout=ifgo), relu()"
    found = initialisers(network(model(layers, input=SEQUENCE)))
    radius = math.sqrt(6 / (2 + 3)), math.sqrt(6 / (3 + 3))
    for name, r in zip(("w1", "r1"), radius, strict=True):
        assert found[name] == Initialiser("uniform", -r, r)
    assert found["b1"].parts == (0, 1, 0, 0)
    assert found["c1"] == Initialiser("constant", 0)
    gru = initialisers(network(model("gru(w, r, bias=b)", input=SEQUENCE)))
    assert gru["b1"] == Initialiser("constant", 0)
    cell = "m:input shape=[2]; h:input shape=[5]; m:output shape=[5];"
    text = f"{cell} m:layers lstmCell(w, r, h, h, bias=b);"
    assert initialisers(network(text))["b1"].parts == (0, 0, 1, 0)


async def test_a_bias_starts_as_told() -> None:
    text = model("lstm(w, r, bias=b, direction=both, hiddenSize=3), matmul(v)", input=SEQUENCE)
    made = await NNModel.create(source=text, backend="numpy", log=lambda _: None)
    (bias,) = [p.value for p in made.params() if p.name == "b1"]
    assert np.asarray(bias).tolist() == [[0] * 6 + [1] * 3 + [0] * 3] * 2


def layer_feeds(arrays: dict[str, Any], **names: str) -> dict[str, Any]:
    feeds = {f"param/{given}": arrays[name] for name, given in names.items()}
    return {"m": np.swapaxes(arrays["input"], 0, 1), **feeds}


WEIGHTS = {"weight": "w1", "recurrent_weight": "r1", "bias": "b1"}


def test_both_directions_are_joined_forward_first() -> None:
    arrays = {k: v for k, v in lstm_arrays(2).items() if k in ("input", *WEIGHTS)}
    hidden, cell, sequence = apply_operator("lstm", arrays, direction="both", return_sequence=True)
    feeds = layer_feeds(arrays, **WEIGHTS)
    layer = "lstm(w, r, bias=b, direction=both, hiddenSize=5{}{})"

    def found(options: str = "", more: str = "") -> Any:
        text = model(layer.format(options, ", name=l") + more, input=SEQUENCE, output="shape=[10]")
        return run(text, feeds, {"sequence": STEPS})

    joined = np.concatenate([hidden[0], hidden[1]], axis=-1)
    np.testing.assert_allclose(found(), joined, atol=1e-6)
    np.testing.assert_allclose(
        found(", returnSequence=true", ", identity(node=l.hidden)"), joined, atol=1e-6
    )
    np.testing.assert_allclose(
        found("", ", identity(node=l.cell)"), np.concatenate([cell[0], cell[1]], axis=-1), atol=1e-6
    )
    at_steps = np.concatenate([sequence[:, 0], sequence[:, 1]], axis=-1).swapaxes(0, 1)
    np.testing.assert_allclose(found(", returnSequence=true"), at_steps, atol=1e-6)
    np.testing.assert_allclose(
        found(", returnSequence=true", ", identity(node=l.sequence)"), at_steps, atol=1e-6
    )


def test_a_sequence_that_is_not_returned_has_no_name() -> None:
    text = model("lstm(w, r, name=l), matmul(v, node=l.sequence)", input=SEQUENCE)
    with pytest.raises(ModelError, match="NNM205"):
        network(text)


def test_sequences_keep_their_name() -> None:
    text = model(
        "gru(w, r, returnSequence=true, hiddenSize=4), reduceMean(axes=[words]), matmul(v)",
        input="shape=[2] sequence=words",
    )
    assert parameters(text)["v1"] == (4, 3)


@pytest.mark.parametrize("state", ["h", "k", "0.5"])
def test_initial_states_are_of_features(state: str) -> None:
    arrays = {k: v for k, v in gru_arrays(2).items() if k in ("input", *WEIGHTS)}
    values = {"h": draw(8, BATCH, 10), "k": draw(9, 10), "0.5": np.full(10, 0.5)}
    given = np.broadcast_to(values[state], (BATCH, 10))
    split = np.stack(np.split(given, 2, axis=1))
    (hidden,) = apply_operator("gru", arrays | {"initial_hidden_state": split}, direction="both")
    text = model(
        f"gru(w, r, bias=b, direction=both, initialHiddenState={state})",
        "h:input shape=[10];",
        "m:param k shape=[10];",
        input=SEQUENCE,
        output="shape=[10]",
    )
    feeds = layer_feeds(arrays, **WEIGHTS) | {"h": values["h"], "param/k": values["k"]}
    expected = np.concatenate([hidden[0], hidden[1]], axis=-1)
    np.testing.assert_allclose(run(text, feeds, {"sequence": STEPS}), expected, atol=1e-6)


def test_cells_work_at_every_step_of_a_sequence() -> None:
    arrays = gru_arrays()
    x, w, r, b, _, h = arrays.values()
    names = ("input", "weight", "recurrent_weight", "hidden_state")
    rows = dict(zip(names, (x.reshape(-1, 2), w[0], r[0], np.tile(h[0], (STEPS, 1))), strict=True))
    (expected,) = apply_operator("gru_cell", rows | {"bias": b[0]})
    text = model(
        "gruCell(w, r, h, bias=b)", "h:input shape=[5];", input=SEQUENCE, output="shape=[5]"
    )
    feeds = {"m": x.swapaxes(0, 1), "h": h[0]}
    feeds |= {"param/w1": w[0], "param/r1": r[0], "param/b1": b[0]}
    found = np.asarray(run(text, feeds, {"sequence": STEPS}))
    at_steps = expected.reshape(STEPS, BATCH, HIDDEN).swapaxes(0, 1)
    np.testing.assert_allclose(found, at_steps, atol=1e-6)


def test_steps_are_unrolled_in_training_only() -> None:
    text = model("lstm(w, r)", input=SEQUENCE)
    assert "lstm" in calls(text, 2, {"sequence": 3})
    lowered = lower_network(network(text), batch=2, sequence={"sequence": 3}, training=True)
    used = {n.operator.name for n in lowered.graph().nodes() if isinstance(n, OperatorNode)}
    assert "lstm" not in used


def test_a_recurrent_layer_needs_a_sequence() -> None:
    fails("NNM411", model("¦gru(w, r)"), says="needs a sequence", hint="sequence=true")


@pytest.mark.desktop
@pytest.mark.parametrize("layer", ["lstm", "gru"])
async def test_a_sequence_is_learnt(layer: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 6, 2)).astype("float32")
    y = np.eye(2, dtype="float32")[(x[:, :, 0].sum(axis=1) > 0).astype(int)]
    dataset = Dataset(x, y, split=(0.75, 0, 0.25))
    text = model(
        f"{layer}(w, r, bias=b, hiddenSize=6, returnSequence=true), dropout(0.1), "
        f"{layer}(w, r, bias=b, hiddenSize=4), matmul(v), softmax()",
        input=SEQUENCE,
        output="shape=[2]",
    )
    made = await NNModel.create(
        source=text, dataset=dataset, backend="numpy", sequence_length=6, log=lambda _: None
    )
    history = await made.train(epochs=60, lr=0.05)
    assert history.losses[-1] < 0.5 * history.losses[0]
    assert (await made.test()).accuracy > 0.7
