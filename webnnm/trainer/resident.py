"""The device side of a training: steps over data, tables and banks that stay there (spec E.9)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from webnnm.backends.base import Backend, DeviceTensor
from webnnm.core.arrays import HostArray, zeros
from webnnm.graph.lowering import PARAMETER_PREFIX
from webnnm.graph.vertices import Network
from webnnm.runtime.checkpoint import Checkpoint
from webnnm.runtime.state import ModelState
from webnnm.runtime.validation import Validation
from webnnm.trainer.double_buffer import Bank, Device, allocate, beginning, read_bank, start
from webnnm.trainer.feed import Rows, epoch_rows, step_tables
from webnnm.trainer.stepper import Stepper
from webnnm.training.schedules import Schedule
from webnnm.training.step import StepGraph, training_step, training_steps
from webnnm.training.step_settings import (
    CURSOR,
    TASK,
    TOTALS,
    StepSettings,
)
from webnnm.training.told import Totals


@dataclass(frozen=True)
class _Start:
    """From where steps can be repeated: the tables, the state before them, how many they were.

    `first` is the step of the training that the state is of.
    """

    tables: Mapping[str, HostArray]
    state: Bank
    steps: int
    first: int


class ResidentTraining:
    """The device side of one training, begun by `open` and ended by `finish`."""

    def __init__(
        self,
        state: ModelState,
        network: Network,
        settings: Mapping[str, Any],
        device: Device,
        step: StepGraph,
        made: StepSettings,
        rows: Rows,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self._state = state
        self._network = network
        self._backend: Backend = state.backend
        self._settings = settings
        self._device = device
        self._graph = step
        self._made = made
        self.data = rows
        self.schedule = Schedule.of(settings, rows.steps)
        self._stepper = Stepper(
            device,
            partial(training_steps, network, rows.targets, made),
            every=1 if settings["on_batch"] is not None else 0,
            step=checkpoint.step if checkpoint else 0,
        )
        self._begun = checkpoint
        self._epoch = 1
        self._last: _Start | None = None
        self._best: _Start | None = None
        self._has_best = bool(checkpoint and checkpoint.best)
        self._validation = Validation(state, made.losses, made.batch)

    @classmethod
    async def open(
        cls,
        state: ModelState,
        network: Network,
        settings: Mapping[str, Any],
        made: StepSettings,
        rows: Rows,
        checkpoint: Checkpoint | None = None,
    ) -> ResidentTraining:
        """Build the step graph, upload the data, allocate both banks; stand at the checkpoint.

        `network` is the model's, or the same with float16 inputs.
        """
        step = training_step(network, rows.targets, made)
        if checkpoint is not None:
            checkpoint.check({n: step.state[n] for n in step.carried}, rows.steps, step.totals)
        device = await allocate(
            state.backend,
            state.parameters.tensors,
            step,
            rows,
            recompute=settings["recompute"],
        )
        try:
            await start(device, step, settings["seed"], checkpoint)
            training = cls(state, network, settings, device, step, made, rows, checkpoint)
            if settings["micro_steps"] != "auto":
                # A crossing has no more steps than the table that it reads them from.
                await training._stepper.fix(min(settings["micro_steps"], made.steps))
        except BaseException:
            device.free(device.own)
            raise
        return training

    @property
    def current(self) -> Bank:
        """The bank that holds the latest parameters."""
        return self._stepper.current

    @property
    def steps_done(self) -> int:
        """How many steps were run in this training."""
        return self._stepper.step

    @property
    def micro_steps(self) -> int:
        """How many steps a dispatch has at the moment."""
        return self._stepper.micro_steps

    @property
    def decaying(self) -> list[str]:
        """The parameters that learn and are regularised."""
        update = self._made.update
        return [name for name, m in update.multipliers.items() if m > 0 and update.decays[name]]

    def together(self, left: int) -> int:
        """Return how many of the epochs that are left to train before the host looks at them."""
        return self._stepper.pace.epochs(self.data.steps, min(left, self.data.epochs))

    def ahead(self, left: int, together: int) -> int:
        """Return how many of the steps that are left in a block to run in one crossing."""
        if together > 1:  # from the start of which any epoch can be repeated
            return left
        count = self._stepper.pace.steps(left)
        return count - count % self.micro_steps or count

    async def blocks(self, epoch: int, together: int = 1) -> AsyncGenerator[int]:
        """Bring the rows of epochs to the device, block by block; yield the steps of each.

        A dataset in memory is one block, which stays. Of a stream the next block is fetched and
        uploaded while the present one is trained. The first epoch after a checkpoint begins with
        the batch at which that stands.
        """
        begun = self._begun
        self._epoch = epoch
        skipped = begun.batch if begun else 0
        totals = zeros("float32", self._graph.state[TOTALS].shape)
        if begun and skipped:
            totals = self._filled(totals, begun.totals)
        started = False
        done = 0
        sources = epoch_rows(self.data, epoch, self._settings, together)
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
                first = (epoch - 1) * self.data.steps + done + 1
                tables = step_tables(self._made, self.schedule, block.orders, first)
                self._write(block.data)
                self._write(tables)
                self._backend.write(self.current[CURSOR], HostArray.of(skipped, "int32"))
                if not started:
                    self._backend.write(self.current[TOTALS], totals)
                    self._begun = None
                    started = True
                waiting = asyncio.ensure_future(_next(sources))
                done += steps
                # Nothing is run of this block yet: its steps begin with the first copy of a state.
                self._last = _Start(tables, self._device.spares[0], 0, -1)
                yield steps - skipped
                skipped = 0
            if not started:  # all its steps were done before the checkpoint
                self._backend.write(self.current[TOTALS], totals)
                self._begun = None
        finally:
            # What is being fetched has to end before its source can be closed.
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            await sources.aclose()

    def _filled(self, table: HostArray, totals: Mapping[str, float]) -> HostArray:
        """Return the table of totals with an epoch's in its first row."""
        row = [totals.get(name, 0.0) for name in self._graph.totals]
        return HostArray.of([*row, *table.values()[len(row) :]], "float32", table.shape)

    def _write(self, arrays: Mapping[str, HostArray]) -> None:
        """Upload what the step graph takes of these arrays."""
        bank = self._device.resident[self._stepper.block]
        for name, values in arrays.items():
            if name in bank:  # a graph has just the tables that it looks at
                self._backend.write(bank[name], values)

    def begun_totals(self) -> list[Totals]:
        """Return the totals of the epoch that a checkpoint has begun, before the rest is run."""
        begun = self._begun
        return [Totals(begun.totals)] if begun and begun.batch else []

    async def chunk(self, count: int) -> list[Totals]:
        """Run some steps in one crossing and return the totals of the epochs so far."""
        assert self._last is not None
        taken = None if self._best is None else self._best.state
        spare = next(state for state in self._device.spares if state is not taken)
        self._stepper.copy(spare)
        self._last = _Start(self._last.tables, spare, count, self._stepper.step)
        with self._counted():
            totals = await self._stepper.timed(
                count, epoch=self.data.steps, total=self.schedule.total
            )
        names = self._graph.totals
        values = totals.values()
        rows = range(0, len(values), len(names))
        return [Totals(dict(zip(names, values[k : k + len(names)], strict=True))) for k in rows]

    async def _run(self, count: int) -> None:
        with self._counted():
            await self._stepper.run(count)

    @contextmanager
    def _counted(self) -> Generator[None]:
        """Count what is run for the model, too."""
        before = self._stepper.step
        try:
            yield
        finally:
            self._state.step += self._stepper.step - before

    async def first_bad(self, *, replay: bool) -> tuple[int, str, float]:
        """Find the step that went wrong, and in it the first value that is not finite.

        With `replay` the last chunk is run again from its start, watched step by step, and the
        training stands before the bad step afterwards; else the next step is watched.
        """
        made = replace(self._made, watch=True)
        step = training_step(self._network, self.data.targets, made)
        last = self._stepper.step
        if replay:
            assert self._last is not None
            self._go_back(self._last)
        from webnnm.trainer.watching import first_bad

        with self._counted():
            return await first_bad(self._device, self._stepper, step, last - replay)

    def beginning(self) -> dict[str, HostArray]:
        """Return the state before the first step, from what the host knows."""
        return beginning(self._graph, self._state.parameters.values())

    def _go_back(self, start: _Start) -> None:
        """Stand where the steps of `start` began."""
        with self._counted():
            self._stepper.go_back(start.state, self._stepper.step - start.first)

    async def rewind(self, epochs: int) -> None:
        """Stand at the end of an epoch of the last crossing, by repeating its steps up to there."""
        assert self._last is not None
        self._go_back(self._last)
        await self._run(self._steps_of(epochs, self._last))

    def _steps_of(self, epochs: int, start: _Start) -> int:
        """Return how many steps lead from a start to the end of an epoch of the last crossing."""
        return (self._epoch - 1 + epochs) * self.data.steps - start.first

    async def settle(self, finished: int) -> None:
        """Stand at a step that is known, whatever interrupted the training after so many epochs.

        It is the last step, or the one before an interrupted crossing: how many of its steps the
        device has done is not known. Where the host has looked at some epochs of a crossing, it is
        the end of the last of them.
        """
        if self._last is None:
            return
        if self._stepper.moving:
            self._go_back(self._last)
        if self._stepper.step > (finished + 1) * self.data.steps:
            seen = finished - (self._epoch - 1)
            if seen > 0:
                await self.rewind(seen)
            else:
                self._go_back(self._last)

    async def task_weights(self) -> dict[str, float]:
        """Return s of every output that is weighed by uncertainty."""
        names = {name: self.current[TASK + name] for name in self._made.tasks}
        arrays = await self._backend.read(*names.values()) if names else []
        return {name: a.values()[0] for name, a in zip(names, arrays, strict=True)}

    async def validate(self) -> tuple[dict[str, float], dict[str, float]]:
        """Return the losses and metrics over the validation subset."""
        return await self._validation.run(self._parameters(self.current))

    def keep_best(self, epochs: int, together: int) -> None:
        """Keep the parameters at the end of one of the epochs of the last crossing as the best.

        Those of the last of them are copied on the device; to those of an earlier one leads the
        state before the crossing.
        """
        if epochs == together:
            self._best = None
            self._backend.dispatch(self._device.keeper, self.current, self._device.best)
        else:
            assert self._last is not None
            self._best = replace(self._last, steps=self._steps_of(epochs, self._last))
        self._has_best = True

    async def stand(
        self, finished: int
    ) -> tuple[dict[str, HostArray], dict[str, HostArray], dict[str, float]]:
        """Return state, best parameters and totals of the epoch, as a checkpoint has them.

        Only between two crossings, after so many epochs.
        """
        device, backend = self._device, self._backend
        if self._best is not None:
            # What is known of the best parameters is how to compute them: now is the time.
            spare = next(state for state in device.spares if state is not self._best.state)
            self._stepper.copy(spare)
            self._stepper.go_back(self._best.state, self._best.steps)
            self._write(self._best.tables)
            await self._stepper.run(self._best.steps)
            backend.dispatch(device.keeper, self.current, device.best)
            self._stepper.go_back(spare, 0)
            self._best = None
            if self._last is not None:
                self._write(self._last.tables)
        names = self._graph.carried
        state = await read_bank(self._backend, {name: self.current[name] for name in names})
        best = await read_bank(self._backend, device.best) if self._has_best else {}
        rows = (await read_bank(self._backend, {TOTALS: self.current[TOTALS]}))[TOTALS].values()
        row = (finished - (self._epoch - 1)) * len(self._graph.totals)
        totals = dict(zip(self._graph.totals, rows[max(0, row) :], strict=False))
        if self._begun is not None:  # nothing is run yet
            totals = dict(self._begun.totals)
        return (
            state,
            {name.removeprefix(PARAMETER_PREFIX): array for name, array in best.items()},
            totals,
        )

    async def finish(self, *, restore: bool) -> None:
        """Hand the latest parameters, or the best ones, to the model, and free everything else.

        The best ones are those that `stand` has found before.
        """
        device = self._device
        if restore and self._has_best:
            self._backend.dispatch(device.keeper, device.best, self.current)
        kept = {name: self.current[name] for name in device.best}
        self._state.parameters.replace(self._parameters(kept))
        await self._free(kept)
        await self._state.parameters.read_back()

    async def abandon(self) -> None:
        """Free everything but the tensors that the model had before; the device is gone."""
        await self._free(self._device.own)

    async def _free(self, kept: Mapping[str, DeviceTensor]) -> None:
        await self._stepper.close()
        self._device.free(kept)
        self._validation.close()

    @contextmanager
    def shown(self) -> Generator[None]:
        """Let the model compute with the latest parameters for a while, in which no step is run."""
        parameters = self._state.parameters
        before = parameters.tensors
        parameters.show(self._parameters(self.current))
        try:
            with self._state.occupancy.resting():
                yield
        finally:
            parameters.show(before)

    def _parameters(self, bank: Bank) -> Bank:
        """Return the parameter tensors of a bank by their names, and the frozen ones."""
        found = {
            name.removeprefix(PARAMETER_PREFIX): tensor
            for name, tensor in bank.items()
            if name.startswith(PARAMETER_PREFIX)
        }
        return {**self._state.parameters.tensors, **found}


async def _next(source: AsyncIterator[Any]) -> Any:
    """Return the next element of a source, None at its end."""
    async for element in source:
        return element
    return None
