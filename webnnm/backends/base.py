"""The interface of backends: devices that hold tensors and run compiled graphs.

All methods that may wait are coroutines, on every platform.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Container, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from webnnm.backends.budget import Budget
from webnnm.core.arrays import HostArray
from webnnm.core.errors import BackendError, DataError
from webnnm.graph.node import Graph, InputNode
from webnnm.graph.scan import Scan
from webnnm.ops.declare.tensors import TensorType


@dataclass(frozen=True, slots=True)
class MemoryUsage:
    """What a backend holds at the moment; leak tests compare two of these.

    >>> print(MemoryUsage(2, 3, 1500, {"parameters": 900, "training data": 500}))
    1,500 bytes: parameters 900, training data 500, 100 in 2 graphs and other of 3 tensors

    `bytes` counts tensors and the constants in graphs; `kinds` has the bytes of each purpose.
    """

    graphs: int
    tensors: int
    bytes: int
    kinds: Mapping[str, int] = field(default_factory=dict[str, int], compare=False)

    def __str__(self) -> str:
        kinds = "".join(f"{kind} {size:,}, " for kind, size in self.kinds.items())
        rest = f"{self.bytes - sum(self.kinds.values()):,} in {self.graphs} graphs and other"
        return f"{self.bytes:,} bytes: {kinds}{rest} of {self.tensors} tensors"


@dataclass(frozen=True, slots=True)
class DeviceTensor:
    """A tensor on a device; the hashable `handle` belongs to the backend that made it."""

    type: TensorType
    handle: Any = field(repr=False)


@dataclass(frozen=True, slots=True)
class Executable:
    """A compiled graph: its inputs and outputs, and the rewrites that made it fit the backend.

    `build_seconds` is the time that the device took to build it, 0 if it was built before; `unused`
    are inputs that were declared and that no output depends on, which `run` accepts and ignores.

    >>> import asyncio
    >>> from webnnm import GraphBuilder, backend
    >>> async def double(values):
    ...     b = GraphBuilder()
    ...     graph = b.build({"y": b.input("x", "float32", [3]) * 2})
    ...     runner = await (await backend("numpy")).compile(graph)
    ...     return (await runner.run({"x": values}))["y"].tolist()
    >>> asyncio.run(double([1, 2, 3]))
    [2.0, 4.0, 6.0]
    """

    backend: Backend = field(repr=False)
    inputs: Mapping[str, TensorType]
    outputs: Mapping[str, TensorType]
    handle: Any = field(repr=False)
    rewrites: tuple[str, ...] = ()
    build_seconds: float = 0.0
    unused: Mapping[str, TensorType] = field(default_factory=dict[str, TensorType])

    async def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Run once with host arrays in and out; device tensors live only for this call.

        Raises `DataError` NNM710 for wrong names, NNM702 for wrong sizes.
        """
        return {name: array.public() for name, array in (await self.run_host(inputs)).items()}

    async def run_host(self, inputs: Mapping[str, Any]) -> dict[str, HostArray]:
        """Run once as `run` does, and return host arrays."""
        names = inputs.keys() - self.unused.keys()
        if names != self.inputs.keys():
            wrong = sorted(names ^ self.inputs.keys())
            raise DataError("NNM710", f"inputs are {sorted(self.inputs)}; check {wrong}")
        types = {**self.unused, **self.inputs}
        data = {name: HostArray.of(value, *types[name]) for name, value in inputs.items()}
        tensors: dict[str, DeviceTensor] = {}
        results: dict[str, DeviceTensor] = {}
        try:
            for name, type in self.inputs.items():
                tensors[name] = await self.backend.tensor(type, data[name])
            for name, type in self.outputs.items():
                results[name] = await self.backend.tensor(type)
            self.backend.dispatch(self, tensors, results)
            arrays = await self.backend.read(*results.values())
        finally:
            self.backend.release(*tensors.values(), *results.values())
        return dict(zip(results, arrays, strict=True))


Binding = Mapping[str, DeviceTensor]
Constants = Mapping[str, DeviceTensor | HostArray]
"""Values that inputs of a graph are compiled with, by name: on the device, or on the host."""


