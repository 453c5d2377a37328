"""The device side of a training: data, tables and two banks of state that stay there (spec E.9)."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from webnnm.arrays import HostArray, zeros
from webnnm.backends.base import Backend, DeviceTensor, Executable
from webnnm.evaluator import Evaluator
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.lowering import PARAMETER_PREFIX
from webnnm.graph.node import Graph
from webnnm.objectives import assess_all
from webnnm.ops.operator import TensorType
from webnnm.rows import Rows, epoch_rows
from webnnm.training.forward import OutputLoss, label_forms
from webnnm.training.initialisation import generator_bytes, generator_graph
from webnnm.training.schedules import Schedule
from webnnm.training.step import (
    COUNTS,
    CURSOR,
    DUE,
    LOSS,
    ORDER,
    RATES,
    ROWS,
    TASK,
    TOTALS,
    WATCH,
    StepGraph,
    StepSettings,
    training_step,
)

if TYPE_CHECKING:
    from webnnm.model import NNModel

Bank = dict[str, DeviceTensor]


@dataclass
class _Device:
    """What a training holds on the device: everything here is freed when it ends."""

    executable: Executable
    resident: list[Bank]
    banks: tuple[Bank, Bank]
    fixed: Bank
    best: Bank
    safe: Bank
    keeper: Executable
    saver: Executable
    others: list[DeviceTensor | Executable]


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


class ResidentTraining:
    """The device side of one training, begun by `open` and ended by `finish`."""

    def __init__(
        self,
        model: NNModel,
        settings: Mapping[str, Any],
        device: _Device,
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
        self._block = 0
        self._step = 0
        self._chunk_start = 0
        self._has_best = False
        self._evaluator: Evaluator | None = None

    @classmethod
    async def open(
        cls, model: NNModel, settings: Mapping[str, Any], made: StepSettings, rows: Rows
    ) -> ResidentTraining:
        """Build the step graph, upload the data, allocate both banks."""
        step = training_step(model.training_network, rows.targets, made)
        device = await cls._allocate(model, step, rows)
        await cls._seed(model, settings, step, device)
        for name, value in step.starts.items():
            model.backend.write(device.banks[0][name], HostArray.of(value, "float32"))
        return cls(model, settings, device, step, made, rows)

    @staticmethod
    async def _allocate(model: NNModel, step: StepGraph, rows: Rows) -> _Device:
        backend = model.backend
        own = {PARAMETER_PREFIX + name: tensor for name, tensor in model.parameters.tensors.items()}
        kept = [name for name in step.state if name in own]
        made: list[DeviceTensor | Executable] = []

        async def compiled(graph: Graph) -> Executable:
            executable = await backend.compile(graph)
            made.append(executable)
            return executable

        async def tensor(type: TensorType, values: HostArray | None = None) -> DeviceTensor:
            found = await backend.tensor(type, values)
            made.append(found)
            return found

        try:
            executable = await compiled(step.graph)
            sets: list[Bank] = []
            for _ in range(2 if rows.streams else 1):
                bank: Bank = {}
                for name, type in step.resident.items():
                    if name not in own and name in executable.inputs:
                        bank[name] = await tensor(type, rows.data.get(name))
                sets.append(bank)
            first = {n: own.get(n) or await tensor(type) for n, type in step.state.items()}
            second = {name: await tensor(type) for name, type in step.state.items()}
            safe = {name: await tensor(type) for name, type in step.state.items()}
            best = {name: await tensor(step.state[name]) for name in kept}
            keeper = await compiled(_copy_graph({n: step.state[n] for n in kept}))
            saver = await compiled(_copy_graph(step.state))
        except BaseException:
            backend.release(*made)
            raise
        fixed = {n: t for n, t in own.items() if n not in step.state and n in executable.inputs}
        return _Device(executable, sets, (first, second), fixed, best, safe, keeper, saver, [])

    @staticmethod
    async def _seed(
        model: NNModel, settings: Mapping[str, Any], step: StepGraph, device: _Device
    ) -> None:
        """Give the random generators of a step their first states (spec C.1, dropout)."""
        if not step.generators:
            return
        shapes = {name: type.shape for name, type in step.state.items()}
        graph = generator_graph(step.generators, shapes)
        given = generator_bytes(settings["seed"], step.generators, shapes)
        await model.backend.fill(graph, given, device.banks[0])

    @property
    def current(self) -> Bank:
        """The bank that holds the latest parameters."""
        return self._device.banks[self._step % 2]

    @property
    def steps_done(self) -> int:
        """How many steps were run in this training."""
        return self._step

    @property
    def decaying(self) -> list[str]:
        """The parameters that learn and are regularised."""
        update = self._made.update
        return [name for name, m in update.multipliers.items() if m > 0 and update.decays[name]]

    async def blocks(self, epoch: int) -> AsyncGenerator[int]:
        """Bring the rows of an epoch to the device, block by block; yield the steps of each.

        A dataset in memory is one block, which stays. Of a stream the next block is fetched and
        uploaded while the present one is trained.
        """
        started = False
        done = 0
        sources = epoch_rows(self.data, epoch, self._settings)
        waiting = asyncio.ensure_future(_next(sources))
        try:
            while (block := await waiting) is not None:
                self._block = (self._block + 1) % len(self._device.resident)
                tables = self._tables(block.order, (epoch - 1) * self.data.steps + done)
                bank = self._device.resident[self._block]
                for name, values in (*block.data.items(), *tables.items()):
                    if name in bank:
                        self._backend.write(bank[name], values)
                self._backend.write(self.current[CURSOR], zeros("int32", []))
                if not started:
                    shape = self._graph.state[TOTALS].shape
                    self._backend.write(self.current[TOTALS], zeros("float32", shape))
                    started = True
                waiting = asyncio.ensure_future(_next(sources))
                steps = -(-len(block.order) // self._made.batch)
                done += steps
                yield steps
        finally:
            # What is being fetched has to end before its source can be closed.
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            await sources.aclose()

    def _tables(self, order: list[int], first: int) -> dict[str, HostArray]:
        """Return the tables of a block whose first step follows step `first` of the training."""
        batch, steps = self._made.batch, self._made.steps
        rows = len(order)
        counts = [float(max(0, min(batch, rows - start * batch))) for start in range(steps)]
        rates = [self.schedule.at(min(first + k + 1, self.schedule.total)) for k in range(steps)]
        every, last = self._made.update.accumulate, -(-rows // batch)
        due = [float((k + 1) % every == 0 or k + 1 == last) for k in range(steps)]
        filled = order + [0] * (steps * batch - rows)
        return {
            ORDER: HostArray.of(filled, "int32", (steps, batch)),
            RATES: HostArray.of(rates, "float32"),
            COUNTS: HostArray.of(counts, "float32"),
            DUE: HostArray.of(due, "float32"),
        }

    async def chunk(self, count: int) -> Totals:
        """Run some steps in one crossing and return the totals of the epoch so far."""
        device = self._device
        self._backend.dispatch(device.saver, self.current, device.safe)
        self._chunk_start = self._step
        totals = await self._backend.run_steps(
            device.executable, self._bindings(), self._step, count, self._totals
        )
        self._step += count
        self._model.step += count
        return Totals(dict(zip(self._graph.totals, totals[0].values(), strict=True)))

    def _bindings(self) -> tuple[tuple[Bank, Bank], tuple[Bank, Bank]]:
        # Step k reads bank k mod 2 and writes the other, over the whole training.
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
        executable = await backend.compile(step.graph)
        device.others.append(executable)
        report = await backend.tensor(executable.outputs[WATCH])
        device.others.append(report)
        last = self._step
        if replay:
            self._model.step -= last - self._chunk_start
            self._step = self._chunk_start
            backend.dispatch(device.saver, device.safe, self.current)
        while self._step <= last:
            inputs, outputs = self._bindings()[self._step % 2]
            backend.dispatch(executable, inputs, {**outputs, WATCH: report})
            (found,) = await backend.read(report)
            seen = found.values()
            bad = next((k for k, value in enumerate(seen) if not math.isfinite(value)), None)
            if bad is not None:
                largest = max((seen[k] for k in range(bad)), default=0.0)
                return self._step, step.watch[bad], largest
            if not replay or self._step == last - 1:
                break
            self._step += 1
            self._model.step += 1
        return self._step, "", 0.0

    async def task_weights(self) -> dict[str, float]:
        """Return s of every output that is weighed by uncertainty."""
        names = {name: self.current[TASK + name] for name in self._made.tasks}
        arrays = await self._backend.read(*names.values()) if names else []
        return {name: a.values()[0] for name, a in zip(names, arrays, strict=True)}

    async def validate(self) -> tuple[dict[str, float], dict[str, float]]:
        """Return the losses and metrics over the validation subset."""
        model, losses = self._model, self._made.losses
        binding = model.binding()
        inputs, targets, masks = await binding.whole("validation", label_forms(losses))
        if self._evaluator is None:
            rows = len(next(iter(targets.values())))
            self._evaluator = await Evaluator.open(
                model.network,
                self._backend,
                losses,
                batch=min(rows, max(self._made.batch, 64)),
                sequence=model.sequence,
                masks=masks,
            )
        parameters = self._parameters(self.current)
        found = await self._evaluator.run(inputs, targets, parameters, masks, outputs=True)
        metrics: dict[str, float] = {}
        found_in = found.outputs, targets, masks
        reports = assess_all(binding, model.objectives(), losses, *found_in)
        for name, report in reports.items():
            word = "r2" if hasattr(report, "r2") else "accuracy"
            value = getattr(report, word, None)
            if value is not None:
                metrics[word if len(losses) == 1 else f"{name} {word}"] = value
        return found.losses, metrics

    def keep_best(self) -> None:
        """Copy the latest parameters on the device to the best snapshot."""
        self._backend.dispatch(self._device.keeper, self.current, self._device.best)
        self._has_best = True

    async def finish(self, *, restore: bool) -> None:
        """Hand the parameters back to the model and free everything else."""
        device = self._device
        if restore and self._has_best:
            self._backend.dispatch(device.keeper, device.best, self.current)
        kept = {name: self.current[name] for name in device.best}
        self._model.parameters.replace(self._parameters(kept))
        alive = {tensor.handle for tensor in kept.values()}
        for bank in (*device.banks, *device.resident, device.best, device.safe):
            others = [tensor for tensor in bank.values() if tensor.handle not in alive]
            self._backend.release(*others)
        self._backend.release(device.executable, device.keeper, device.saver, *device.others)
        if self._evaluator is not None:
            self._evaluator.close()
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


def _copy_graph(types: Mapping[str, TensorType]) -> Graph:
    """Return the graph that copies tensors on the device."""
    b = GraphBuilder()
    return b.build({name: b.identity(b.input(name, *type)) for name, type in types.items()})
