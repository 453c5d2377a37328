"""The device side of a training: steps over data, tables and banks that stay there (spec E.9)."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from webnnm.arrays import HostArray, zeros
from webnnm.backends.base import Backend, Executable
from webnnm.banks import Bank, Device, allocate, start
from webnnm.errors import ContextLost
from webnnm.graph.lowering import PARAMETER_PREFIX
from webnnm.pace import Pace
from webnnm.rows import Rows, epoch_rows, step_tables
from webnnm.training.forward import OutputLoss
from webnnm.training.schedules import Schedule
from webnnm.training.step import (
    CURSOR,
    LOSS,
    ROWS,
    TASK,
    TOTALS,
    WATCH,
    StepGraph,
    StepSettings,
    training_step,
)
from webnnm.validation import Validation

if TYPE_CHECKING:
    from webnnm.model import NNModel

WORTH = 0.95
"""Several steps per dispatch stay where each takes at most this share of the time before."""
TRIALS = 4
"""Crossings until they are given up: some may have been held up by something else."""


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
        a, b = device.banks
        self._totals = [(b[TOTALS], a[TOTALS])]
        self._pace = Pace(every=1 if settings["on_batch"] is not None else 0)
        self._fast: Executable | None = None
        self.micro_steps = 1
        self._settled = False
        self._seconds_before = math.inf
        self._block = 0
        self._dispatches = 0
        self._step: int = 0
        self._last: _Start | None = None
        self._best: _Start | None = None
        self._has_best = False
        self._validation = Validation(model, made.losses, made.batch)

    @classmethod
    async def open(
        cls, model: NNModel, settings: Mapping[str, Any], made: StepSettings, rows: Rows
    ) -> ResidentTraining:
        """Build the step graph, upload the data, allocate both banks."""
        step = training_step(model.training_network, rows.targets, made)
        device = await allocate(model.backend, model.parameters.tensors, step, rows)
        await start(device, step, settings["seed"])
        training = cls(model, settings, device, step, made, rows)
        if settings["micro_steps"] != "auto":
            training._settled = True
            await training._unroll(settings["micro_steps"])
        return training

    @property
    def current(self) -> Bank:
        """The bank that holds the latest parameters."""
        return self._device.banks[self._dispatches % 2]

    @property
    def steps_done(self) -> int:
        """How many steps were run in this training."""
        return self._step

    @property
    def decaying(self) -> list[str]:
        """The parameters that learn and are regularised."""
        update = self._made.update
        return [name for name, m in update.multipliers.items() if m > 0 and update.decays[name]]

    def together(self, left: int) -> int:
        """Return how many of the epochs that are left to train before the host looks at them."""
        return self._pace.epochs(self.data.steps, min(left, self.data.epochs))

    def ahead(self, left: int, together: int) -> int:
        """Return how many of the steps that are left in a block to run in one crossing."""
        if together > 1:  # from the start of which any epoch can be repeated
            return left
        count = self._pace.steps(left)
        return count - count % self.micro_steps or count

    async def blocks(self, epoch: int, together: int = 1) -> AsyncGenerator[int]:
        """Bring the rows of epochs to the device, block by block; yield the steps of each.

        A dataset in memory is one block, which stays. Of a stream the next block is fetched and
        uploaded while the present one is trained.
        """
        started = False
        done = 0
        sources = epoch_rows(self.data, epoch, self._settings, together)
        waiting = asyncio.ensure_future(_next(sources))
        try:
            while (block := await waiting) is not None:
                self._block = (self._block + 1) % len(self._device.resident)
                first = (epoch - 1) * self.data.steps + done + 1
                tables = step_tables(self._made, self.schedule, block.orders, first)
                self._write(block.data)
                self._write(tables)
                self._backend.write(self.current[CURSOR], zeros("int32", []))
                if not started:
                    shape = self._graph.state[TOTALS].shape
                    self._backend.write(self.current[TOTALS], zeros("float32", shape))
                    started = True
                waiting = asyncio.ensure_future(_next(sources))
                steps = sum(-(-len(order) // self._made.batch) for order in block.orders)
                done += steps
                self._last = _Start(tables, self._device.spares[0], 0)
                yield steps
        finally:
            # What is being fetched has to end before its source can be closed.
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            await sources.aclose()

    def _write(self, arrays: Mapping[str, HostArray]) -> None:
        """Upload what the step graph takes of these arrays."""
        bank = self._device.resident[self._block]
        for name, values in arrays.items():
            if name in bank:  # a graph has just the tables that it looks at
                self._backend.write(bank[name], values)

    async def chunk(self, count: int) -> list[Totals]:
        """Run some steps in one crossing and return the totals of the epochs so far."""
        assert self._last is not None
        taken = None if self._best is None else self._best.state
        spare = next(state for state in self._device.spares if state is not taken)
        self._backend.dispatch(self._device.saver, self.current, spare)
        self._last = _Start(self._last.tables, spare, count)
        began = time.perf_counter()
        totals = await self._run(count)
        seconds = time.perf_counter() - began
        self._pace.note(count, seconds)
        await self._adapt()
        names = self._graph.totals
        values = totals.values()
        rows = range(0, len(values), len(names))
        return [Totals(dict(zip(names, values[k : k + len(names)], strict=True))) for k in rows]

    async def _run(self, count: int) -> HostArray:
        """Run steps, several per dispatch as far as that is known to pay, and return the totals."""
        single = self._device.executable
        many, rest = divmod(count, self.micro_steps)
        found: list[HostArray] = []
        for executable, dispatches, times in (
            (self._fast or single, many, self.micro_steps),
            (single, rest, 1),
        ):
            if not dispatches:
                continue
            try:
                found = await self._backend.run_steps(
                    executable, self._bindings(), self._dispatches, dispatches, self._totals
                )
            except ContextLost as lost:
                if lost.step is None:
                    raise
                good = self._step + (lost.step - self._dispatches + 1) * times - 1
                raise ContextLost(f"after step {good}: {lost.message}", step=good) from lost
            self._dispatches += dispatches
            self._step += dispatches * times
            self._model.step += dispatches * times
        return found[0]

    async def _adapt(self) -> None:
        """Put several steps into a dispatch where the measured times say that it pays."""
        pace, device = self._pace, self._device
        if self._settled or not pace.trusted:
            return
        if self._fast is not None and pace.best_seconds > WORTH * self._seconds_before:
            if pace.trusted >= TRIALS:
                self._settled = True
                await self._unroll(1)
            return
        self._seconds_before = math.inf
        wanted = pace.micro_steps(
            present=self.micro_steps,
            epoch=self.data.steps,
            left=self.schedule.total - self._step,
            dispatch=self._backend.dispatch_seconds,
            device_build=device.executable.build_seconds,
            build=device.build_seconds,
        )
        if wanted != self.micro_steps:
            self._seconds_before = pace.best_seconds
            await self._unroll(wanted)
            pace.restart()

    async def _unroll(self, times: int) -> None:
        """Give a dispatch so many steps."""
        if self._fast is not None:
            self._backend.release(self._fast)
            self._fast = None
        if times > 1:
            self._fast = await self._backend.compile(
                self._graph.graph, times=times, constants=self._device.frozen
            )
        self.micro_steps = times

    def _bindings(self) -> tuple[tuple[Bank, Bank], tuple[Bank, Bank]]:
        # Dispatch k reads bank k mod 2 and writes the other, over the whole training.
        a, b = self._device.banks
        inputs = self._device.resident[self._block] | self._device.fixed
        return (inputs | a, b), (inputs | b, a)

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
        last = self._step
        if replay:
            assert self._last is not None
            self._go_back(self._last)
        while self._step <= last:
            inputs, outputs = self._bindings()[self._dispatches % 2]
            backend.dispatch(executable, inputs, {**outputs, WATCH: report})
            (found,) = await backend.read(report)
            seen = found.values()
            bad = next((k for k, value in enumerate(seen) if not math.isfinite(value)), None)
            if bad is not None:
                largest = max((seen[k] for k in range(bad)), default=0.0)
                return self._step, step.watch[bad], largest
            if not replay or self._step == last - 1:
                break
            self._dispatches += 1
            self._step += 1
            self._model.step += 1
        return self._step, "", 0.0

    def _go_back(self, start: _Start) -> None:
        """Stand where the steps of `start` began, which were the last ones."""
        self._backend.dispatch(self._device.saver, start.state, self.current)
        self._step -= start.steps
        self._model.step -= start.steps

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

    async def finish(self, *, restore: bool) -> None:
        """Hand the parameters back to the model and free everything else."""
        device, step = self._device, self._model.step
        if restore and self._best is not None:
            self._backend.dispatch(device.saver, self._best.state, self.current)
            self._write(self._best.tables)
            await self._run(self._best.steps)
            self._model.step = step
        elif restore and self._has_best:
            self._backend.dispatch(device.keeper, device.best, self.current)
        kept = {name: self.current[name] for name in device.best}
        self._model.parameters.replace(self._parameters(kept))
        await self._unroll(1)
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