class Runner:
    """A graph bound to tensors, which runs again and again with other data.

    `close` it before releasing its tensors and its graph, which it does not free;
    docs/backends.md has an example.
    """

    def __init__(
        self,
        backend: Backend,
        executable: Executable,
        inputs: Binding,
        outputs: Binding,
        input_names: Sequence[str],
        output_names: Sequence[str],
    ) -> None:
        check_binding(executable, inputs, outputs)
        self._backend = backend
        self._bound = executable, inputs, outputs
        self._input_tensors = [inputs[name] for name in input_names]
        self._output_tensors = [outputs[name] for name in output_names]

    async def run(self, data: Sequence[HostArray]) -> list[HostArray]:
        """Return the outputs for data, which are copied before anything is awaited.

        Start a run only after the previous one has ended.
        """
        return await self.begin(data)

    def begin(self, data: Sequence[HostArray]) -> Awaitable[list[HostArray]]:
        """Begin a run, and return an awaitable of its outputs."""
        for tensor, array in zip(self._input_tensors, data, strict=True):
            self._backend.write(tensor, array)
        self._backend.dispatch(*self._bound)
        return self._backend.read(*self._output_tensors)

    def close(self) -> None:
        """Free what the runner itself holds."""


DEVICES = ("npu", "gpu", "cpu")
"""The devices that can be requested from WebNN."""


