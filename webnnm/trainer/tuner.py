"""Chooses how many steps to put into a dispatch and a device call, from measured times."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from webnnm.backends.budget import Budget

GROWTH = 4
"""A call has at most this many times the steps of the longest one before."""
MOST_MICRO_STEPS = 32
"""The maximum number of steps of a dispatch: larger graphs are slow to build."""
OVERHEAD = 0.1
"""The share of a step's own work that dispatching it may cost."""
ENOUGH = 0.01
"""The minimum seconds of a call for its time to be trusted."""
WORTH = 0.95
"""More steps per dispatch are tried while each takes at most this share of its previous time."""
TRIALS = 4
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

    `every`: the steps of each call if a callback waits for it, else 0. `settled`: the number of
    steps per dispatch does not change any more. `step_seconds`: the time per step in the last call.
    `trusted`: how many calls were long enough, excluding the first; `best_seconds`: the shortest
    time per step in these.
    """

    budget: Budget = field(default_factory=Budget)
    every: int = 0
    settled: bool = False
    step_seconds: float = math.inf
    best_seconds: float = math.inf
    trusted: int = 0
    _longest: int = 0
    _calls: int = 0
    _before: tuple[int, float] = (1, math.inf)

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
        if self._calls > 1 and seconds >= ENOUGH:
            self.trusted += 1
            self.best_seconds = min(self.best_seconds, self.step_seconds)

    def steps_per_call(self, left: int) -> int:
        """Return how many of the remaining steps the next call runs."""
        if self.every or not self._calls:
            wanted = self.every or self.budget.first_steps
        else:
            # The clocks of some browsers are so coarse that steps seem to take no time.
            seconds = self.step_seconds
            fitting = self.budget.call_seconds / seconds if seconds else math.inf
            wanted = int(min(fitting, GROWTH * self._longest))
        return max(1, min(left, wanted, self.budget.call_steps))

    def epochs_per_call(self, steps: int, most: int) -> int:
        """Return how many epochs of this many steps the next call runs."""
        return max(1, self.steps_per_call(most * steps) // steps) if most > 1 else 1

    def next_micro_steps(self, *, present: int, epoch: int, left: int, **costs: float) -> int:
        """Return how many steps the next dispatches have, currently `present`.

        More are tried as long as the measured times show that they are faster, and taken back if
        they are slower. The other arguments are those of `micro_steps`.
        """
        if self.settled or not self.trusted:
            return present
        fewer, seconds = self._before
        if self.best_seconds > WORTH * seconds:
            self.settled = self.trusted >= TRIALS
            return fewer if self.settled and self.best_seconds > seconds else present
        self._before = (1, math.inf)  # it is faster: compare more steps with the current number
        steps = self.micro_steps(present=present, epoch=epoch, left=left, **costs)
        if steps != present:
            self._before = (present, self.best_seconds)
            self.restart()
        return steps

    def micro_steps(
        self,
        *,
        present: int = 1,
        epoch: int,
        left: int,
        dispatch: float,
        device_build: float,
        build: float,
    ) -> int:
        """Return how many steps one dispatch should have, given the time per step so far.

        It currently has `present`. `epoch` and `left` count steps: of an epoch, and of the rest of
        the training. A dispatch costs `dispatch` seconds in addition to its work; the graph of one
        step took `build` seconds in all, `device_build` of them on the device, where n steps take n
        times as long.

        >>> tuner = DispatchTuner(best_seconds=1e-4)
        >>> costs = dict(dispatch=8e-5, device_build=0.003, build=0.03)
        >>> tuner.micro_steps(epoch=100, left=100_000, **costs)
        25
        >>> tuner.micro_steps(epoch=100, left=200, **costs)
        1
        """
        work = max(self.best_seconds - dispatch / present, OVERHEAD * dispatch)
        cheapest = math.sqrt(dispatch * left / device_build) if device_build > 0 else math.inf
        wanted = int(min(dispatch / (OVERHEAD * work), cheapest, MOST_MICRO_STEPS))
        wanted = _fitting(wanted, epoch)
        if wanted < 2 * present:  # not worth another graph
            return present
        saved = dispatch * (1 / present - 1 / wanted) * left
        return wanted if saved > build + (wanted - 1) * device_build else present


def _fitting(steps: int, epoch: int) -> int:
    """Return a number of at most `steps` that divides an epoch's steps or is a multiple of them.

    >>> _fitting(16, 7), _fitting(16, 30), _fitting(16, 31)
    (14, 15, 16)
    """
    for number in range(steps, steps // 2, -1):
        if number % epoch == 0 or epoch % number == 0:
            return number
    return steps
