"""Multipliers of the learning rate and frozen parameters (spec B.7)."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.unit.training.trained import PLAIN, classes, create, network, values
from webnnm.core.errors import DataError
from webnnm.graph.elaboration.annotate import parameter_depths
from webnnm.training.forward import OutputLoss
from webnnm.training.freezing import bucket, compute_multipliers, nearest_bucket
from webnnm.training.losses import LOSSES
from webnnm.training.optimizers import OPTIMIZERS
from webnnm.training.step import StepGraph, build_training_step
from webnnm.training.step_settings import StepSettings
from webnnm.training.update import UpdateSettings

IRIS = """
m:input shape=[4]; m:output shape=[3];
m:layers matmul(w, shape=[5]{}), add(b{}), relu(), matmul(w{}), add(b{}), softmax();
"""
PLAIN_IRIS = IRIS.format("", "", "", "")
RATIOS = {"w1": 1 / 7, "b1": 2 / 7, "w2": 4 / 7, "b2": 5 / 7}


def ideal(ratio: float, freeze: float) -> float:
    return max(0.0, math.sin(math.pi / 2 * (ratio - freeze) / (1 - freeze)))


def nearest(value: float) -> float:
    """The nearest of the buckets, the lower one of two."""
    best = 0.0
    for candidate in (0.1, 0.5, 0.9, 1.0):
        if abs(candidate - value) < abs(best - value):
            best = candidate
    return best


def test_path_ratios_of_the_iris_model() -> None:
    found = {n: d.path_ratio for n, d in parameter_depths(network(PLAIN_IRIS)).items()}
    assert found == pytest.approx(RATIOS)
    assert [round(r, 3) for r in found.values()] == [0.143, 0.286, 0.571, 0.714]


@pytest.mark.parametrize(
    ("freeze", "expected"),
    [
        (0.0, [1.0, 1.0, 1.0, 1.0]),
        # sin(½π·(r − f)/(1 − f)) is 0.075, 0.319, 0.733 and 0.878.
        (0.1, [0.1, 0.5, 0.9, 0.9]),
        (0.2, [0.0, 0.1, 0.5, 0.9]),
        (0.5, [0.0, 0.0, 0.1, 0.5]),
        (1.0, [0.0, 0.0, 0.0, 0.0]),
    ],
)
def test_iris_model(freeze: float, expected: list[float]) -> None:
    assert list(compute_multipliers(network(PLAIN_IRIS), freeze).values()) == expected


@pytest.mark.parametrize("freeze", [0.01, 0.1, 0.25, 0.5, 0.9, 0.99])
def test_nearest_bucket(freeze: float) -> None:
    for k in range(1001):
        ratio = k / 1000
        value = ideal(ratio, freeze)
        distances = sorted(abs(c - value) for c in (0, 0.1, 0.5, 0.9, 1))
        # Far before the frozen part the sine of the formula would rise again.
        near = freeze - ratio <= 2 * (1 - freeze)
        if near and distances[1] - distances[0] > 1e-9:
            assert bucket(ratio, freeze) == nearest(value), ratio


@pytest.mark.parametrize(
    ("middle", "lower", "upper"),
    [(0.05, 0.0, 0.1), (0.3, 0.1, 0.5), (0.7, 0.5, 0.9), (0.95, 0.9, 1.0)],
)
def test_between_two_buckets(middle: float, lower: float, upper: float) -> None:
    ratio = 0.5 + 0.5 * math.asin(middle) * 2 / math.pi
    assert bucket(ratio - 1e-9, 0.5) == lower
    assert bucket(ratio + 1e-9, 0.5) == upper


def test_ties_go_to_the_lower_bucket() -> None:
    assert 0.1 - 0.05 == 0.05, "a true tie, also in binary"
    assert nearest_bucket(0.05) == 0.0
    assert nearest_bucket(math.nextafter(0.05, 1)) == 0.1


def test_freeze_at_its_ends() -> None:
    assert {bucket(k / 10, 0.0) for k in range(11)} == {1.0}
    assert {bucket(k / 10, 1.0) for k in range(11)} == {0.0}
    assert bucket(1.0, 0.999) == 1.0


def test_what_is_written_wins() -> None:
    text = IRIS.format(", lrm=0.3", "", ", lrm=0", ", lrm=2")
    expected = {"w1": 0.3, "b1": 0.0, "w2": 0.0, "b2": 2.0}
    assert compute_multipliers(network(text), 1.0) == expected
    assert compute_multipliers(network(text), 0.0) == {**expected, "b1": 1.0}


def test_declarations_may_say_it_too() -> None:
    text = "m:input shape=[4]; m:output shape=[3]; q:param w shape=[4, 3] lrm=0.7;"
    text += "m:layers matmul(w), softmax();"
    assert compute_multipliers(network(text), 0.9) == {"w": 0.7}


def test_parameters_that_are_not_trainable_have_none() -> None:
    text = IRIS.format(", trainable=false", "", "", "")
    assert set(compute_multipliers(network(text))) == {"b1", "w2", "b2"}


def step(text: str, optimizer: str, freeze: float) -> StepGraph:
    from webnnm.ops.declare.tensors import TensorType

    found = network(text)
    rates = compute_multipliers(found, freeze)
    settings = StepSettings(
        batch=4,
        rows=8,
        steps=2,
        sequence={},
        losses={"m": OutputLoss(loss=LOSSES["CCE"], labels="distribution")},
        optimizer=OPTIMIZERS[optimizer],
        update=UpdateSettings(
            multipliers=rates,
            decays=dict.fromkeys(rates, False),
            numbers=OPTIMIZERS[optimizer].defaults,
            scaling=True,
            clipping="global",
        ),
    )
    return build_training_step(found, {"m": TensorType("float32", (8, 3))}, settings)


@pytest.mark.parametrize(("optimizer", "slots"), [("rlion", 1), ("adam", 2)])
@pytest.mark.parametrize("freeze", [0.0, 0.2, 0.5])
def test_frozen_parameters_are_not_state_of_the_step(
    freeze: float, optimizer: str, slots: int
) -> None:
    found = step(PLAIN_IRIS, optimizer, freeze)
    learning = {n for n, m in compute_multipliers(network(PLAIN_IRIS), freeze).items() if m > 0}
    for name in RATIOS:
        mine = [key for key in found.state if key.split("/")[-1] == name]
        assert len(mine) == (1 + slots if name in learning else 0)
        kept = [key for key in found.resident if key.split("/")[-1] == name]
        assert len(kept) == (name not in learning)


def test_nothing_left_to_train() -> None:
    with pytest.raises(DataError) as caught:
        step(PLAIN_IRIS, "sgdm", 1.0)
    assert caught.value.code == "NNM605"


async def test_everything_frozen_is_refused() -> None:
    model = await create(PLAIN_IRIS, classes())
    before = values(model)
    with pytest.raises(DataError) as caught:
        await model.train(freeze=1)
    assert caught.value.code == "NNM605"
    after = values(model)
    assert all((before[name] == after[name]).all() for name in before)
    # The model can be trained all the same.
    await model.train(epochs=1, seeds=0)
    model.close()


async def test_what_is_written_is_trained_whatever_freeze_says() -> None:
    model = await create(IRIS.format("", "", "", ", lrm=1"), classes())
    before = values(model)
    await model.train({**PLAIN, "freeze": 1, "epochs": 1, "lr": 0.1})
    after = values(model)
    moved = {name for name in before if (before[name] != after[name]).any()}
    assert moved == {"b2"}


async def test_frozen_parameters_stay_and_others_move_by_their_share() -> None:
    data = classes(batch_size=30)
    moved: dict[float, dict[str, Any]] = {}
    for freeze in (0.0, 0.2):
        model = await create(PLAIN_IRIS, data)
        before = values(model)
        await model.train({**PLAIN, "freeze": freeze, "epochs": 1, "lr": 0.1})
        moved[freeze] = {name: value - before[name] for name, value in values(model).items()}
        model.close()
    for name, share in {"w1": 0.0, "b1": 0.1, "w2": 0.5, "b2": 0.9}.items():
        assert abs(moved[0.0][name]).max() > 1e-4
        assert moved[0.2][name] == pytest.approx(share * moved[0.0][name], abs=1e-7)
    assert (moved[0.2]["w1"] == 0).all()


@pytest.mark.parametrize("freeze", [0.05, 0.2, 0.5, 0.8, 0.95])
def test_multipliers_never_fall_towards_the_output(freeze: float) -> None:
    found = [bucket(r / 20, freeze) for r in range(21)]
    assert found == sorted(found)
    assert found[0] == 0
    assert found[-1] == 1
