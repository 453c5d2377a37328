"""The device memory of a training: graphs, data, a double buffer of its state (spec E.9)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from webnnm.backends.base import Backend, DeviceTensor, Executable
from webnnm.core.arrays import HostArray, zeros
from webnnm.core.shapes import count
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.elaboration.lowering import PARAMETER_PREFIX
from webnnm.graph.node import Graph
from webnnm.ops.declare.tensors import TensorType
from webnnm.runtime.checkpoint import Checkpoint
from webnnm.trainer.feed import Arrays, Feed
from webnnm.training.initialisation import generator_bytes, generator_graph
from webnnm.training.step import StepGraph

Tensors = dict[str, DeviceTensor]

READ_BYTES = 1 << 24
"""Tensors are read together up to this many bytes."""


@dataclass(kw_only=True)
class DeviceState:
    """Everything on the device; freed when the training ends, except the latest parameters.

    - `executable` runs a step; `resident` has the data and tables, two sets for a stream; `frozen`
      the parameters that no step changes: constants of the graph, or `fixed` inputs.
    - `parameters`: the parameters of the model by their names in steps; trainable ones are part of
      the first buffer.
    - `buffers`: two copies of the state; each step reads one and writes the other.
    - `spares`: memory for copies of the state, from which steps can be repeated.
    - `best`: the parameters of the best epoch.
    - `copy_state` and `copy_parameters` copy on the device.
    - `build_seconds`: how long building the executable took; `more`: what was built later.
    - `recompute`: whether activations are recomputed.
    """

    backend: Backend
    executable: Executable
    resident: list[Tensors]
    parameters: Tensors
    buffers: tuple[Tensors, Tensors]
    frozen: Tensors
    fixed: Tensors
    spares: list[Tensors]
    best: Tensors
    copy_parameters: Executable
    copy_state: Executable
    build_seconds: float
    recompute: bool = False
    more: list[DeviceTensor | Executable] = field(default_factory=list["DeviceTensor | Executable"])

    def free(self, kept: Mapping[str, DeviceTensor]) -> None:
        """Free everything but some tensors."""
        alive = {tensor.handle for tensor in kept.values()}
        for tensors in (*self.buffers, *self.resident, *self.spares, self.best):
            self.backend.release(*(t for t in tensors.values() if t.handle not in alive))
        self.backend.release(self.executable, self.copy_parameters, self.copy_state, *self.more)


async def allocate(
    backend: Backend,
    parameters: Mapping[str, DeviceTensor],
    step: StepGraph,
    feed: Feed,
    *,
    recompute: bool = False,
) -> DeviceState:
    """Build the step graph, upload the data, and allocate both buffers of the state.

    `parameters` are the model's: they become part of the first buffer. With `recompute` the step
    recomputes activations instead of keeping them.
    """
    device = _Allocator(backend)
    try:
        return await _allocated(device, parameters, step, feed, recompute)
    except BaseException:
        backend.release(*device.made)
        raise


class _Allocator:
    """Makes graphs and tensors on a device, and keeps track of them."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.made: list[DeviceTensor | Executable] = []

    async def compile(self, graph: Graph, **options: Any) -> Executable:
        executable = await self.backend.compile(graph, **options)
        self.made.append(executable)
        return executable

    async def copies(self, types: Mapping[str, TensorType]) -> Executable:
        """Compile the graph that copies tensors."""
        b = GraphBuilder()
        inputs = {name: b.input(name, *type) for name, type in types.items()}
        return await self.compile(b.build({name: b.identity(x) for name, x in inputs.items()}))

    async def tensors(self, types: Mapping[str, TensorType]) -> Tensors:
        found = await self.backend.tensors(types)
        self.made.extend(found.values())
        return found

    async def filled(self, types: Mapping[str, TensorType], data: Arrays) -> Tensors:
        """Make tensors, filled with data if there are any."""
        found = await self.tensors({n: type for n, type in types.items() if n not in data})
        for name, type in types.items():
            if name in data:  # one by one: each is copied during the upload
                found[name] = await self.backend.tensor(type, data[name])
                self.made.append(found[name])
        return found


