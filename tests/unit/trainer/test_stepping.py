"""How many steps a dispatch gets: more are tried, and stay where measured times say so."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm.trainer.tuner import MIN_CALLS, DispatchTuner

COSTS: dict[str, Any] = {"dispatch": 80e-6, "device_build": 0.004, "build": 0.02}


class Calls:
    """Calls whose steps take the time of a table: steps of a dispatch → seconds of a step."""

    def __init__(self, seconds: dict[int, float]) -> None:
        self.seconds = seconds
        self.tuner = DispatchTuner()
        self.micro_steps = 1

    def run(self, count: int) -> list[int]:
        """Let calls pass; return the steps of a dispatch in each."""
        steps: list[int] = []
        for _ in range(count):
            steps.append(self.micro_steps)
            self.tuner.record(1000, 1000 * self.seconds[self.micro_steps])
            self.micro_steps = self.tuner.next_micro_steps(
                current=self.micro_steps, epoch=100, remaining=10**6, **COSTS
            )
        return steps


def test_more_steps_are_tried_as_long_as_they_pay() -> None:
    calls = Calls({1: 130e-6, 10: 40e-6, 20: 20e-6})
    assert calls.run(6) == [1, 1, 10, 10, 20, 20]


@pytest.mark.parametrize(
    ("more", "stay"), [(41e-6, 10), (39e-6, 20), (80e-6, 10)], ids=["like", "slightly", "slower"]
)
def test_more_steps_that_do_not_pay_undo_no_fewer_ones(more: float, stay: int) -> None:
    """What ten steps had gained is not lost because twenty gain nothing further."""
    calls = Calls({1: 130e-6, 10: 40e-6, 20: more})
    calls.run(4 + 1 + MIN_CALLS)
    assert calls.run(3) == [stay] * 3


def test_a_device_on_which_they_do_not_pay_takes_one_step_at_a_time() -> None:
    calls = Calls({1: 130e-6, 10: 140e-6})
    assert calls.run(20) == [1, 1, *[10] * (1 + MIN_CALLS), *[1] * (17 - MIN_CALLS)]


def test_a_call_that_was_held_up_changes_nothing() -> None:
    calls = Calls({1: 130e-6, 10: 140e-6, 20: 20e-6})
    calls.run(4)
    calls.seconds[10] = 40e-6
    assert calls.run(3) == [10, 20, 20]
