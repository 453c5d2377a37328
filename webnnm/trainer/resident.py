"""The device side of training: steps over resident data, tables and state (spec E.9)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from webnnm.backends.base import Backend, DeviceTensor
from webnnm.core.arrays import HostArray, zeros
from webnnm.graph.elaboration.lowering import PARAMETER_PREFIX
from webnnm.graph.elaboration.vertices import Network
from webnnm.runtime.checkpoint import Checkpoint
from webnnm.runtime.state import ModelState
from webnnm.trainer.double_buffer import (
    DeviceState,
    Tensors,
    allocate,
    initial_state,
    initialise_state,
    read_tensors,
)
from webnnm.trainer.feed import Feed, epoch_blocks, step_tables
from webnnm.trainer.stepper import Stepper
from webnnm.training.schedules import Schedule
from webnnm.training.step import StepGraph, training_step, training_steps
from webnnm.training.step_settings import (
    CURSOR,
    TASK,
    TOTALS,
    StepSettings,
)
from webnnm.training.totals import Totals

if TYPE_CHECKING:
    from webnnm.runtime.testing.validation import Validation


@dataclass(frozen=True)
class ReplayPoint:
    """The point from which a step can be repeated: tables, an earlier state, the steps since.

    `step` is the number of the step of that state, -1 before it is copied.
    """

    tables: Mapping[str, HostArray]
    state: Tensors
    steps: int
    step: int


class ResidentTraining:
    """The device side of one training, resumed by `open` and ended by `finish`."""

    def __init__(
        self,
        state: ModelState,
        network: Network,
        settings: Mapping[str, Any],
        device: DeviceState,
        step: StepGraph,
        made: StepSettings,
        feed: Feed,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self._state = state
        self._network = network
        self._backend: Backend = state.backend
        self._settings = settings
        self._device = device
        self._graph = step
        self._made = made
        self.feed = feed
        known = None if checkpoint is None else checkpoint.schedule
        self.schedule = Schedule.of(settings, feed.steps, known)
        self._stepper = Stepper(
            device,
            partial(training_steps, network, feed.targets, made),
            every=1 if settings["on_batch"] is not None else 0,
            step=checkpoint.step if checkpoint else 0,
        )
        self._resumed = checkpoint
        self._epoch = 1
        self._last: ReplayPoint | None = None
        self._best: ReplayPoint | None = None
        self._has_best = bool(checkpoint and checkpoint.best)
        self._validation: Validation | None = None

    @classmethod
    async def open(
        cls,
        state: ModelState,
        network: Network,
        settings: Mapping[str, Any],
        made: StepSettings,
        feed: Feed,
        checkpoint: Checkpoint | None = None,
    ) -> ResidentTraining:
        """Build the step graph, upload the data, and allocate the state of the checkpoint.

        `network` is the model's, or the same with float16 inputs.
        """
        step = training_step(network, feed.targets, made)
        if checkpoint is not None:
            checkpoint.check({n: step.state[n] for n in step.checkpointed}, feed.steps, step.totals)
        device = await allocate(
            state.backend,
            state.parameters.tensors,
            step,
            feed,
            recompute=settings["recompute"],
        )
        try:
            await initialise_state(device, step, settings["seed"], checkpoint)
            training = cls(state, network, settings, device, step, made, feed, checkpoint)
            if settings["micro_steps"] != "auto":
                # A call has at most as many steps as its table.
                await training._stepper.fix(min(settings["micro_steps"], made.steps))
        except BaseException:
            device.free(device.parameters)
            raise
        return training

    @property
    def current(self) -> Tensors:
        """The buffer that holds the latest parameters."""
        return self._stepper.current

    @property
    def steps_done(self) -> int:
        """The number of steps run in this training."""
        return self._stepper.step

    @property
    def micro_steps(self) -> int:
        """The current number of steps per dispatch."""
        return self._stepper.micro_steps

    @property
    def decaying(self) -> list[str]:
        """The trainable parameters that are regularised."""
        update = self._made.update
        return [name for name, m in update.multipliers.items() if m > 0 and update.decays[name]]

    def epochs_per_call(self, left: int) -> int:
        """Return how many of the remaining epochs to train before the host looks at them."""
        return self._stepper.tuner.epochs_per_call(self.feed.steps, min(left, self.feed.epochs))

    def steps_per_call(self, left: int, epochs: int) -> int:
        """Return how many of the remaining steps of a block to run before the host looks."""
        if epochs > 1:  # any of which can be repeated from the state before the call
            return left
        count = self._stepper.tuner.steps_per_call(left)
        return count - count % self.micro_steps or count

    async def blocks(self, epoch: int, epochs: int = 1) -> AsyncGenerator[int]:
        """Upload the rows of epochs, block by block; yield the steps of each.

        A dataset in memory is one block, which stays resident. For a stream, the next block is
        fetched and uploaded while the current one is trained. The first epoch after a checkpoint
        begins with the batch of the checkpoint.
        """
        resumed = self._resumed
        self._epoch = epoch
        skipped = resumed.batch if resumed else 0
        totals = zeros("float32", self._graph.state[TOTALS].shape)
        if resumed and skipped:
            totals = self._filled(totals, resumed.totals)
        started = False
        done = 0
        sources = epoch_blocks(self.feed, epoch, self._settings, epochs)
        waiting = asyncio.ensure_future(_next(sources))
        try:
            while (block := await waiting) is not None:
                steps = sum(-(-len(order) // self._made.batch) for order in block.orders)
                if skipped >= steps:
                    waiting = asyncio.ensure_future(_next(sources))
                    skipped -= steps
                    done += steps
                    continue
                self._stepper.block = (self._stepper.block + 1) % len(self._device.resident)
                first = (epoch - 1) * self.feed.steps + done + 1
                tables = step_tables(self._made, self.schedule, block.orders, first)
                self._write(block.data)
                self._write(tables)
                self._backend.write(self.current[CURSOR], HostArray.of(skipped, "int32"))
                if not started:
                    self._backend.write(self.current[TOTALS], totals)
                    self._resumed = None
                    started = True
                waiting = asyncio.ensure_future(_next(sources))
                done += steps
                # No step of this block has run yet: its steps begin with the first copy of a state.
                self._last = ReplayPoint(tables, self._device.spares[0], 0, -1)
                yield steps - skipped
                skipped = 0
            if not started:  # all its steps were done before the checkpoint
                self._backend.write(self.current[TOTALS], totals)
                self._resumed = None
        finally:
            # The fetch in progress has to end before its source can be closed.
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            await sources.aclose()

    def _filled(self, table: HostArray, totals: Mapping[str, float]) -> HostArray:
        """Return the table of totals with an epoch's in its first row."""
        row = [totals.get(name, 0.0) for name in self._graph.totals]
        return HostArray.of([*row, *table.values()[len(row) :]], "float32", table.shape)

    def _write(self, arrays: Mapping[str, HostArray]) -> None:
        """Upload those of these arrays that the step graph takes."""
        resident = self._device.resident[self._stepper.block]
        for name, values in arrays.items():
            if name in resident:  # a graph has only the tables that it reads
                self._backend.write(resident[name], values)

    def resumed_totals(self) -> list[Totals]:
        """Return the totals of the epoch of a checkpoint, before the rest of it is run."""
        resumed = self._resumed
        return [Totals(resumed.totals)] if resumed and resumed.batch else []

    async def run_steps(self, count: int) -> list[Totals]:
        """Run some steps in one call and return the totals of the epochs so far."""
        self._last = self._replay_point(count)
        with self._counted():
            totals = await self._stepper.timed(
                count, epoch=self.feed.steps, total=self.schedule.total
            )
        names = self._graph.totals
        values = totals.values()
        rows = range(0, len(values), len(names))
        return [Totals(dict(zip(names, values[k : k + len(names)], strict=True))) for k in rows]

    def _replay_point(self, count: int) -> ReplayPoint:
        """Return the point from which to repeat the next steps: the existing copy, or a new one.

        Copying a large state takes a considerable part of the time of a step. A single step needs
        no copy: it does not change what it reads.
        """
        assert self._last is not None
        last, now = self._last, self._stepper.step
        steps = now - last.step
        copied = last.step >= 0 and last.state in self._device.spares
        seconds = steps * self._stepper.tuner.step_seconds
        if copied and seconds <= self._backend.budget.replay_seconds:
            return replace(last, steps=steps)
        if count == 1 < self.feed.steps:  # calls of several epochs have more
            return ReplayPoint(last.tables, self.current, 0, now)
        taken = None if self._best is None else self._best.state
        spare = next(state for state in self._device.spares if state is not taken)
        self._stepper.copy_state(spare)
        return ReplayPoint(last.tables, spare, 0, now)

    async def _run(self, count: int) -> None:
        if count:
            with self._counted():
                await self._stepper.run(count)

    @contextmanager
    def _counted(self) -> Generator[None]:
        """Also count the steps for the model."""
        before = self._stepper.step
        try:
            yield
        finally:
            self._state.step += self._stepper.step - before

    async def first_nonfinite(self, *, replay: bool) -> tuple[int, str, float]:
        """Find the step that diverged, and its first value that is not finite.

        With `replay`, the last call is repeated and watched step by step, and the state is then the
        one before the bad step; otherwise the next step is watched.
        """
        made = replace(self._made, watch=True)
        step = training_step(self._network, self.feed.targets, made)
        last = self._stepper.step
        if replay:
            await self._undo_last_call()
        from webnnm.trainer.watching import first_nonfinite

        with self._counted():
            return await first_nonfinite(self._device, self._stepper, step, last - replay)

    def initial_state(self) -> dict[str, HostArray]:
        """Return the state before the first step, from the data on the host."""
        return initial_state(self._graph, self._state.parameters.values())

    def _restore(self, point: ReplayPoint) -> None:
        """Go back to the state before some steps."""
        with self._counted():
            self._stepper.restore(point.state, self._stepper.step - point.step)

    async def _undo_last_call(self) -> None:
        """Go back to the state before the last call."""
        assert self._last is not None
        self._restore(self._last)
        await self._run(self._last.steps)

    async def rewind(self, epochs: int) -> None:
        """Go back to the end of an epoch of the last call, by repeating the steps up to it."""
        assert self._last is not None
        self._restore(self._last)
        await self._run(self._steps_of(epochs, self._last))

    def _steps_of(self, epochs: int, point: ReplayPoint) -> int:
        """Return how many steps lead from a state to the end of an epoch of the last call."""
        return (self._epoch - 1 + epochs) * self.feed.steps - point.step

    async def settle(self, finished: int) -> None:
        """Go to a known step, whatever interrupted the training after `finished` epochs.

        It is the last step, or the one before an interrupted call, since it is not known how many
        of its steps the device has done. If the host has looked at some epochs of a call, it is the
        end of the last of them.
        """
        if self._last is None:
            return
        if self._stepper.in_flight:
            await self._undo_last_call()
        if self._stepper.step > (finished + 1) * self.feed.steps:
            seen = finished - (self._epoch - 1)
            if seen > 0:
                await self.rewind(seen)
            else:
                await self._undo_last_call()

    async def task_weights(self) -> dict[str, float]:
        """Return s of every output that is weighted by uncertainty."""
        names = {name: self.current[TASK + name] for name in self._made.tasks}
        arrays = await self._backend.read(*names.values()) if names else []
        return {name: a.values()[0] for name, a in zip(names, arrays, strict=True)}

    async def validate(self) -> tuple[dict[str, float], dict[str, float]]:
        """Return the losses and metrics over the validation subset."""
        if not self._validation:
            from webnnm.runtime.testing.validation import Validation

            self._validation = Validation(self._state, self._made.losses, self._made.batch)
        return await self._validation.run(self._parameters(self.current))

    def keep_best(self, place: int, epochs: int) -> None:
        """Keep the parameters after `place` of the `epochs` of the last call as the best.

        Those of the last epoch are copied on the device; those of an earlier one are recomputed
        from the state before the call, when they are needed.
        """
        if place == epochs:
            self._best = None
            self._stepper.copy_parameters(self._device.best)
        else:
            assert self._last is not None
            self._best = replace(self._last, steps=self._steps_of(place, self._last))
        self._has_best = True

    async def capture_state(
        self, finished: int
    ) -> tuple[dict[str, HostArray], dict[str, HostArray], dict[str, float]]:
        """Return state, best parameters and totals of the epoch, in the form of a checkpoint.

        Only between two calls, after `epochs` epochs.
        """
        device = self._device
        if self._best is not None:
            # So far only the way to compute the best parameters is known: compute them now.
            spare = next(state for state in device.spares if state is not self._best.state)
            self._stepper.copy_state(spare)
            self._stepper.restore(self._best.state, self._best.steps)
            self._write(self._best.tables)
            await self._stepper.run(self._best.steps)
            self._stepper.copy_parameters(device.best)
            self._stepper.restore(spare, 0)
            self._best = None
            if self._last is not None:
                self._write(self._last.tables)
                self._last = replace(self._last, step=-1)  # its state was the spare one
        names = self._graph.checkpointed
        state = await read_tensors(self._backend, {name: self.current[name] for name in names})
        best = await read_tensors(self._backend, device.best) if self._has_best else {}
        rows = (await read_tensors(self._backend, {TOTALS: self.current[TOTALS]}))[TOTALS].values()
        row = (finished - (self._epoch - 1)) * len(self._graph.totals)
        totals = dict(zip(self._graph.totals, rows[max(0, row) :], strict=False))
        if self._resumed is not None:  # nothing has run yet
            totals = dict(self._resumed.totals)
        return (
            state,
            {name.removeprefix(PARAMETER_PREFIX): array for name, array in best.items()},
            totals,
        )

    async def finish(self, *, restore: bool) -> None:
        """Give the latest parameters, or the best ones, to the model, and free everything else.

        The best ones are those that `capture_state` computed before.
        """
        device = self._device
        if restore and self._has_best:
            self._backend.dispatch(device.copy_parameters, device.best, self.current)
        kept = {name: self.current[name] for name in device.best}
        self._state.parameters.replace(self._parameters(kept))
        await self._free(kept)
        learnt = [name.removeprefix(PARAMETER_PREFIX) for name in kept]
        await self._state.parameters.read_back(learnt)

    async def abandon(self) -> None:
        """Free everything except the tensors that the model had before; the device is lost."""
        await self._free(self._device.parameters)

    async def _free(self, kept: Mapping[str, DeviceTensor]) -> None:
        await self._stepper.close()
        self._device.free(kept)
        if self._validation:
            self._validation.close()

    @contextmanager
    def shown(self) -> Generator[None]:
        """Let the model use the latest parameters temporarily, while no step is run."""
        parameters = self._state.parameters
        before = parameters.tensors
        parameters.show(self._parameters(self.current))
        try:
            with self._state.occupancy.resting():
                yield
        finally:
            parameters.show(before)

    def _parameters(self, state: Tensors) -> Tensors:
        """Return the parameters of a state by name, and the frozen ones."""
        found = {
            name.removeprefix(PARAMETER_PREFIX): tensor
            for name, tensor in state.items()
            if name.startswith(PARAMETER_PREFIX)
        }
        return {**self._state.parameters.tensors, **found}


async def _next(source: AsyncIterator[Any]) -> Any:
    """Return the next element of a source, None at its end."""
    async for element in source:
        return element
    return None
