"""Learning rates against numbers computed by hand (spec E.3)."""

from __future__ import annotations

import math
from typing import Any

import pytest

from webnnm.training.schedules import SCHEDULES, Schedule
from webnnm.training.settings import Settings

KINDS = ("cosine", "constant", "linear", "step")


def make(kind: str, **settings: Any) -> Schedule:
    return Schedule(**{"kind": kind, "rate": 1.0, "epochs": 4, "batches": 5, **settings})


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        # B = 5, T = 20, W = 5: a ramp of 0.2 per step, then half a cosine over 15 steps.
        (
            {"kind": "cosine", "warmup_epochs": 1},
            {
                1: 0.2,
                4: 0.8,
                5: 1.0,
                10: 0.75,
                12: 0.5 * (1 + math.cos(7 / 15 * math.pi)),
                15: 0.25,
                20: 0.0,
            },
        ),
        (
            {"kind": "cosine", "warmup_epochs": 1, "min_rate": 0.1},
            {1: 0.2, 5: 1.0, 10: 0.775, 20: 0.1},
        ),
        ({"kind": "constant", "warmup_epochs": 2}, {1: 0.1, 10: 1.0, 11: 1.0, 20: 1.0}),
        # Automatic warm-up: 5 % of the epochs, at least one.
        ({"kind": "constant"}, {1: 0.2, 5: 1.0, 6: 1.0}),
        ({"kind": "constant", "epochs": 60}, {1: 1 / 15, 14: 14 / 15, 15: 1.0, 16: 1.0}),
        ({"kind": "constant", "epochs": 59}, {1: 1 / 10, 9: 0.9, 10: 1.0, 11: 1.0}),
        # No warm-up in a single epoch.
        ({"kind": "constant", "epochs": 1}, {1: 1.0, 5: 1.0}),
        ({"kind": "cosine", "epochs": 1}, {1: 0.5 * (1 + math.cos(math.pi / 5)), 5: 0.0}),
        # Linear: 15 steps down after 5 up.
        (
            {"kind": "linear"},
            {1: 0.2, 5: 1.0, 6: 14 / 15, 8: 0.8, 11: 0.6, 17: 0.2, 20: 0.0},
        ),
        ({"kind": "linear", "min_rate": 0.25}, {5: 1.0, 8: 0.85, 20: 0.25}),
        ({"kind": "linear", "epochs": 1}, {1: 0.8, 3: 0.4, 5: 0.0}),
        # A step every ⌈4/3⌉ = 2 epochs, whose first steps warm up.
        ({"kind": "step"}, {1: 0.2, 5: 1.0, 10: 1.0, 11: 0.1, 20: 0.1}),
        (
            {"kind": "step", "step_epochs": 1, "step_factor": 0.5},
            {5: 1.0, 6: 0.5, 10: 0.5, 11: 0.25, 15: 0.25, 16: 0.125, 20: 0.125},
        ),
        (
            {"kind": "step", "step_epochs": 1, "step_factor": 0.5, "min_rate": 0.2},
            {10: 0.5, 11: 0.25, 16: 0.2, 20: 0.2},
        ),
        # While it warms up nothing drops; afterwards the number of the epoch decides.
        (
            {"kind": "step", "warmup_epochs": 2, "step_epochs": 1},
            {6: 0.6, 10: 1.0, 11: 0.01, 16: 0.001},
        ),
        ({"kind": "step", "epochs": 9, "batches": 1}, {1: 1, 3: 1, 4: 0.1, 6: 0.1, 7: 0.01}),
        ({"kind": "step", "epochs": 10, "batches": 1}, {4: 1, 5: 0.1, 8: 0.1, 9: 0.01}),
        ({"kind": "step", "step_factor": 1.0}, {5: 1.0, 20: 1.0}),
        # One cycle: from a 25th up over 30 % of the steps, then down to the floor.
        (
            {"kind": "onecycle"},
            {3: 0.52, 6: 1.0, 13: 0.5, 20: 0.0},
        ),
        ({"kind": "onecycle", "min_rate": 0.2}, {6: 1.0, 13: 0.6, 20: 0.2}),
    ],
    ids=str,
)
def test_rates(settings: dict[str, Any], expected: dict[int, float]) -> None:
    schedule = make(**settings)
    found = {step: schedule.at(step) for step in expected}
    assert found == pytest.approx(expected, abs=1e-12)


def test_names() -> None:
    assert set(KINDS) <= set(SCHEDULES)


@pytest.mark.parametrize("kind", [*KINDS, "onecycle"])
def test_rate_scales_the_curve(kind: str) -> None:
    one = make(kind, epochs=6, batches=3)
    many = make(kind, epochs=6, batches=3, rate=0.02)
    rates = [one.at(t) for t in range(1, 19)]
    assert [many.at(t) for t in range(1, 19)] == pytest.approx([0.02 * r for r in rates])


@pytest.mark.parametrize("kind", [*KINDS, "onecycle"])
@pytest.mark.parametrize("epochs", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("batches", [1, 2, 13])
def test_every_step_has_a_rate_up_to_the_highest(kind: str, epochs: int, batches: int) -> None:
    schedule = make(kind, epochs=epochs, batches=batches, min_rate=0.01)
    rates = [schedule.at(t) for t in range(1, epochs * batches + 1)]
    assert all(0.0 < rate <= 1.0 for rate in rates)
    if kind != "step":
        highest = rates.index(max(rates))
        assert rates[:highest] == sorted(rates[:highest])
        assert rates[highest:] == sorted(rates[highest:], reverse=True)


def test_one_batch_per_epoch() -> None:
    schedule = make("cosine", epochs=3, batches=1)
    assert [schedule.at(t) for t in (1, 2, 3)] == pytest.approx([1.0, 0.5, 0.0])


def test_a_plateau_lowers_the_rate_once_so_many_epochs_were_no_better() -> None:
    schedule = make("plateau", epochs=40, step_epochs=3, step_factor=0.5, min_rate=0.2)
    rates: dict[int, float] = {}
    for epoch in range(1, 21):
        schedule = schedule.after(epoch, best=min(epoch, 4))  # none is better than the fourth
        rates[epoch] = schedule.at(5 * epoch + 1)
    assert [rates[epoch] for epoch in (6, 7, 9, 10, 12, 13)] == [1.0, 0.5, 0.5, 0.25, 0.25, 0.2]
    known = schedule.to_dict()
    assert (known["drops"], known["dropped"]) == (5, 19)
    settings = Settings(
        schedule="plateau", lr=1.0, epochs=40, min_lr=0.2, step_epochs=3, step_factor=0.5
    ).finish_without_data()
    assert settings.make_schedule(5, known) == schedule


def test_other_schedules_do_not_wait_for_progress() -> None:
    schedule = make("cosine")
    assert schedule.after(4, best=1) is schedule
