"""How many steps a dispatch gets: more are tried, and stay where measured times say so."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from webnnm.backends.budget import Budget
from webnnm.trainer.double_buffer import DeviceState
from webnnm.trainer.stepper import TRIALS, Stepper
from webnnm.training.step_settings import TOTALS

DISPATCH = 80e-6


class Backend:
    """Compiles nothing, and remembers the steps of what it was asked for."""

    dispatch_seconds = DISPATCH
    budget = Budget()

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.held: list[int] = []

    async def compile(self, steps: int, **_options: Any) -> int:
        self.asked.append(steps)
        self.held.append(steps)
        return steps

    def release(self, steps: int) -> None:
        self.held.remove(steps)

    def agreed(self, seconds: float) -> float:
        return seconds


class Timed(Stepper):
    """Steps that take the time of a table: steps of a dispatch → seconds of a step."""

    def __init__(self, seconds: dict[int, float]) -> None:
        self.device = SimpleNamespace(
            backend=Backend(),
            buffers=({TOTALS: None}, {TOTALS: None}),
            executable=SimpleNamespace(build_seconds=0.004),
            build_seconds=0.02,
            frozen={},
            recompute=False,
        )
        super().__init__(cast(DeviceState, self.device), cast(Any, lambda n: n), every=0, step=0)
        self.seconds = seconds

    async def calls(self, count: int) -> list[int]:
        """Let calls pass; return the steps of a dispatch in each."""
        found: list[int] = []
        for _ in range(count):
            found.append(self.micro_steps)
            self.tuner.record(1000, 1000 * self.seconds[self.micro_steps])
            await self._adapt(100, 10**6)
        return found


async def test_more_steps_are_tried_as_long_as_they_pay() -> None:
    stepper = Timed({1: 130e-6, 10: 40e-6, 20: 20e-6})
    assert await stepper.calls(6) == [1, 1, 10, 10, 20, 20]


@pytest.mark.parametrize(
    ("more", "stay"), [(41e-6, 10), (39e-6, 20), (80e-6, 10)], ids=["like", "slightly", "slower"]
)
async def test_more_steps_that_do_not_pay_undo_no_fewer_ones(more: float, stay: int) -> None:
    """What ten steps had gained is not lost because twenty gain nothing further."""
    stepper = Timed({1: 130e-6, 10: 40e-6, 20: more})
    await stepper.calls(4 + 1 + TRIALS)
    assert await stepper.calls(3) == [stay] * 3
    assert stepper.device.backend.held == [stay]


async def test_a_device_on_which_they_do_not_pay_takes_one_step_at_a_time() -> None:
    stepper = Timed({1: 130e-6, 10: 140e-6})
    found = await stepper.calls(20)
    assert found == [1, 1, *[10] * (1 + TRIALS), *[1] * (17 - TRIALS)]
    assert stepper.device.backend.held == []


async def test_a_call_that_was_held_up_changes_nothing() -> None:
    stepper = Timed({1: 130e-6, 10: 140e-6, 20: 20e-6})
    await stepper.calls(4)
    stepper.seconds[10] = 40e-6
    assert await stepper.calls(3) == [10, 20, 20]
