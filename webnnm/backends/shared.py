"""A model's view of a backend that it did not open: closing it frees what the model holds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from webnnm.backends.base import (
    Backend,
    Binding,
    Constants,
    DeviceTensor,
    Executable,
    MemoryUsage,
    Runner,
)
from webnnm.core.arrays import HostArray
from webnnm.core.errors import BackendError, DataError
from webnnm.graph.node import Graph
from webnnm.graph.scan import Scan
from webnnm.ops.declare.tensors import TensorType


def share_backend(backend: Backend, **settings: str | bool | None) -> SharedBackend:
    """Return the view of a backend for a model.

    `settings` are those for opening a backend. Raises `DataError` NNM703 if one is not None.
    """
    for name, value in settings.items():
        if value is not None:
            raise DataError(
                "NNM703",
                f'"{name}" selects a backend to open, but "backend" is already open',
                hint=f'leave "{name}" out, or pass the name of a backend',
            )
    return SharedBackend(backend)


class SharedBackend(Backend):
    """Passes everything on to a backend, and tracks what was made through it.

    >>> import asyncio
    >>> from webnnm import backend
    >>> async def tensors():
    ...     numpy = await backend("numpy")
    ...     first, second = SharedBackend(numpy), SharedBackend(numpy)
    ...     for user in (first, second):
    ...         _ = await user.tensor(TensorType("float32", (2,)))
    ...     first.close()
    ...     return first.memory().tensors, second.memory().tensors, numpy.memory().tensors
    >>> asyncio.run(tensors())
    (0, 1, 1)
    """

    def __init__(self, backend: Backend) -> None:
        super().__init__()
        self.given = backend
        self.name, self.device, self.reason = backend.name, backend.device, backend.reason
        self.accelerated = backend.accelerated
        self.rewrites, self.faults = backend.rewrites, backend.faults
        self.dispatch_seconds = backend.dispatch_seconds
        self.max_tensor_bytes, self.unpacks = backend.max_tensor_bytes, backend.unpacks
        self.budget = backend.budget
        self.float64, self.on_host = backend.float64, backend.on_host
        self._tensors: dict[Any, DeviceTensor] = {}
        self._graphs: dict[Any, Executable] = {}
        self._closed = False

    @property
    def description(self) -> str:
        """A description of the backend for logs and tables."""
        return self.given.description

    def claim(self, kind: str, *tensors: DeviceTensor) -> None:
        """Record the purpose of tensors, here and in the shared backend."""
        super().claim(kind, *tensors)
        self.given.claim(kind, *tensors)

    async def compile(
        self,
        graph: Graph | Scan,
        *,
        constants: Constants | None = None,
        recompute: bool = False,
    ) -> Executable:
        """Compile a graph on the backend."""
        self._check_open()
        executable = await self.given.compile(graph, constants=constants, recompute=recompute)
        self._graphs[executable.handle] = executable
        self._check_kept()
        return executable

    async def tensor(self, type: TensorType, data: HostArray | None = None) -> DeviceTensor:
        """Return a new tensor of the backend."""
        self._check_open()
        tensor = await self.given.tensor(type, data)
        self._tensors[tensor.handle] = tensor
        self._check_kept()
        return tensor

    def write(self, tensor: DeviceTensor, data: HostArray) -> None:
        """Queue a copy of host data to a tensor."""
        self._check_open()
        self.given.write(tensor, data)

    async def read(self, *tensors: DeviceTensor) -> list[HostArray]:
        """Return copies of tensors."""
        self._check_open()
        return await self.given.read(*tensors)

    def dispatch(self, executable: Executable, inputs: Binding, outputs: Binding) -> None:
        """Queue one run."""
        self._check_open()
        self.given.dispatch(executable, inputs, outputs)

    def runner(
        self,
        executable: Executable,
        inputs: Binding,
        outputs: Binding,
        input_names: Sequence[str],
        output_names: Sequence[str],
    ) -> Runner:
        """Bind a graph for many runs, each in as few host round trips as the backend allows."""
        self._check_open()
        runner = self.given.runner(executable, inputs, outputs, input_names, output_names)
        return _SharedRunner(runner, self._check_open)

    async def run_steps(
        self,
        executable: Executable,
        buffers: tuple[tuple[Binding, Binding], tuple[Binding, Binding]],
        first: int,
        count: int,
        read: Sequence[tuple[DeviceTensor, DeviceTensor]] = (),
    ) -> list[HostArray]:
        """Run steps, then read."""
        self._check_open()
        return await self.given.run_steps(executable, buffers, first, count, read)

    def agree_on(self, seconds: float) -> float:
        """Return a measured time on which all processes agree."""
        return self.given.agree_on(seconds)

    def release(self, *things: DeviceTensor | Executable) -> None:
        """Free tensors and graphs immediately."""
        for thing in things:
            if isinstance(thing, Executable):
                self._graphs.pop(thing.handle, None)
            else:
                self._tensors.pop(thing.handle, None)
                self._owners.pop(thing.handle, None)
        self.given.release(*things)

    def memory(self) -> MemoryUsage:
        """Return what was made here and is still held; constants in graphs are not counted."""
        types = [tensor.type for tensor in self._tensors.values()]
        size = sum(type.nbytes for type in types)
        return MemoryUsage(len(self._graphs), len(self._tensors), size, self._kinds())

    def close(self) -> None:
        """Free what was made here and refuse further work; the backend itself stays open."""
        self.release(*self._tensors.values(), *self._graphs.values())
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise BackendError("NNM709", "the model was closed")

    def _check_kept(self) -> None:
        """Free what was completed only after this was closed."""
        if self._closed:
            self.close()
            self._check_open()


class _SharedRunner(Runner):
    """A runner of the backend, usable while the model is open."""

    def __init__(self, runner: Runner, check_open: Callable[[], None]) -> None:
        self._runner = runner
        self._check_open = check_open
        self.close = runner.close

    def begin(self, data: Sequence[HostArray]) -> Awaitable[list[HostArray]]:
        """Begin a run. Raises `BackendError` NNM709 if the model was closed."""
        self._check_open()
        return self._runner.begin(data)