class Backend(ABC):
    """A device that compiles graphs, stores tensors and runs graphs on them.

    Attributes: `name`, as "webnn" or "numpy"; `device`, a description of what it runs on;
    `accelerated`, whether WebNN says that it uses an accelerator, None where nobody says;
    `rewrites`, how compiled graphs were changed to run on this backend, and `faults`, the bugs of
    the backend that some of these avoid; `dispatch_seconds`, the overhead of a dispatch;
    `max_tensor_bytes`, the largest tensor, None for no limit; `budget`, how much work and data it
    is given at a time, to be set before models use it; `reason`, why "auto" chose it in
    place of WebNN, "" if it did not; `unpacks`, whether tensors hold packed weights as float32
    (True) or packed (False), None for what suits the device: it may be set before they are made;
    `float64`, whether it computes that type; `on_host`, whether NumPy computes, in the host's
    memory.
    """

    name: str
    reason: str = ""
    accelerated: bool | None = None
    dispatch_seconds: float = 0.0
    max_tensor_bytes: int | None = None
    budget = Budget()
    unpacks: bool | None = None
    float64 = False
    on_host = False

    def __init__(self) -> None:
        self.rewrites = []
        self.faults = ()
        self._owners: dict[Any, tuple[str, int]] = {}

    def claim(self, kind: str, *tensors: DeviceTensor) -> None:
        """Record the purpose of some tensors for `memory`: "parameters", "training data", …"""
        for tensor in tensors:
            self._owners[tensor.handle] = kind, tensor.type.nbytes

    def _kinds(self) -> dict[str, int]:
        """Return the bytes of each kind of tensors."""
        sizes: dict[str, int] = {}
        for kind, size in self._owners.values():
            sizes[kind] = sizes.get(kind, 0) + size
        return sizes

    device: str
    rewrites: list[str]
    faults: tuple[str, ...]

    @property
    def description(self) -> str:
        """A description of the backend for logs and tables."""
        return self.device

    @abstractmethod
    async def compile(
        self,
        graph: Graph | Scan,
        *,
        constants: Constants | None = None,
        recompute: bool = False,
    ) -> Executable:
        """Compile a graph, or a scan, which runs all of its iterations in one dispatch.

        The inputs in `constants` are compiled as constants with these arrays, or the current values
        of these tensors, which makes graphs faster; what is too large for that stays an input. With
        `recompute=True` values are recomputed rather than kept in memory, unless the backend
        optimises memory itself.

        Raises `BackendError` if the backend cannot run the graph.
        """

    def _has_packed(self, graph: Graph | Scan, constants: Constants | None) -> bool:
        """Return whether there may be weights in few bits, see `unpacking.compile_unpacked`."""
        return isinstance(graph, Graph) and (
            graph.uses({"dequantizeLinear"})
            or any(type_of(value).dtype != "float32" for value in (constants or {}).values())
        )

    @abstractmethod
    async def tensor(self, type: TensorType, data: HostArray | None = None) -> DeviceTensor:
        """Create a tensor, filled with zeros or with data."""

    async def tensors(
        self, types: Mapping[str, TensorType], data: Mapping[str, HostArray] | None = None
    ) -> dict[str, DeviceTensor]:
        """Create several tensors at once, filled with data or zeros; either all or none."""
        data = data or {}
        creations = [self.tensor(type, data.get(name)) for name, type in types.items()]
        making = [asyncio.ensure_future(creation) for creation in creations]
        try:
            if making:
                await asyncio.wait(making)
            return {name: task.result() for name, task in zip(types, making, strict=True)}
        except BaseException:
            # A cancelled `wait` leaves them running: await them, so that all can be freed.
            await asyncio.wait(making)
            ended = [task for task in making if not task.cancelled()]
            self.release(*(task.result() for task in ended if task.exception() is None))
            raise

    @abstractmethod
    def write(self, tensor: DeviceTensor, data: HostArray) -> None:
        """Queue a copy of host data to a tensor."""

    @abstractmethod
    async def read(self, *tensors: DeviceTensor) -> list[HostArray]:
        """Return copies of tensors once all queued work has finished."""

    def read_now(self, *tensors: DeviceTensor) -> list[HostArray]:
        """Return copies of tensors without `await`, see `wait`."""
        return self.wait(self.read(*tensors))

    @abstractmethod
    def dispatch(self, executable: Executable, inputs: Binding, outputs: Binding) -> None:
        """Queue a run of a graph; outputs must be different tensors from inputs."""

    def runner(
        self,
        executable: Executable,
        inputs: Binding,
        outputs: Binding,
        input_names: Sequence[str],
        output_names: Sequence[str],
    ) -> Runner:
        """Bind a graph to tensors for many runs.

        Each takes host data for the inputs `input_names`, and returns the outputs `output_names`.
        Here a run is `write`, `dispatch` and `read`; backends with a faster way override this.
        """
        return Runner(self, executable, inputs, outputs, input_names, output_names)

    async def fill(self, graph: Graph, data: Mapping[str, HostArray], outputs: Binding) -> None:
        """Compute the contents of device tensors once, from host data for the inputs of a graph."""
        executable = await self.compile(graph)
        inputs: dict[str, DeviceTensor] = {}
        try:
            for name, type in executable.inputs.items():
                inputs[name] = await self.tensor(type, data[name])
            self.dispatch(executable, inputs, outputs)
        finally:
            self.release(*inputs.values(), executable)

    async def compute_async(
        self,
        graph: Graph | Executable,
        inputs: Mapping[str, Any],
        outputs: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Run a graph once and return its outputs by name.

        >>> import asyncio
        >>> from webnnm import GraphBuilder, backend
        >>> async def double(values):
        ...     context = await backend("numpy")
        ...     b = GraphBuilder(context)
        ...     graph = await b.build_async({"y": b.input("x", "float32", [3]) * 2})
        ...     return (await context.compute_async(graph, {"x": values}))["y"].tolist()
        >>> asyncio.run(double([1, 2, 3]))
        [2.0, 4.0, 6.0]

        `outputs` can give writable buffers to copy the results to. A graph that is not compiled yet
        is compiled for this call only.
        """
        executable = await self.compile(graph) if isinstance(graph, Graph) else graph
        try:
            results = await executable.run_host(inputs)
        finally:
            if executable is not graph:
                self.release(executable)
        for name, buffer in (outputs or {}).items():
            if name not in results:
                raise DataError(
                    "NNM710", f'the graph has no output "{name}", only {sorted(results)}'
                )
            results[name].copy_to(buffer)
        return {name: array.public() for name, array in results.items()}

    def compute(
        self,
        graph: Graph | Executable,
        inputs: Mapping[str, Any],
        outputs: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Run a graph once without `await`, otherwise like `compute_async`.

        Raises `BackendError` NNM709 if the backend only works asynchronously; use `compute_async`
        then.
        """
        return self.wait(self.compute_async(graph, inputs, outputs))

    def can_wait(self) -> bool:
        """Return whether `wait` works here and now."""
        return True

    def wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Return the result of a coroutine of this backend without `await`.

        Raises `BackendError` NNM709 if the backend only works asynchronously.
        """
        return at_once(work, self.description)

    @abstractmethod
    async def run_steps(
        self,
        executable: Executable,
        buffers: tuple[tuple[Binding, Binding], tuple[Binding, Binding]],
        first: int,
        count: int,
        read: Sequence[tuple[DeviceTensor, DeviceTensor]] = (),
    ) -> list[HostArray]:
        """Run `count` steps of a training loop in one round trip to the device, then read tensors.

        Step k, starting from `first`, uses the inputs and outputs of entry k mod 2 of the double
        buffer. Each element of `read` is a pair of tensors, of which the one that the last step
        wrote is returned: `pair[k % 2]` for the last k. Results of earlier steps need not be kept.
        If the call is cancelled, it ends once no step is running; how many ran is unknown.
        """

    def agree_on(self, seconds: float) -> float:
        """Return a measured time on which all processes of a distributed program agree.

        Decisions that depend on timing have to be the same in all of them, since they wait for each
        other.
        """
        return seconds

    @abstractmethod
    def release(self, *things: DeviceTensor | Executable) -> None:
        """Free tensors and graphs immediately; releasing something twice is allowed."""

    @abstractmethod
    def memory(self) -> MemoryUsage:
        """Return what is currently allocated."""

    @abstractmethod
    def close(self) -> None:
        """Free everything; the backend cannot be used afterwards."""


def at_once(work: Coroutine[Any, Any, Any], who: str) -> Any:
    """Return the result of a coroutine that does not wait for anything."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    work.close()
    raise BackendError(
        "NNM709", f"{who} cannot compute synchronously", hint="use `await compute_async(…)`"
    )


def find_used_inputs(graph: Graph, fixed: Container[str]) -> dict[str, TensorType]:
    """Return the types of the inputs that are used and not fixed."""
    used = {node.name for node in graph.nodes() if isinstance(node, InputNode)}
    return {n: o.type for n, o in graph.inputs.items() if n in used and n not in fixed}


def find_unused_inputs(graph: Graph) -> dict[str, TensorType]:
    """Return the types of the declared inputs that no output depends on."""
    used = {node.name for node in graph.nodes() if isinstance(node, InputNode)}
    return {n: o.type for n, o in graph.inputs.items() if n not in used}


def type_of(value: DeviceTensor | HostArray) -> TensorType:
    """Return the type of values on a device or on the host."""
    return value.type if isinstance(value, DeviceTensor) else TensorType(value.dtype, value.shape)


def check_data(type: TensorType, data: HostArray) -> None:
    """Raise `BackendError` NNM709 if data have another type or shape than a tensor."""
    if (data.dtype, data.shape) != type:
        raise BackendError("NNM709", f"the tensor is {type}, but the data are {type_of(data)}")


def check_binding(executable: Executable, inputs: Binding, outputs: Binding) -> None:
    """Raise NNM709 if a binding does not fit the graph, or an output is bound to a tensor in use.

    Names that the graph does not have are ignored: inputs that no output needs are not in the plan.
    """
    taken = {tensor.handle for tensor in inputs.values()}
    if len({tensor.handle for tensor in outputs.values()} - taken) < len(outputs):
        raise BackendError("NNM709", "every output needs a tensor of its own")
    for what, types, binding in (
        ("input", executable.inputs, inputs),
        ("output", executable.outputs, outputs),
    ):
        for name, type in types.items():
            tensor = binding.get(name)
            if tensor is None:
                raise BackendError("NNM709", f'no tensor is bound to the {what} "{name}" ({type})')
            if tensor.type != type:
                raise BackendError(
                    "NNM709",
                    f'the {what} "{name}" is {type}, but the tensor bound to it is {tensor.type}',
                )
