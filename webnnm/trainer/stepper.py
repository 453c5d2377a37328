"""Runs steps over a double buffer, several per dispatch if that is faster (spec E.9)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from webnnm.backends.base import Backend, Executable
from webnnm.core.arrays import HostArray
from webnnm.core.errors import ContextLost
from webnnm.graph.scan import Scan
from webnnm.trainer.double_buffer import DeviceState, Tensors
from webnnm.trainer.tuner import DispatchTuner
from webnnm.training.step_settings import TOTALS

WORTH = 0.95
"""More steps per dispatch are tried while each takes at most this share of its previous time."""
TRIALS = 4
"""Calls until this is decided: some may have been delayed by something else."""


class Stepper:
    """Runs the steps of one training, each from one buffer of the state to the other.

    `tuner` measures them; `micro_steps` is the number of steps per dispatch; `step` the number run
    in the training. `block` is the resident set that steps read. `multi_step` makes the graph of a
    number of steps. `in_flight`: steps were started and not finished; how many of them the device
    has done is not known.
    """

    def __init__(
        self, device: DeviceState, multi_step: Callable[[int], Scan], *, every: int, step: int
    ) -> None:
        self._device = device
        self._backend: Backend = device.backend
        self._multi_step = multi_step
        self.tuner = DispatchTuner(device.backend.budget, every=every)
        self.micro_steps = 1
        self.step = step
        self.block = 0
        self.in_flight = False
        self._dispatches = 0
        self._unrolled: Executable | None = None
        self._settled = False
        self._before = (1, math.inf)

    @property
    def current(self) -> Tensors:
        """The buffer that holds the latest state."""
        return self._device.buffers[self._dispatches % 2]

    async def fix(self, micro_steps: int) -> None:
        """Give every dispatch this many steps, whatever the measured times."""
        self._settled = True
        await self._unroll(micro_steps)

    async def run(self, count: int) -> HostArray:
        """Run steps, several per dispatch if that is known to be faster, and return the totals."""
        single = self._device.executable
        many, rest = divmod(count, self.micro_steps)
        found: list[HostArray] = []
        self.in_flight = True
        for executable, dispatches, times in (
            (self._unrolled or single, many, self.micro_steps),
            (single, rest, 1),
        ):
            if not dispatches:
                continue
            try:
                a, b = self._device.buffers
                totals = [(b[TOTALS], a[TOTALS])]
                found = await self._backend.run_steps(
                    executable, self._bindings(), self._dispatches, dispatches, totals
                )
            except ContextLost as lost:
                if lost.step is None:
                    raise
                good = self.step + (lost.step - self._dispatches + 1) * times - 1
                raise ContextLost(f"after step {good}: {lost.message}", step=good) from lost
            self._dispatches += dispatches
            self.step += dispatches * times
        self.in_flight = False
        return found[0]

    async def timed(self, count: int, *, epoch: int, total: int) -> HostArray:
        """Run steps, record how long they took, and choose how to run the next ones.

        `epoch` and `total` count steps, those of an epoch and of the whole training.
        """
        began = time.perf_counter()
        totals = await self.run(count)
        self.tuner.record(count, self._backend.agreed(time.perf_counter() - began))
        await self._adapt(epoch, total - self.step)
        return totals

    def watch(self, executable: Executable, more: Tensors) -> None:
        """Queue a step of another graph, whose additional outputs go to `more`; do not count it."""
        inputs, outputs = self._bindings()[self._dispatches % 2]
        self._backend.dispatch(executable, inputs, {**outputs, **more})

    def count(self) -> None:
        """Count the watched step as done."""
        self._dispatches += 1
        self.step += 1

    def copy_state(self, into: Tensors) -> None:
        """Copy the whole current state into other tensors."""
        self._copy(self._device.copy_state, into)

    def copy_parameters(self, into: Tensors) -> None:
        """Copy the current parameters into other tensors."""
        self._copy(self._device.copy_parameters, into)

    def _copy(self, copies: Executable, into: Tensors) -> None:
        current = self.current
        self._backend.dispatch(copies, current, into)
        # Steps continue with the copies, and the originals are kept. If both the copying and the
        # next step read the originals, Chromium would let the step after that overwrite them as
        # soon as one of the two has ended.
        for name, copied in into.items():
            current[name], into[name] = copied, current[name]

    def restore(self, state: Tensors, steps: int) -> None:
        """Go back to a copy of the state, `steps` steps earlier, or to the state that was kept."""
        if state is not self.current:
            self._backend.dispatch(self._device.copy_state, state, self.current)
        self.step -= steps
        self.in_flight = False

    async def close(self) -> None:
        """Free the graph of several steps."""
        await self._unroll(1)

    async def _adapt(self, epoch: int, left: int) -> None:
        """Put several steps into a dispatch if the measured times show that it is faster."""
        tuner, device = self.tuner, self._device
        if self._settled or not tuner.trusted:
            return
        fewer, seconds = self._before
        if tuner.best_seconds > WORTH * seconds:
            if tuner.trusted >= TRIALS:
                self._settled = True
                if tuner.best_seconds > seconds:
                    await self._unroll(fewer)
            return
        self._before = (1, math.inf)  # it is faster: compare more steps with the current number
        wanted = tuner.micro_steps(
            present=self.micro_steps,
            epoch=epoch,
            left=left,
            dispatch=self._backend.dispatch_seconds,
            device_build=device.executable.build_seconds,
            build=device.build_seconds,
        )
        if wanted != self.micro_steps:
            self._before = (self.micro_steps, tuner.best_seconds)
            await self._unroll(wanted)
            tuner.restart()

    async def _unroll(self, times: int) -> None:
        if self._unrolled is not None:
            self._backend.release(self._unrolled)
            self._unrolled, self.micro_steps = None, 1
        if times > 1:
            self._unrolled = await self._backend.compile(
                self._multi_step(times),
                constants=self._device.frozen,
                recompute=self._device.recompute,
            )
        self.micro_steps = times

    def _bindings(self) -> tuple[tuple[Tensors, Tensors], tuple[Tensors, Tensors]]:
        # Dispatch k reads buffer k mod 2 and writes the other, throughout the training.
        a, b = self._device.buffers
        inputs = self._device.resident[self.block] | self._device.fixed
        return (inputs | a, b), (inputs | b, a)
