"""The device memory of a training, and the steps that run over it (spec E.9)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from webnnm.backends.base import Backend, DeviceTensor, Executable
from webnnm.core.arrays import HostArray
from webnnm.core.errors import ContextLost
from webnnm.core.shapes import count as number_of
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.elaboration.lowering import PARAMETER_PREFIX
from webnnm.graph.node import Graph
from webnnm.graph.scan import Scan
from webnnm.ops.declare.tensors import TensorType
from webnnm.runtime.checkpoint import Checkpoint
from webnnm.trainer.feed import Arrays, Feed
from webnnm.training.initialisation import build_generator_graph, draw_generator_bytes
from webnnm.training.step import StepGraph
from webnnm.training.step_settings import TOTALS

Tensors = dict[str, DeviceTensor]

READ_BYTES = 1 << 24
"""Tensors are read together until they have this many bytes."""


class DoubleBuffer:
    """Owns everything that a training has on the device: graphs, rows, and its state twice.

    A step reads the state (parameters, moments, random numbers, sums) from one half and writes it
    to the other, so that which half is the latest follows from the number of dispatches.

    - `state`: the half with the latest state; `step`: the number of steps run in the training.
    - `micro_steps`: how many of them one dispatch runs.
    - `in_flight`: steps were started and not finished; how many of them were run is not known.
    - `parameters`: the tensors of the model before the training, by their names in steps. The
      trainable ones become part of the first half; `frozen` ones, which no step changes, are
      constants of the graphs, or `fixed` inputs.
    - `spares`: memory for copies of the state; `best`: for the parameters of the best epoch.
    - `build_seconds`: how long building the graph of one step took.

    `unrolled_graph` makes the graph of several steps. With `recompute` steps recompute activations
    instead of keeping them. The memory exists between `open` and `close`.
    """

    def __init__(
        self,
        backend: Backend,
        parameters: Mapping[str, DeviceTensor],
        graph: StepGraph,
        unrolled_graph: Callable[[int], Scan],
        *,
        recompute: bool = False,
    ) -> None:
        self.backend = backend
        self.graph = graph
        self.parameters = {PARAMETER_PREFIX + name: t for name, t in parameters.items()}
        self.frozen = {
            name: tensor
            for name, tensor in self.parameters.items()
            if name not in graph.state and name in graph.graph.inputs
        }
        self.step = 0
        self.micro_steps = 1
        self.in_flight = False
        self._unrolled_graph = unrolled_graph
        self._unrolled: Executable | None = None
        self._recompute = recompute
        self._dispatches = 0
        self._block = 0
        self._owned: list[DeviceTensor | Executable] = []

    async def open(self, feed: Feed, seed: int, checkpoint: Checkpoint | None = None) -> None:
        """Build the graph of a step, upload the rows, and begin with the state of a checkpoint."""
        self.step = checkpoint.step if checkpoint else 0
        try:
            await self._allocate(feed)
            await self._initialise(seed, checkpoint)
        except BaseException:
            await self.close(self.parameters)
            raise

    async def _allocate(self, feed: Feed) -> None:
        start = time.perf_counter()
        self._single = await self.compile(self.graph.graph, recompute=self._recompute)
        self.build_seconds = time.perf_counter() - start
        inputs, states, parameters = self._single.inputs, self.graph.state, self.parameters
        self.fixed = {name: tensor for name, tensor in self.frozen.items() if name in inputs}
        uploaded = {
            n: t for n, t in self.graph.resident.items() if n in inputs and n not in parameters
        }
        # While a block of a stream is trained, the next one is uploaded.
        block_count = 2 if feed.streams else 1
        self._resident = [await self.tensors(uploaded, feed.data) for _ in range(block_count)]
        first = await self.tensors(
            {name: type for name, type in states.items() if name not in parameters}
        )
        first = {name: parameters.get(name) or first[name] for name in states}
        second = await self.tensors(states)
        self._halves = first, second
        # A second spare state is for a best epoch that is not the last of its call.
        self.spares = [await self.tensors(states) for _ in range(2 if feed.epochs > 1 else 1)]
        trainable = {name: type for name, type in states.items() if name in parameters}
        self.best = await self.tensors(trainable)
        self._copy_parameters = await self._compile_copy(trainable)
        self._copy_state = await self._compile_copy(states)
        self.backend.claim(
            "training data", *(t for block in self._resident for t in block.values())
        )
        copies = [t for half in (second, *self.spares, self.best) for t in half.values()]
        new_tensors = [tensor for name, tensor in first.items() if name not in parameters]
        self.backend.claim("training state", *new_tensors, *copies)

    async def _initialise(self, seed: int, checkpoint: Checkpoint | None) -> None:
        """Write what does not start at 0 (spec C.1, dropout), or the state of a checkpoint."""
        graph = self.graph
        if graph.generators:
            shapes = {name: type.shape for name, type in graph.state.items()}
            randoms = build_generator_graph(graph.generators, shapes, self.step)
            random_bytes = draw_generator_bytes(seed, graph.generators, shapes)
            await self.backend.fill(randoms, random_bytes, self.state)
        values = {name: HostArray.of(n, "float32") for name, n in graph.initial_values.items()}
        self.write(values)
        if checkpoint is not None:
            self.write({name: checkpoint.state[name] for name in graph.checkpointed})
            for name, array in checkpoint.best.items():
                self.backend.write(self.best[PARAMETER_PREFIX + name], array)

    async def compile(self, graph: Graph, *, recompute: bool = False) -> Executable:
        """Compile a graph of the training, with the frozen parameters as constants."""
        executable = await self.backend.compile(graph, constants=self.frozen, recompute=recompute)
        self._owned.append(executable)
        return executable

    async def _compile_copy(self, types: Mapping[str, TensorType]) -> Executable:
        b = GraphBuilder()
        inputs = {name: b.input(name, *type) for name, type in types.items()}
        copies = b.build({name: b.identity(x) for name, x in inputs.items()})
        executable = await self.backend.compile(copies)
        self._owned.append(executable)
        return executable

    async def tensors(self, types: Mapping[str, TensorType], data: Arrays | None = None) -> Tensors:
        """Make tensors, filled with data if there are any."""
        data = data or {}
        tensors = await self.backend.tensors({n: t for n, t in types.items() if n not in data})
        self._owned += tensors.values()
        for name, type in types.items():
            if name in data:  # one by one: each is copied during the upload
                tensors[name] = await self.backend.tensor(type, data[name])
                self._owned.append(tensors[name])
        return tensors

    @property
    def state(self) -> Tensors:
        """The half that holds the latest state."""
        return self._halves[self._dispatches % 2]

    async def unroll(self, micro_steps: int) -> None:
        """Let every dispatch run this many steps."""
        if self._unrolled is not None:
            self.backend.release(self._unrolled)
            self._unrolled, self.micro_steps = None, 1
        if micro_steps > 1:
            self._unrolled = await self.backend.compile(
                self._unrolled_graph(micro_steps), constants=self.frozen, recompute=self._recompute
            )
        self.micro_steps = micro_steps

    def unroll_costs(self) -> dict[str, float]:
        """Return the seconds that the tuner compares: of a dispatch, and of building graphs."""
        return {
            "dispatch": self.backend.dispatch_seconds,
            "device_build": self._single.build_seconds,
            "build": self.build_seconds,
        }

    async def run(self, count: int) -> HostArray:
        """Run steps, `micro_steps` per dispatch, and return the totals."""
        dispatches, rest = divmod(count, self.micro_steps)
        totals: list[HostArray] = []
        self.in_flight = True
        if dispatches:
            executable = self._unrolled or self._single
            totals = await self._run(executable, dispatches, self.micro_steps)
        if rest:
            totals = await self._run(self._single, rest, 1)
        self.in_flight = False
        return totals[0]

    async def _run(self, executable: Executable, dispatches: int, steps: int) -> list[HostArray]:
        """Run dispatches of some steps each in one call of the device."""
        a, b = self._halves
        try:
            totals = await self.backend.run_steps(
                executable, self._bindings(), self._dispatches, dispatches, [(b[TOTALS], a[TOTALS])]
            )
        except ContextLost as lost:
            if lost.step is None:
                raise
            last_good_step = self.step + (lost.step - self._dispatches + 1) * steps - 1
            raise ContextLost(
                f"after step {last_good_step}: {lost.message}", step=last_good_step
            ) from lost
        self._dispatches += dispatches
        self.step += dispatches * steps
        return totals

    def _bindings(self) -> tuple[tuple[Tensors, Tensors], tuple[Tensors, Tensors]]:
        """Return the inputs and outputs of even dispatches, and those of odd ones."""
        a, b = self._halves
        inputs = self._resident[self._block] | self.fixed
        return (inputs | a, b), (inputs | b, a)

    def dispatch(self, executable: Executable, outputs: Tensors) -> None:
        """Queue one step of another graph, which also writes `outputs`; `advance` accepts it."""
        inputs, half = self._bindings()[self._dispatches % 2]
        self.backend.dispatch(executable, inputs, {**half, **outputs})

    def advance(self) -> None:
        """Make the half that a dispatched step wrote the latest."""
        self._dispatches += 1
        self.step += 1

    def next_block(self) -> None:
        """Let uploads and steps use the next set of rows and tables."""
        self._block = (self._block + 1) % len(self._resident)

    def upload(self, arrays: Arrays) -> None:
        """Upload those of these rows and tables that the steps read."""
        resident = self._resident[self._block]
        for name, values in arrays.items():
            if name in resident:  # a graph has only the tables that it reads
                self.backend.write(resident[name], values)

    def write(self, values: Arrays) -> None:
        """Change parts of the state."""
        for name, array in values.items():
            self.backend.write(self.state[name], array)

    async def read(self, tensors: Mapping[str, DeviceTensor]) -> dict[str, HostArray]:
        """Return the values of tensors, read in several batches if they are large."""
        arrays: dict[str, HostArray] = {}
        batch: Tensors = {}
        size = 0
        for number, (name, tensor) in enumerate(tensors.items(), 1):
            batch[name] = tensor
            size += number_of(tensor.type.shape) * 4
            if size >= READ_BYTES or number == len(tensors):
                arrays |= zip(batch, await self.backend.read(*batch.values()), strict=True)
                batch = {}
                size = 0
        return arrays

    def snapshot(self, into: Tensors) -> None:
        """Copy the state into a spare one, or its parameters into `best`, on the device."""
        state = self.state
        self.backend.dispatch(self._copy_graph(into), state, into)
        # Steps continue with the copies, and the originals are kept. If both the copying and the
        # next step read the originals, Chromium would let the step after that overwrite them as
        # soon as one of the two has ended.
        for name, copied in into.items():
            state[name], into[name] = copied, state[name]

    def restore(self, copy: Tensors, step: int) -> None:
        """Go back to a copy of the state of a step, or take over the parameters in `best`."""
        state = self.state
        if copy is not state:
            self.backend.dispatch(self._copy_graph(copy), copy, state)
        self.step = step
        self.in_flight = False

    def _copy_graph(self, copy: Tensors) -> Executable:
        return self._copy_parameters if copy is self.best else self._copy_state

    async def close(self, kept: Mapping[str, DeviceTensor]) -> None:
        """Free everything but some tensors, the parameters that the model gets."""
        await self.unroll(1)
        kept_handles = {tensor.handle for tensor in kept.values()}
        trained = [t for name, t in self.parameters.items() if name in self.graph.state]
        self.backend.release(
            *(
                owned
                for owned in (*self._owned, *trained)
                if isinstance(owned, Executable) or owned.handle not in kept_handles
            )
        )
