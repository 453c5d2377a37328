"""Trainings go as they do in PyTorch: a hundred steps of every optimizer, every loss."""

from __future__ import annotations

from functools import cache

import pytest

from tests.parity.training import fixtures
from tests.parity.training.runs import LOSSES, RUNS, Outcome, Run, difference, steps, train
from webnnm.graph.elaboration.loss_words import LOSSES as WORDS
from webnnm.training.optimizers import OPTIMIZERS

recorded = cache(fixtures.read)


def test_fixtures_are_those_of_the_runs() -> None:
    assert list(recorded()) == [str(run) for run in RUNS], "`make parity-fixtures` writes them"


def test_every_optimizer_and_every_loss_is_compared() -> None:
    assert {run.settings["optimizer"] for run in RUNS} == {o.name for o in OPTIMIZERS.values()}
    assert {run.loss for run in LOSSES} == {word.name for word in WORDS}


@pytest.mark.parametrize("run", RUNS, ids=str)
async def test_training_goes_as_in_pytorch(run: Run) -> None:
    """Losses of every batch, the last of them short, and parameters after all of them."""
    found = await train(run, "numpy", fixtures.SEED)
    assert len(found.losses) == steps(run)
    assert difference(found, recorded()[str(run)]) <= run.limit


def test_differences_are_seen(subtests: pytest.Subtests) -> None:
    """What two optimizers make of the same batches is further apart than the limit."""
    expected = recorded()
    for one, other in (("sgdm", "nesterov"), ("adam", "adamw"), ("lion", "rlion")):
        for network in ("mlp", "cnn"):
            with subtests.test(network=network, one=one, other=other):
                assert (
                    difference(expected[f"{network}-{one}"], expected[f"{network}-{other}"]) > 0.01
                )


def test_one_number_of_another_size_is_seen() -> None:
    wanted = recorded()["mlp-sgdm"]
    losses = wanted.losses[:]
    losses[50] *= 1.001
    assert difference(Outcome(losses, wanted.parameters), wanted) > 5e-4
    losses[50] = float("nan")
    assert difference(Outcome(losses, wanted.parameters), wanted) == float("inf")
