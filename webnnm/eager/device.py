"""A device of arrays: computes them in the order in which work is submitted."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from webnnm.backends.base import Backend, Executable, at_once
from webnnm.backends.pyodide_host import can_wait, in_browser, wait
from webnnm.backends.selection import backend as open_backend
from webnnm.core.arrays import HostArray
from webnnm.core.errors import BackendError
from webnnm.core.lru_cache import LruCache
from webnnm.eager.small import HOST_ELEMENTS, HostProgram, numpy_is_loaded
from webnnm.eager.storage import Storage, TensorPool, size_of
from webnnm.graph.node import Graph
from webnnm.ops.declare.tensors import TensorType

MAX_CONSTANTS = 32
"""How many vectors of Python numbers stay on a device, the most recently used ones."""
MAX_DISPATCHES_AHEAD = 64
"""Dispatches after which the host waits for the device, whose queue has no limit."""
MAX_PROGRAMS = 256
"""How many compiled graphs a device keeps, the most recently used ones."""


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of arrays on a device: `bytes` of `arrays`, `spare` bytes kept for the next ones,
    and the number of compiled `graphs`."""

    bytes: int
    arrays: int
    spare: int
    graphs: int


class Work(ABC):
    """Work for a device: it reads storages and fills others."""

    inputs: Sequence[Storage]
    outputs: Sequence[Storage]
    donated: Sequence[Storage] = ()

    @abstractmethod
    def program(self, device: Device) -> Program | None:
        """Return the program that computes it if that is compiled already."""

    @abstractmethod
    async def compile(self, device: Device) -> Program:
        """Compile the program that computes it."""

    def try_on_host(self, device: Device) -> bool:
        """Compute it now if it is small and its values are on the host; return whether it did."""
        return False

    def fail(self, error: BaseException) -> None:
        """Raise the error for everyone who requests the results."""
        for storage in self.outputs:
            storage.failure = error


@dataclass(frozen=True, eq=False, slots=True)
class Program:
    """A compiled graph, and its names for the inputs (None: not needed) and outputs of work."""

    executable: Executable
    inputs: Sequence[str | None]
    outputs: Sequence[str]

    def select_inputs(self, work: Work) -> list[Storage]:
        """Return which of the inputs of work are read."""
        return [storage for name, storage in zip(self.inputs, work.inputs, strict=True) if name]


async def _open_default() -> Backend:
    """Open the backend of arrays: on desktops NumPy, which computes a new graph at once."""
    return await open_backend("auto" if in_browser() else "numpy")


