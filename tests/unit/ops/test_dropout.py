"""Dropout: masks drawn in the graph, new ones each step, the same ones for the same seed."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from tests.unit.graph.texts import calls, model, network
from tests.unit.ops.cases import np
from webnnm import Dataset, IrisDataset, NNModel
from webnnm.backends.reference import evaluate
from webnnm.graph.elaboration.lowering import lower_network
from webnnm.ops.declare.generator import MODULI, MULTIPLIERS

SIZE = 400


def step(p: float, x: Any, states: Any) -> dict[str, Any]:
    """Run a dropout layer as in training from given states of its generators."""
    text = model(f"dropout({p})", input=f"shape=[{SIZE}]", output=f"shape=[{SIZE}]")
    lowered = lower_network(network(text), batch=len(x), training=True)
    assert list(lowered.generators) == ["dropout1"]
    names = lowered.generators["dropout1"]
    feeds = {"m": x, **dict(zip(names, states, strict=True))}
    found = evaluate(lowered.builder.build({**lowered.outputs, **lowered.updates}), feeds)
    return {"y": found["m"], "states": [found[name] for name in names]}


def first_states(seed: int, batch: int = 2) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [rng.integers(1, m, (batch, SIZE)).astype("float32") for m in MODULI]


def test_outside_training_it_is_the_operand_itself() -> None:
    assert calls(model("matmul(w), dropout(0.5), softmax()")) == ["matmul", "softmax"]


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_kept_elements_grow_and_the_others_are_zero(p: float) -> None:
    x = np.random.default_rng(0).uniform(1, 2, (2, SIZE)).astype("float32")
    states, kept = first_states(1), []
    for _ in range(20):
        found = step(p, x, states)
        mask = found["y"] != 0
        np.testing.assert_allclose(found["y"][mask], (x / np.float32(1 - p))[mask], rtol=1e-6)
        kept.append(mask)
        states = found["states"]
    assert any((a != b).any() for a, b in pairwise(kept))
    assert np.mean(kept) == pytest.approx(1 - p, abs=0.02)
    # Elements are independent of each other and of the step before.
    flat = np.asarray(kept, float).reshape(20, -1) - np.mean(kept)
    assert abs(np.mean(flat[1:] * flat[:-1])) < 0.01
    assert abs(np.mean(flat[:, 1:] * flat[:, :-1])) < 0.01


def test_states_are_exact_integers() -> None:
    states = first_states(2)
    whole = [state.astype("int64") for state in states]
    x = np.ones((2, SIZE), "float32")
    for _ in range(50):
        found = step(0.25, x, states)
        states = found["states"]
        whole = [s * k % m for s, k, m in zip(whole, MULTIPLIERS, MODULI, strict=True)]
        for state, expected in zip(states, whole, strict=True):
            assert state.dtype == np.float32
            assert (state == expected).all()
        u = sum(s / m for s, m in zip(whole, MODULI, strict=True)) % 1
        clear = np.abs(u - 0.25) > 1e-6  # float32 may decide otherwise right at the border
        assert ((found["y"] != 0) == (u >= 0.25))[clear].all()


MLP = """
m:input shape=[4]; m:output shape=[3];
m:layers matmul(w, shape=[16]), add(b), relu(), dropout(0.3), matmul(w), add(b), softmax();
"""


async def train(seed: int, text: str = MLP, epochs: int = 40) -> tuple[NNModel, list[float]]:
    dataset: Dataset = await IrisDataset.create(standardize=True)
    model = await NNModel.create(
        source=text, dataset=dataset, backend="numpy", seed=seed, log=lambda _: None
    )
    history = await model.train(epochs=epochs)
    return model, history.losses


@pytest.mark.alike
async def test_a_model_learns_with_dropout() -> None:
    model, losses = await train(0, epochs=80)
    assert losses[-1] < 0.5 * losses[0]
    assert (await model.test()).accuracy > 0.85
    x = [[0.1, -0.2, 0.3, 0.4]]
    first, again = [await model.predict(x, raw=True) for _ in range(2)]
    assert np.array_equal(first, again)


async def test_the_seed_decides_on_the_masks() -> None:
    first, again, other = [(await train(seed, epochs=3))[1] for seed in (3, 3, 4)]
    assert first == again
    assert first != other
    without = (await train(3, MLP.replace("dropout(0.3), ", ""), epochs=3))[1]
    assert first != without


async def test_each_layer_draws_masks_of_its_own() -> None:
    text = model("dropout(0.5), dropout(0.5)", output="shape=[4]")
    lowered = lower_network(network(text), batch=2, training=True)
    assert lowered.generators.keys() == {"dropout1", "dropout2"}
    assert len({name for names in lowered.generators.values() for name in names}) == 6
