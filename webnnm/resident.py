"""The device side of a training: data, tables and two banks of state that stay there (spec E.9)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from webnnm.arrays import HostArray, zeros
from webnnm.backends.base import Backend, DeviceTensor, Executable
from webnnm.evaluator import Evaluator
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.lowering import PARAMETER_PREFIX
from webnnm.graph.node import Graph
from webnnm.ops.operator import TensorType
from webnnm.training.initialisation import generator_bytes, generator_graph
from webnnm.training.losses import Loss
from webnnm.training.optimizers import OPTIMIZERS
from webnnm.training.schedules import Schedule
from webnnm.training.step import (
    COUNTS,
    CURSOR,
    INPUT,
    LOSS,
    ORDER,
    RATES,
    TARGET,
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
    resident: Bank
    banks: tuple[Bank, Bank]
    fixed: Bank
    best: Bank
    copier: Executable


class ResidentTraining:
    """The device side of one training, begun by `open` and ended by `finish`."""

    def __init__(
        self,
        model: NNModel,
        settings: Mapping[str, Any],
        device: _Device,
        losses: Mapping[str, Loss],
        sizes: tuple[int, int, int],
    ) -> None:
        self._model = model
        self._backend: Backend = model.backend
        self._settings = settings
        self._device = device
        self._losses = losses
        self.rows, self.batch, self.steps = sizes
        self.schedule = Schedule(
            kind=settings["schedule"],
            rate=settings["lr"],
            epochs=settings["epochs"],
            batches=self.steps,
            warmup_epochs=settings["warmup_epochs"],
            min_rate=settings["min_lr"],
        )
        a, b = device.banks
        inputs = device.resident | device.fixed
        # Step k reads bank k mod 2 and writes the other, over the whole training.
        self._bindings = ((inputs | a, b), (inputs | b, a))
        self._sums = [(b[LOSS + name], a[LOSS + name]) for name in losses]
        self._step = 0
        self._has_best = False
        self._evaluator: Evaluator | None = None

    @classmethod
    async def open(cls, model: NNModel, settings: Mapping[str, Any]) -> ResidentTraining:
        """Build the step graph, upload the data, allocate both banks."""
        binding = model.binding()
        rows = binding.dataset.size("training")
        batch = settings["batch_size"] or binding.dataset.batch_size
        steps = -(-rows // batch)
        inputs, targets = model.binding().arrays("training")
        losses = model.losses()
        optimizer = OPTIMIZERS[settings["optimizer"]]
        parameters = [vertex for vertex in model.network.parameters if vertex.trainable]
        step = training_step(
            model.network,
            {name: TensorType(array.dtype, array.shape) for name, array in targets.items()},
            StepSettings(
                batch=batch,
                rows=rows,
                steps=steps,
                sequence=model.sequence,
                losses=losses,
                optimizer=optimizer,
                weight_decay=settings["weight_decay"],
                numbers={name: settings[name] for name in optimizer.defaults},
                multipliers={v.name: 1.0 if v.lrm is None else v.lrm for v in parameters},
                decays={
                    v.name: (v.features[0].rank or 0) >= 2 if v.decay is None else v.decay
                    for v in parameters
                },
            ),
        )
        data = {INPUT + name: array for name, array in inputs.items()}
        data |= {TARGET + name: array for name, array in targets.items()}
        device = await cls._allocate(model, step, data)
        await cls._seed(model, settings, step, device)
        run = cls(model, settings, device, losses, (rows, batch, steps))
        counts = [float(min(batch, rows - start)) for start in range(0, rows, batch)]
        model.backend.write(device.resident[COUNTS], HostArray.of(counts, "float32"))
        return run

    @staticmethod
    async def _allocate(model: NNModel, step: StepGraph, data: Mapping[str, HostArray]) -> _Device:
        backend = model.backend
        own = {PARAMETER_PREFIX + name: tensor for name, tensor in model.parameters.tensors.items()}
        learning = [name for name in step.state if name in own]
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
            resident = {
                name: await tensor(type, data.get(name))
                for name, type in step.resident.items()
                if name not in own and name in executable.inputs
            }
            first = {n: own.get(n) or await tensor(type) for n, type in step.state.items()}
            second = {name: await tensor(type) for name, type in step.state.items()}
            best = {name: await tensor(step.state[name]) for name in learning}
            copier = await compiled(_copy_graph({n: step.state[n] for n in learning}))
        except BaseException:
            backend.release(*made)
            raise
        fixed = {n: t for n, t in own.items() if n not in step.state and n in executable.inputs}
        return _Device(executable, resident, (first, second), fixed, best, copier)

    @staticmethod
    async def _seed(
        model: NNModel, settings: Mapping[str, Any], step: StepGraph, device: _Device
    ) -> None:
        """Give the random generators of a step their first states (spec C.1, dropout)."""
        if not step.generators:
            return
        shapes = {name: type.shape for name, type in step.state.items()}
        seed = model.seed if settings["seed"] is None else settings["seed"]
        graph = generator_graph(step.generators, shapes)
        given = generator_bytes(seed, step.generators, shapes)
        await model.backend.fill(graph, given, device.banks[0])

    @property
    def current(self) -> Bank:
        """The bank that holds the latest parameters."""
        return self._device.banks[self._step % 2]

    def begin_epoch(self, epoch: int) -> None:
        """Write the tables of an epoch and reset its sums."""
        settings, resident = self._settings, self._device.resident
        dataset = self._model.binding().dataset
        seed = self._model.seed if settings["seed"] is None else settings["seed"]
        order = dataset.order("training", epoch, settings["shuffle"], seed)
        order += [0] * (self.steps * self.batch - self.rows)
        write = self._backend.write
        write(resident[ORDER], HostArray.of(order, "int32", (self.steps, self.batch)))
        first = (epoch - 1) * self.steps + 1
        rates = [self.schedule.at(first + k) for k in range(self.steps)]
        write(resident[RATES], HostArray.of(rates, "float32"))
        write(self.current[CURSOR], zeros("int32", []))
        for name in self._losses:
            write(self.current[LOSS + name], zeros("float32", []))

    async def chunk(self, count: int) -> dict[str, float]:
        """Run some steps in one crossing and return the loss sums of the epoch so far."""
        sums = await self._backend.run_steps(
            self._device.executable, self._bindings, self._step, count, self._sums
        )
        self._step += count
        self._model.step += count
        return {name: array.values()[0] for name, array in zip(self._losses, sums, strict=True)}

    @property
    def validates(self) -> bool:
        """Whether there is a validation subset, whose loss then decides on the best epoch."""
        return self._model.binding().dataset.size("validation") > 0

    async def validate(self) -> float | None:
        """Return the loss over the validation subset, None if there is none."""
        model = self._model
        if not self.validates:
            return None
        if self._evaluator is None:
            self._evaluator = await model.evaluator(self.batch)
        inputs, targets = model.binding().arrays("validation")
        found = await self._evaluator.run(inputs, targets, self._parameters(self.current))
        return math.fsum(found.losses.values())

    def keep_best(self) -> None:
        """Copy the latest parameters on the device to the best snapshot."""
        self._copy(self.current, self._device.best)
        self._has_best = True

    async def finish(self, *, restore: bool) -> None:
        """Hand the parameters back to the model and free everything else."""
        device = self._device
        if restore and self._has_best:
            self._copy(device.best, self.current)
        kept = {name: self.current[name] for name in device.best}
        self._model.parameters.replace(self._parameters(kept))
        alive = {tensor.handle for tensor in kept.values()}
        for bank in (*device.banks, device.resident, device.best):
            others = [tensor for tensor in bank.values() if tensor.handle not in alive]
            self._backend.release(*others)
        self._backend.release(device.executable, device.copier)
        if self._evaluator is not None:
            self._evaluator.close()
        await self._model.parameters.read_back()

    def _copy(self, source: Bank, target: Bank) -> None:
        names = self._device.best
        self._backend.dispatch(
            self._device.copier,
            {name: source[name] for name in names},
            {name: target[name] for name in names},
        )

    def _parameters(self, bank: Bank) -> Bank:
        """Return the parameter tensors of a bank by their names, and the frozen ones."""
        found = {
            name.removeprefix(PARAMETER_PREFIX): tensor
            for name, tensor in bank.items()
            if name.startswith(PARAMETER_PREFIX)
        }
        return {**self._model.parameters.tensors, **found}


def _copy_graph(types: Mapping[str, TensorType]) -> Graph:
    """Return the graph that copies tensors on the device."""
    b = GraphBuilder()
    return b.build({name: b.identity(b.input(name, *type)) for name, type in types.items()})