class Device:
    """Where arrays live: a backend, its tensors, and the work that waits for it.

    >>> from webnnm import xp
    >>> xp.ones(3).device
    Device(numpy)

    Work is dispatched in the order in which it was submitted: immediately if everything that it
    needs is there, otherwise when somebody waits for the results. Small work whose values are on
    the host is done there, by NumPy if it is loaded; see small.py.
    """

    def __init__(
        self,
        opening: Callable[[], Awaitable[Backend]] = _open_default,
        *,
        host_elements: int = HOST_ELEMENTS,
    ) -> None:
        self._opening = opening
        self.host_elements = host_elements
        self.host_programs: dict[Any, HostProgram | None] = {}
        """Small graphs that were computed on the host; None for those that are not small."""
        self._pool: TensorPool | None = None
        self._waiting: deque[Work] = deque()
        self._draining: asyncio.Lock | None = None
        self.pending: Any = None
        """The operations on its arrays that are not computed yet, see scopes.py."""
        self._ahead = 0
        self.programs = LruCache[Any, Program](MAX_PROGRAMS, self._release)
        """Compiled programs, for work of the same structure."""
        self._constants = LruCache[Any, Storage](MAX_CONSTANTS)
        self.dispatches = 0
        self.builds = 0

    @classmethod
    def of(cls, backend: Backend, *, host_elements: int = HOST_ELEMENTS) -> Device:
        """Return the device of a backend that is open."""
        device = cls(host_elements=host_elements)
        device._pool = TensorPool(backend)
        return device

    def __repr__(self) -> str:
        return f"Device({self._pool.backend.name if self._pool else 'not open yet'})"

    @property
    def backend(self) -> Backend | None:
        """The backend, or None before the first value is needed."""
        return None if self._pool is None else self._pool.backend

    def reads_at_once(self) -> bool:
        """Return whether NumPy computes, so that reading a value costs no round trip to a device.

        Outside of pages this opens the device.
        """
        if self._pool is None and not in_browser():
            self.wait(self.open())
        return self._pool is not None and self._pool.backend.on_host

    def memory(self) -> Memory:
        """Return the memory that arrays currently hold."""
        if self._pool is None:
            return Memory(0, 0, 0, 0)
        if self.pending is not None:
            self.pending.drop_unneeded()
        pool, numbers = (
            self._pool,
            [storage for storage in self._constants.values() if storage.tensor],
        )
        used = pool.used_bytes - sum(size_of(storage.type) for storage in numbers)
        arrays = pool.used - len(numbers)
        return Memory(used, arrays, pool.spare_bytes, len(self.programs))

    async def open(self) -> TensorPool:
        """Open the backend, unless it is open."""
        if self._pool is None:
            self._pool = TensorPool(await self._opening())
        return self._pool

    def submit(self, work: Work) -> None:
        """Compute something as soon as possible."""
        if self._asks_host and work.try_on_host(self):
            return
        self._waiting.append(work)
        if self._draining is not None and self._draining.locked():
            return
        while self._waiting and self._try_dispatch(self._waiting[0]):
            self._waiting.popleft()
        if not self.can_wait():
            return
        if self._waiting:
            self.wait(self.drain())
        if self._ahead >= MAX_DISPATCHES_AHEAD and work.outputs and not work.outputs[0].error:
            self.read_now(min(work.outputs, key=_bytes))

    @property
    def _asks_host(self) -> bool:
        """Whether small work is done on the host: not if NumPy computes anyway."""
        if self._pool is None or not self.host_elements:
            return False
        return not self._pool.backend.on_host and numpy_is_loaded()

    def can_wait(self) -> bool:
        """Return whether Python can be suspended until the device is done."""
        if self._pool is not None:
            return self._pool.backend.can_wait()
        return not in_browser() or can_wait()

    def wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Return the result of work of this device without `await`."""
        if self._pool is not None:
            return self._pool.backend.wait(work)
        return wait(work) if in_browser() else at_once(work, "the backend")

    async def drain(self) -> None:
        """Dispatch everything that was submitted."""
        if self._draining is None:
            self._draining = asyncio.Lock()
        async with self._draining:
            while self._waiting:
                work = self._waiting[0]
                try:
                    await self._prepare(work)  # if that is cancelled, the next one continues
                except Exception as error:
                    work.fail(error)
                self._waiting.popleft()

    def read_now(self, storage: Storage) -> HostArray:
        """Return a copy of values without `await`."""
        self._ahead = 0
        if self._waiting or storage.tensor is None or self._pool is None:
            return self.wait(self.read(storage))[0]
        return self._pool.backend.read_now(storage.tensor)[0]

    async def read(self, *storages: Storage) -> list[HostArray]:
        """Return copies of values, once they are computed."""
        on_host = [storage.host for storage in storages if storage.host is not None]
        if len(on_host) == len(storages):
            return on_host
        await self.drain()
        self._ahead = 0
        for storage in storages:
            if storage.error is not None:
                raise storage.error
        missing = [
            storage.tensor for storage in storages if storage.host is None and storage.tensor
        ]
        values = iter(await self._pool.backend.read(*missing) if self._pool and missing else ())
        return [next(values) if storage.host is None else storage.host for storage in storages]

    def _try_dispatch(self, work: Work) -> bool:
        """Dispatch work if nothing has to be waited for; return whether it was dispatched."""
        pool, program = self._pool, work.program(self)
        if pool is None or program is None:
            return False
        inputs = program.select_inputs(work)
        if any(
            storage.error or (storage.tensor is None and storage.host is None) for storage in inputs
        ):
            return False
        fresh = [storage for storage in inputs if storage.tensor is None]
        if not pool.has([storage.type for storage in (*fresh, *work.outputs)]):
            return False
        for storage in (*fresh, *work.outputs):
            storage.place(pool.take(storage.type), pool)
        self._dispatch(pool, program, work)
        return True

    async def _prepare(self, work: Work) -> None:
        """Compile, upload and allocate what is missing, and dispatch work."""
        pool = await self.open()
        program = work.program(self) or await work.compile(self)
        inputs = program.select_inputs(work)
        failed = next((storage.error for storage in inputs if storage.error is not None), None)
        if failed is not None:
            return work.fail(failed)
        for storage in inputs:
            if storage.tensor is None:
                storage.place(await pool.tensor(storage.type), pool)
        for storage in work.outputs:
            if storage.tensor is None:
                storage.place(await pool.tensor(storage.type), pool)
        self._dispatch(pool, program, work)

    def _dispatch(self, pool: TensorPool, program: Program, work: Work) -> None:
        inputs = {n: s.tensor for n, s in zip(program.inputs, work.inputs, strict=True) if n}
        outputs = {n: s.tensor for n, s in zip(program.outputs, work.outputs, strict=True)}
        # Each of them has a tensor by now.
        pool.backend.dispatch(
            program.executable,
            inputs,  # pyrefly: ignore[bad-argument-type]
            outputs,  # pyrefly: ignore[bad-argument-type]
        )
        self.dispatches += 1
        self._ahead += 1
        for storage in program.select_inputs(work):
            storage.readers += 1
        for storage in work.donated:
            storage.donate()

    async def compile(self, graph: Graph) -> Executable:
        """Compile a graph.

        Raises `BackendError` NNM505 if the device lacks a data type or an operator.
        """
        pool = await self.open()
        types = (type for node in graph.nodes() for type in node.types)
        if not pool.backend.float64 and any(type.dtype == "float64" for type in types):
            raise BackendError(
                "NNM505",
                f"{pool.backend.description} does not compute float64",
                hint='use float32, or a device that does: `await xp.open_device("numpy")`',
            )
        self.builds += 1
        return await pool.backend.compile(graph)

    def constant(self, array: HostArray) -> Storage:
        """Return the storage of some numbers, which are cached on the device."""
        key = array.dtype, bytes(array.data)
        storage = self._constants.get(key)
        if storage is None:
            storage = Storage(TensorType(array.dtype, array.shape), array)
            self._constants[key] = storage
        return storage

    def _release(self, program: Program) -> None:
        if self._pool is not None:
            self._pool.backend.release(program.executable)

    @staticmethod
    def default() -> Device:
        """Return the device on which arrays are created by default."""
        if not _DEFAULT:
            _DEFAULT.append(Device())
        return _DEFAULT[0]

    def make_default(self) -> None:
        """Make this the device of new arrays."""
        _DEFAULT[:] = [self]

    def close(self) -> None:
        """Release everything; arrays of the device cannot be read afterwards."""
        if self._pool is not None:
            self._pool.backend.close()


def _bytes(storage: Storage) -> int:
    return size_of(storage.type)


_DEFAULT: list[Device] = []
