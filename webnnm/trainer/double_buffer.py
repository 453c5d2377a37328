"""What a training holds on the device: its graphs, the data, and banks of its state (spec E.9)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from webnnm.backends.base import Backend, DeviceTensor, Executable
from webnnm.core.arrays import HostArray, zeros
from webnnm.core.shapes import count
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.lowering import PARAMETER_PREFIX
from webnnm.graph.node import Graph
from webnnm.ops.declare.tensors import TensorType
from webnnm.runtime.checkpoint import Checkpoint
from webnnm.trainer.feed import Rows
from webnnm.training.initialisation import generator_bytes, generator_graph
from webnnm.training.step import StepGraph

Bank = dict[str, DeviceTensor]

READ_BYTES = 1 << 24
"""Tensors are read together up to so many bytes."""


@dataclass(kw_only=True)
class Device:
    """Everything here is freed when the training ends, but the bank of the latest parameters.

    - `executable` runs a step; `resident` the data and tables, twice of a stream; `frozen` the
      parameters that no step changes: constants of the graph, or `fixed` inputs.
    - `own`: the parameters of the model by their names in steps; those that learn are part of the
      first bank.
    - `banks`: the state; each step reads one and writes the other.
    - `spares`: states of earlier steps, from which steps can be repeated; `saver` copies a state.
    - `best`: the parameters of the best epoch; `keeper` copies parameters.
    - `build_seconds`: what making the executable took; `others`: what was made later.
    - `recompute`: whether activations are computed again.
    """

    backend: Backend
    executable: Executable
    resident: list[Bank]
    own: Bank
    banks: tuple[Bank, Bank]
    frozen: Bank
    fixed: Bank
    spares: list[Bank]
    best: Bank
    keeper: Executable
    saver: Executable
    build_seconds: float
    recompute: bool = False
    others: list[DeviceTensor | Executable] = field(
        default_factory=list["DeviceTensor | Executable"]
    )

    def free(self, kept: Mapping[str, DeviceTensor]) -> None:
        """Free everything but some tensors."""
        alive = {tensor.handle for tensor in kept.values()}
        for bank in (*self.banks, *self.resident, *self.spares, self.best):
            self.backend.release(*(t for t in bank.values() if t.handle not in alive))
        self.backend.release(self.executable, self.keeper, self.saver, *self.others)


async def allocate(
    backend: Backend,
    parameters: Mapping[str, DeviceTensor],
    step: StepGraph,
    rows: Rows,
    *,
    recompute: bool = False,
) -> Device:
    """Build the step graph, upload the data, allocate the banks.

    `parameters` are the model's: they become part of the first bank. With `recompute` the step
    computes activations again rather than keep them.
    """
    own = {PARAMETER_PREFIX + name: tensor for name, tensor in parameters.items()}
    kept = [name for name in step.state if name in own]
    frozen = {n: t for n, t in own.items() if n not in step.state and n in step.graph.inputs}
    made: list[DeviceTensor | Executable] = []

    async def compiled(graph: Graph, **options: Any) -> Executable:
        executable = await backend.compile(graph, **options)
        made.append(executable)
        return executable

    async def filled(type: TensorType, values: HostArray) -> DeviceTensor:
        found = await backend.tensor(type, values)
        made.append(found)
        return found

    async def tensors(types: Mapping[str, TensorType]) -> Bank:
        found = await backend.tensors(types)
        made.extend(found.values())
        return found

    try:
        began = time.perf_counter()
        executable = await compiled(step.graph, constants=frozen, recompute=recompute)
        build_seconds = time.perf_counter() - began
        sets: list[Bank] = []
        for _ in range(2 if rows.streams else 1):
            taken = {n: t for n, t in step.resident.items() if n in executable.inputs.keys() - own}
            empty = {name: type for name, type in taken.items() if name not in rows.data}
            bank = await tensors(empty)
            for name, type in taken.items():
                if name not in empty:  # one by one: each is copied on its way
                    bank[name] = await filled(type, rows.data[name])
            sets.append(bank)
        states = step.state
        first = await tensors({name: type for name, type in states.items() if name not in own})
        first = {name: own.get(name) or first[name] for name in states}
        second = await tensors(states)
        # A second spare state is for a best epoch within a crossing.
        spares = [await tensors(states) for _ in range(2 if rows.epochs > 1 else 1)]
        best = await tensors({name: states[name] for name in kept})
        keeper = await compiled(_copy_graph({n: step.state[n] for n in kept}))
        saver = await compiled(_copy_graph(step.state))
    except BaseException:
        backend.release(*made)
        raise
    backend.claim("training data", *(tensor for bank in sets for tensor in bank.values()))
    state = [t for bank in (first, second, *spares, best) for t in bank.values()]
    backend.claim("training state", *(t for t in state if t not in own.values()))
    return Device(
        backend=backend,
        executable=executable,
        resident=sets,
        own=own,
        banks=(first, second),
        frozen=frozen,
        fixed={name: t for name, t in frozen.items() if name in executable.inputs},
        spares=spares,
        best=best,
        keeper=keeper,
        saver=saver,
        build_seconds=build_seconds,
        recompute=recompute,
    )


async def start(
    device: Device, step: StepGraph, seed: int, checkpoint: Checkpoint | None = None
) -> None:
    """Give the states of a step that do not begin with 0 their first values (spec C.1, dropout).

    With a checkpoint they are where it left them.
    """
    backend = device.backend
    if step.generators:
        shapes = {name: type.shape for name, type in step.state.items()}
        drawn = checkpoint.step if checkpoint else 0
        graph = generator_graph(step.generators, shapes, drawn)
        given = generator_bytes(seed, step.generators, shapes)
        await backend.fill(graph, given, device.banks[0])
    for name, value in step.starts.items():
        backend.write(device.banks[0][name], HostArray.of(value, "float32"))
    if checkpoint is not None:
        for name in step.carried:
            backend.write(device.banks[0][name], checkpoint.state[name])
        for name, array in checkpoint.best.items():
            backend.write(device.best[PARAMETER_PREFIX + name], array)


def beginning(step: StepGraph, parameters: Mapping[str, HostArray]) -> dict[str, HostArray]:
    """Return the states of a step before the first one, as a checkpoint has them."""
    found = {PARAMETER_PREFIX + name: array for name, array in parameters.items()}
    found |= {name: HostArray.of(value, "float32") for name, value in step.starts.items()}
    others = {name: zeros(*step.state[name]) for name in step.carried if name not in found}
    return {name: {**found, **others}[name] for name in step.carried}


async def read_bank(backend: Backend, bank: Bank) -> dict[str, HostArray]:
    """Return the values of tensors, of large ones one after the other."""
    found: dict[str, HostArray] = {}
    waiting: Bank = {}
    size = 0
    for name, tensor in bank.items():
        waiting[name] = tensor
        size += count(tensor.type.shape) * 4
        if size >= READ_BYTES or name == next(reversed(bank)):
            found |= zip(waiting, await backend.read(*waiting.values()), strict=True)
            waiting, size = {}, 0
    return found


def _copy_graph(types: Mapping[str, TensorType]) -> Graph:
    """Return the graph that copies tensors on the device."""
    b = GraphBuilder()
    return b.build({name: b.identity(b.input(name, *type)) for name, type in types.items()})
