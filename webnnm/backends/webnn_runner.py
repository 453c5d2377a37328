"""Runs of one graph on the browser's WebNN: a call into the bridge, and a direct callback."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from webnnm.backends.base import Backend, Binding, Executable, Runner, check_data
from webnnm.backends.binding_bytes import arrays_of, handles
from webnnm.backends.pyodide_host import Bridge
from webnnm.core.arrays import HostArray


class WebNNRunner(Runner):
    """Keeps the binding in the browser, with the buffers that transfer the data."""

    def __init__(
        self,
        backend: Backend,
        bridge: Bridge,
        executable: Executable,
        inputs: Binding,
        outputs: Binding,
        given: Sequence[str],
        wanted: Sequence[str],
    ) -> None:
        super().__init__(backend, executable, inputs, outputs, given, wanted)
        self._bridge = bridge
        self._handle, (*self._given, self._taken) = bridge.runner(
            executable.handle.built.graph,
            *handles(executable, inputs, outputs),
            [tensor.handle for tensor in self._written],
            [tensor.handle for tensor in self._read],
        )
        self._types = [tensor.type for tensor in self._written]
        self._results = [tensor.type for tensor in self._read]
        self._bytes = sum(type.nbytes for type in self._results)

    def begin(self, data: Sequence[HostArray]) -> Awaitable[list[HostArray]]:
        """Write, run and read in one round trip."""
        for type, array, buffer in zip(self._types, data, self._given, strict=True):
            check_data(type, array)
            buffer.assign(array.data)
        return self._bridge.run(self._handle, self._prepare_results)

    def _prepare_results(self) -> Callable[[], list[HostArray]]:
        """Allocate memory for results; return a function that copies those of a finished run."""
        memory = bytearray(self._bytes)
        results = arrays_of(memoryview(memory), self._results)

        def copy_results() -> list[HostArray]:
            self._taken.assign_to(memory)
            return results

        return copy_results

    def close(self) -> None:
        """Forget the binding."""
        self._bridge.release([self._handle])