async def _allocated(
    device: _Allocator,
    parameters: Mapping[str, DeviceTensor],
    step: StepGraph,
    feed: Feed,
    recompute: bool,
) -> DeviceState:
    own = {PARAMETER_PREFIX + name: tensor for name, tensor in parameters.items()}
    frozen = {n: t for n, t in own.items() if n not in step.state and n in step.graph.inputs}
    began = time.perf_counter()
    executable = await device.compile(step.graph, constants=frozen, recompute=recompute)
    build_seconds = time.perf_counter() - began
    uploaded = {n: t for n, t in step.resident.items() if n in executable.inputs.keys() - own}
    resident = [await device.filled(uploaded, feed.data) for _ in range(2 if feed.streams else 1)]
    states = step.state
    first = await device.tensors({name: type for name, type in states.items() if name not in own})
    first = {name: own.get(name) or first[name] for name in states}
    second = await device.tensors(states)
    # A second spare state is for a best epoch that is not the last of its call.
    spares = [await device.tensors(states) for _ in range(2 if feed.epochs > 1 else 1)]
    learning = {name: type for name, type in states.items() if name in own}
    best = await device.tensors(learning)
    copy_parameters = await device.copies(learning)
    copy_state = await device.copies(states)
    device.backend.claim("training data", *(t for one in resident for t in one.values()))
    state = [t for tensors in (first, second, *spares, best) for t in tensors.values()]
    device.backend.claim("training state", *(t for t in state if t not in own.values()))
    return DeviceState(
        backend=device.backend,
        executable=executable,
        resident=resident,
        parameters=own,
        buffers=(first, second),
        frozen=frozen,
        fixed={name: t for name, t in frozen.items() if name in executable.inputs},
        spares=spares,
        best=best,
        copy_parameters=copy_parameters,
        copy_state=copy_state,
        build_seconds=build_seconds,
        recompute=recompute,
    )


async def initialise_state(
    device: DeviceState, step: StepGraph, seed: int, checkpoint: Checkpoint | None = None
) -> None:
    """Set the initial values of the states that do not start at 0 (spec C.1, dropout).

    With a checkpoint, they get its values.
    """
    backend = device.backend
    if step.generators:
        shapes = {name: type.shape for name, type in step.state.items()}
        drawn = checkpoint.step if checkpoint else 0
        graph = generator_graph(step.generators, shapes, drawn)
        given = generator_bytes(seed, step.generators, shapes)
        await backend.fill(graph, given, device.buffers[0])
    for name, value in step.initial_values.items():
        backend.write(device.buffers[0][name], HostArray.of(value, "float32"))
    if checkpoint is not None:
        for name in step.checkpointed:
            backend.write(device.buffers[0][name], checkpoint.state[name])
        for name, array in checkpoint.best.items():
            backend.write(device.best[PARAMETER_PREFIX + name], array)


def initial_state(step: StepGraph, parameters: Arrays) -> dict[str, HostArray]:
    """Return the state before the first step, in the form of a checkpoint."""
    found = {PARAMETER_PREFIX + name: array for name, array in parameters.items()}
    found |= {name: HostArray.of(value, "float32") for name, value in step.initial_values.items()}
    others = {name: zeros(*step.state[name]) for name in step.checkpointed if name not in found}
    return {name: {**found, **others}[name] for name in step.checkpointed}


async def read_tensors(backend: Backend, tensors: Tensors) -> dict[str, HostArray]:
    """Return the values of tensors, reading large ones one by one."""
    found: dict[str, HostArray] = {}
    waiting: Tensors = {}
    size = 0
    for name, tensor in tensors.items():
        waiting[name] = tensor
        size += count(tensor.type.shape) * 4
        if size >= READ_BYTES or name == next(reversed(tensors)):
            found |= zip(waiting, await backend.read(*waiting.values()), strict=True)
            waiting = {}
            size = 0
    return found
