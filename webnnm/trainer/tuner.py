"""Chooses how many steps to put into a dispatch and a device call, from measured times."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from webnnm.backends.budget import Budget

GROWTH = 4
"""A call has at most this many times the steps of the longest one before."""
MAX_MICRO_STEPS = 32
"""The maximum number of steps of a dispatch: larger graphs are slow to build."""
OVERHEAD = 0.1
"""The share of a step's own work that dispatching it may cost."""
MIN_SECONDS = 0.01
"""The minimum seconds of a call for its time to be trusted."""
MAX_TIME_RATIO = 0.95
"""More steps per dispatch are tried while each takes at most this share of its previous time."""
MIN_CALLS = 4
"""Calls until this is decided: some may have been delayed by something else."""


@dataclass
class DispatchTuner:
    """Chooses how many steps the device runs between two host round trips, and in one dispatch.

    >>> tuner = DispatchTuner()
    >>> tuner.steps_per_call(1000)
    8
    >>> tuner.record(8, 0.004)
    >>> tuner.steps_per_call(1000)
    32

    `callback_steps`: the steps of each call if a callback waits for it, else 0. `settled`: the
    number of steps per dispatch does not change any more. `step_seconds`: the time per step in the
    last call. `trusted`: how many calls were long enough, excluding the first; `best_seconds`: the
    shortest time per step in these.
    """

    budget: Budget = field(default_factory=Budget)
    callback_steps: int = 0
    settled: bool = False
    step_seconds: float = math.inf
    best_seconds: float = math.inf
    trusted: int = 0
    _longest: int = 0
    _calls: int = 0
    _previous: tuple[int, float] = (1, math.inf)

    def restart(self) -> None:
        """Forget the measured times, because steps are about to be run differently."""
        self._calls = self._longest = self.trusted = 0
        self.best_seconds = math.inf

    def record(self, steps: int, seconds: float) -> None:
        """Record how long a call of this many steps took."""
        self._calls += 1
        # The rest of an epoch may be short, and says nothing about the next call.
        self._longest = max(self._longest, steps)
        self.step_seconds = seconds / steps
        if self._calls > 1 and seconds >= MIN_SECONDS:
            self.trusted += 1
            self.best_seconds = min(self.best_seconds, self.step_seconds)

    def steps_per_call(self, remaining: int) -> int:
        """Return how many of the remaining steps the next call runs."""
        if self.callback_steps or not self._calls:
            steps = self.callback_steps or self.budget.first_steps
        else:
            # The clocks of some browsers are so coarse that steps seem to take no time.
            seconds = self.step_seconds
            limit = self.budget.call_seconds / seconds if seconds else math.inf
            steps = int(min(limit, GROWTH * self._longest))
        return max(1, min(remaining, steps, self.budget.call_steps))

    def epochs_per_call(self, steps: int, max_epochs: int) -> int:
        """Return how many epochs of this many steps the next call runs."""
        return max(1, self.steps_per_call(max_epochs * steps) // steps) if max_epochs > 1 else 1

    def next_micro_steps(self, *, current: int, epoch: int, remaining: int, **costs: float) -> int:
        """Return how many steps the next dispatches have; they have `current` now.

        More are tried as long as the measured times show that they are faster, and taken back if
        they are slower. The other arguments are those of `micro_steps`.
        """
        if self.settled or not self.trusted:
            return current
        fewer, seconds = self._previous
        if self.best_seconds > MAX_TIME_RATIO * seconds:
            self.settled = self.trusted >= MIN_CALLS
            return fewer if self.settled and self.best_seconds > seconds else current
        self._previous = (1, math.inf)  # it is faster: compare more steps with the current number
        steps = self.micro_steps(current=current, epoch=epoch, remaining=remaining, **costs)
        if steps != current:
            self._previous = (current, self.best_seconds)
            self.restart()
        return steps

    def micro_steps(
        self,
        *,
        current: int = 1,
        epoch: int,
        remaining: int,
        dispatch: float,
        device_build: float,
        build: float,
    ) -> int:
        """Return how many steps one dispatch should have, given the time per step so far.

        It currently has `current`. `epoch` and `remaining` count steps: of an epoch, and of the
        rest of the training. A dispatch costs `dispatch` seconds in addition to its work; the graph
        of one step took `build` seconds in all, `device_build` of them on the device, where n steps
        take n times as long.

        >>> tuner = DispatchTuner(best_seconds=1e-4)
        >>> costs = dict(dispatch=8e-5, device_build=0.003, build=0.03)
        >>> tuner.micro_steps(epoch=100, remaining=100_000, **costs)
        25
        >>> tuner.micro_steps(epoch=100, remaining=200, **costs)
        1
        """
        work = max(self.best_seconds - dispatch / current, OVERHEAD * dispatch)
        cheapest = math.sqrt(dispatch * remaining / device_build) if device_build > 0 else math.inf
        steps = int(min(dispatch / (OVERHEAD * work), cheapest, MAX_MICRO_STEPS))
        steps = _fit_to_epoch(steps, epoch)
        if steps < 2 * current:  # not worth another graph
            return current
        saved_seconds = dispatch * (1 / current - 1 / steps) * remaining
        return steps if saved_seconds > build + (steps - 1) * device_build else current


def _fit_to_epoch(steps: int, epoch: int) -> int:
    """Return a number of at most `steps` that divides an epoch's steps or is a multiple of them.

    >>> _fit_to_epoch(16, 7), _fit_to_epoch(16, 30), _fit_to_epoch(16, 31)
    (14, 15, 16)
    """
    for number in range(steps, steps // 2, -1):
        if number % epoch == 0 or epoch % number == 0:
            return number
    return steps
