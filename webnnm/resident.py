"""The device side of a training: steps over data, tables and banks that stay there (spec E.9)."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from webnnm.arrays import HostArray, zeros
from webnnm.backends.base import Backend
from webnnm.banks import Bank, Device, allocate, start
from webnnm.checkpoint import Checkpoint
from webnnm.graph.lowering import PARAMETER_PREFIX
from webnnm.rows import Rows, epoch_rows, step_tables
from webnnm.shapes import count
from webnnm.stepping import Stepper
from webnnm.training.forward import OutputLoss
from webnnm.training.schedules import Schedule
from webnnm.training.step import StepGraph, training_step, training_steps
from webnnm.training.step_settings import (
    CURSOR,
    LOSS,
    ROWS,
    TASK,
    TOTALS,
    WATCH,
    StepSettings,
)
from webnnm.validation import Validation

if TYPE_CHECKING:
    from webnnm.model import NNModel

READ_BYTES = 1 << 24
"""Tensors are read together up to so many bytes."""


@dataclass(frozen=True)
class Totals:
    """What the device summed up over an epoch so far: name → number."""

    values: Mapping[str, float]

    def losses(self, names: Mapping[str, OutputLoss]) -> dict[str, float]:
        """Return the mean loss of every output over the rows that counted."""
        v = self.values
        return {name: v[LOSS + name] / (v[ROWS + name] or 1.0) for name in names}

    @property
    def finite(self) -> bool:
        """Whether all sums are finite."""
        return all(math.isfinite(value) for value in self.values.values())


@dataclass(frozen=True)
class _Start:
    """From where steps can be repeated: the tables, the state before them, how many they were."""

    tables: Mapping[str, HostArray]
    state: Bank
    steps: int


class ResidentTraining:
    """The device side of one training, begun by `open` and ended by `finish`."""

    def __init__(
        self,
        model: NNModel,
        settings: Mapping[str, Any],
        device: Device,
        step: StepGraph,
        made: StepSettings,
        rows: Rows,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self._model = model
        self._backend: Backend = model.backend
        self._settings = settings
        self._device = device
        self._graph = step
        self._made = made
        self.data = rows
        self.schedule = Schedule(
            kind=settings["schedule"],
            rate=settings["lr"],
            epochs=settings["epochs"],
            batches=rows.steps,
            warmup_epochs=settings["warmup_epochs"],
            min_rate=settings["min_lr"],
            step_epochs=settings["step_epochs"] or 0,
            step_factor=settings["step_factor"],
        )
        self._stepper = Stepper(
            device,
            partial(training_steps, model.training_network, rows.targets, made),
            every=1 if settings["on_batch"] is not None else 0,
            step=checkpoint.step if checkpoint else 0,
        )
        self._begun = checkpoint
        self._last: _Start | None = None
        self._best: _Start | None = None
        self._has_best = bool(checkpoint and checkpoint.best)
        self._validation = Validation(model, made.losses, made.batch)

    @classmethod
    async def open(
        cls,
        model: NNModel,
        settings: Mapping[str, Any],
        made: StepSettings,
        rows: Rows,
        checkpoint: Checkpoint | None = None,
    ) -> ResidentTraining:
        """Build the step graph, upload the data, allocate both banks; stand at the checkpoint."""
        step = training_step(model.training_network, rows.targets, made)
        if checkpoint is not None:
            checkpoint.check({name: step.state[name] for name in step.carried}, rows.steps)
        device = await allocate(
            model.backend,
            model.parameters.tensors,
            step,
            rows,
            recompute=settings["recompute"],
        )
        await start(device, step, settings["seed"], checkpoint)
        training = cls(model, settings, device, step, made, rows, checkpoint)
        if settings["micro_steps"] != "auto":
            await training._stepper.fix(settings["micro_steps"])
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
        begun, self._begun = self._begun, None
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
                    started = True
                waiting = asyncio.ensure_future(_next(sources))
                done += steps
                self._last = _Start(tables, self._device.spares[0], 0)
                yield steps - skipped
                skipped = 0
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

    async def chunk(self, count: int) -> list[Totals]:
        """Run some steps in one crossing and return the totals of the epochs so far."""
        assert self._last is not None
        taken = None if self._best is None else self._best.state
        spare = next(state for state in self._device.spares if state is not taken)
        self._stepper.copy(spare)
        self._last = _Start(self._last.tables, spare, count)
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
            self._model.step += self._stepper.step - before

    async def first_bad(self, *, replay: bool) -> tuple[int, str, float]:
        """Find the step that went wrong, and in it the first value that is not finite.

        With `replay` the last chunk is run again from its start, watched step by step, and the
        training stands before the bad step afterwards; else the next step is watched. Returns
        how many steps came before, what was not finite ("" if nothing was, now), and the largest
        value that was.
        """
        device, backend = self._device, self._backend
        made = replace(self._made, watch=True)
        step = training_step(self._model.training_network, self.data.targets, made)
        executable = await backend.compile(step.graph, constants=device.frozen)
        device.others.append(executable)
        report = await backend.tensor(executable.outputs[WATCH])
        device.others.append(report)
        stepper = self._stepper
        last = stepper.step
        if replay:
            assert self._last is not None
            self._go_back(self._last)
        with self._counted():
            while stepper.step <= last:
                stepper.watch(executable, {WATCH: report})
                (found,) = await backend.read(report)
                seen = found.values()
                bad = next((k for k, value in enumerate(seen) if not math.isfinite(value)), None)
                if bad is not None:
                    largest = max((seen[k] for k in range(bad)), default=0.0)
                    return stepper.step, step.watch[bad], largest
                if not replay or stepper.step == last - 1:
                    break
                stepper.count()
        return stepper.step, "", 0.0

    def _go_back(self, start: _Start) -> None:
        """Stand where the steps of `start` began, which were the last ones."""
        with self._counted():
            self._stepper.go_back(start.state, start.steps)

    async def rewind(self, epochs: int) -> None:
        """Stand at the end of an epoch of the last crossing, by repeating its steps up to there."""
        assert self._last is not None
        self._go_back(self._last)
        await self._run(epochs * self.data.steps)

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
        assert self._last is not None
        if epochs == together:
            self._best = None
            self._backend.dispatch(self._device.keeper, self.current, self._device.best)
        else:
            self._best = replace(self._last, steps=epochs * self.data.steps)
        self._has_best = True

    async def stand(self) -> tuple[dict[str, HostArray], dict[str, HostArray], dict[str, float]]:
        """Return state, best parameters and totals of the epoch, as a checkpoint has them.

        Only between two crossings.
        """
        device, backend = self._device, self._backend
        if self._best is not None:
            # What is known of the best parameters is how to compute them: now is the time.
            spare = next(state for state in device.spares if state is not self._best.state)
            self._stepper.copy(spare)
            await self._compute_best(self._best)
            backend.dispatch(device.keeper, self.current, device.best)
            self._stepper.go_back(spare, 0)
            self._best = None
            if self._last is not None:
                self._write(self._last.tables)
        names = self._graph.carried
        state = await self._values({name: self.current[name] for name in names})
        best = await self._values(device.best) if self._has_best else {}
        totals = (await self._values({TOTALS: self.current[TOTALS]}))[TOTALS].values()
        return (
            state,
            {name.removeprefix(PARAMETER_PREFIX): array for name, array in best.items()},
            dict(zip(self._graph.totals, totals, strict=False)),
        )

    async def _values(self, bank: Bank) -> dict[str, HostArray]:
        """Return the values of tensors, of large ones one after the other."""
        found: dict[str, HostArray] = {}
        waiting: Bank = {}
        size = 0
        for name, tensor in bank.items():
            waiting[name] = tensor
            size += count(tensor.type.shape) * 4
            if size >= READ_BYTES or name == next(reversed(bank)):
                found |= zip(waiting, await self._backend.read(*waiting.values()), strict=True)
                waiting, size = {}, 0
        return found

    async def _compute_best(self, best: _Start) -> None:
        """Stand where the best epoch ended, by the steps that led there."""
        self._stepper.go_back(best.state, best.steps)
        self._write(best.tables)
        await self._stepper.run(best.steps)

    async def finish(self, *, restore: bool) -> None:
        """Hand the parameters back to the model and free everything else."""
        device = self._device
        if restore and self._best is not None:
            await self._compute_best(self._best)
        elif restore and self._has_best:
            self._backend.dispatch(device.keeper, device.best, self.current)
        kept = {name: self.current[name] for name in device.best}
        self._model.parameters.replace(self._parameters(kept))
        await self._stepper.close()
        device.free(kept)
        self._validation.close()
        await self._model.parameters.read_back()

    def _parameters(self, bank: Bank) -> Bank:
        """Return the parameter tensors of a bank by their names, and the frozen ones."""
        found = {
            name.removeprefix(PARAMETER_PREFIX): tensor
            for name, tensor in bank.items()
            if name.startswith(PARAMETER_PREFIX)
        }
        return {**self._model.parameters.tensors, **found}


async def _next(source: AsyncIterator[Any]) -> Any:
    """Return the next element of a source, None at its end."""
    async for element in source:
        return element
    return None
