"""How many steps go into a call of the device, and into a dispatch."""

from __future__ import annotations

import pytest

from webnnm.backends.budget import Budget
from webnnm.trainer.tuner import GROWTH, MAX_MICRO_STEPS, DispatchTuner

BUDGET = Budget(first_steps=8, call_steps=4096, call_seconds=0.25)
COSTS = {"dispatch": 8e-5, "device_build": 0.003, "build": 0.03}


def make_tuner(step_seconds: float) -> DispatchTuner:
    """Return a tuner whose measured times can be trusted."""
    tuner = DispatchTuner(BUDGET)
    for _ in range(8):
        steps = tuner.steps_per_call(10**9)
        tuner.record(steps, steps * step_seconds)
    return tuner


def test_the_first_crossing_is_short_and_the_next_ones_grow() -> None:
    tuner = DispatchTuner(BUDGET)
    assert tuner.steps_per_call(10**9) == 8
    tuner.record(8, 8 * 1e-5)
    assert tuner.steps_per_call(10**9) == GROWTH * 8


def test_the_rest_of_an_epoch_does_not_make_the_next_crossings_short() -> None:
    tuner = DispatchTuner(BUDGET)
    for _ in range(3):
        tuner.record(64, 64 * 1e-5)
    tuner.record(2, 2e-5)
    assert tuner.steps_per_call(10**9) == GROWTH * 64


def test_a_clock_too_coarse_to_see_a_crossing_lets_the_next_one_grow() -> None:
    tuner = DispatchTuner(BUDGET)
    tuner.record(8, 0.0)
    assert tuner.steps_per_call(10**9) == GROWTH * 8
    assert tuner.epochs_per_call(4, 64) == 8


@pytest.mark.parametrize("seconds", [1e-4, 1e-3, 0.05])
def test_a_crossing_takes_its_slice_of_time(seconds: float) -> None:
    assert make_tuner(seconds).steps_per_call(10**9) == pytest.approx(0.25 / seconds, rel=0.01)


def test_a_crossing_has_a_step_at_least_and_what_is_left_at_most() -> None:
    assert make_tuner(10.0).steps_per_call(10**9) == 1
    assert make_tuner(1e-9).steps_per_call(10**9) == 4096
    assert make_tuner(1e-3).steps_per_call(5) == 5


def test_who_waits_for_every_step_gets_every_step() -> None:
    tuner = DispatchTuner(BUDGET, callback_steps=1)
    for _ in range(5):
        assert tuner.steps_per_call(100) == 1
        tuner.record(1, 1e-5)


def test_epochs_fill_the_slice() -> None:
    tuner = make_tuner(1e-3)
    assert tuner.epochs_per_call(7, 64) == 250 // 7
    assert tuner.epochs_per_call(1000, 64) == 1
    assert tuner.epochs_per_call(1, 3) == 3


@pytest.mark.parametrize(
    ("step_seconds", "least", "most"),
    [
        (0.9e-4, 20, MAX_MICRO_STEPS),
        (2e-4, 5, 10),
        (5e-4, 1, 2),
        (1.3e-3, 1, 1),
    ],
)
def test_short_steps_share_a_dispatch(step_seconds: float, least: int, most: int) -> None:
    found = make_tuner(step_seconds).micro_steps(epoch=1000, remaining=10**6, **COSTS)
    assert least <= found <= most


def test_a_short_training_does_not_pay_for_another_graph() -> None:
    tuner = make_tuner(1e-4)
    assert tuner.micro_steps(epoch=7, remaining=140, **COSTS) == 1
    few = tuner.micro_steps(epoch=7, remaining=2_000, **COSTS)
    many = tuner.micro_steps(epoch=7, remaining=200_000, **COSTS)
    assert 1 < few < many


def test_more_steps_join_where_the_first_guess_was_low() -> None:
    settings = {**COSTS, "epoch": 1000, "remaining": 10**6}
    # A disturbed machine: a step seemed to take 0.23 ms, and takes 0.03 ms with five of them.
    assert make_tuner(2.3e-4).micro_steps(**settings) == 5
    assert make_tuner(3e-5).micro_steps(current=5, **settings) >= 10
    assert make_tuner(1.2e-4).micro_steps(current=5, **settings) == 5


def test_a_backend_without_overhead_has_nothing_to_share() -> None:
    costs = {**COSTS, "dispatch": 0.0, "device_build": 0.0}
    assert make_tuner(1e-5).micro_steps(epoch=7, remaining=10**9, **costs) == 1


def test_only_a_long_crossing_is_trusted_and_never_the_first() -> None:
    tuner = DispatchTuner(BUDGET)
    tuner.record(8, 5.0)
    assert not tuner.trusted
    tuner.record(8, 1e-4)
    assert not tuner.trusted
    tuner.record(800, 0.08)
    assert tuner.trusted
    tuner.restart()
    assert not tuner.trusted


def test_the_best_of_the_trusted_crossings_counts() -> None:
    tuner = make_tuner(1e-4)
    trusted = tuner.trusted
    tuner.record(1000, 0.5)  # something else held it up
    assert (tuner.trusted, tuner.best_seconds) == (trusted + 1, pytest.approx(1e-4))
    tuner.record(1, 5e-5)  # too short to be trusted
    assert tuner.best_seconds == pytest.approx(1e-4)
    tuner.restart()
    assert tuner.trusted == 0
