"""Repeated runs of one graph on the browser's WebNN, with a single call of the bridge each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from webnnm.backends.base import Backend, Binding, Executable, Runner, check_data
from webnnm.backends.binding_bytes import arrays_of, get_binding_handles
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
        input_names: Sequence[str],
        output_names: Sequence[str],
    ) -> None:
        super().__init__(backend, executable, inputs, outputs, input_names, output_names)
        self._bridge = bridge
        self._handle, (*self._input_buffers, self._output_buffer) = bridge.runner(
            executable.handle.built.graph,
            *get_binding_handles(executable, inputs, outputs),
            [tensor.handle for tensor in self._input_tensors],
            [tensor.handle for tensor in self._output_tensors],
        )
        self._input_types = [tensor.type for tensor in self._input_tensors]
        self._output_types = [tensor.type for tensor in self._output_tensors]
        self._output_size = sum(type.nbytes for type in self._output_types)

    def begin(self, data: Sequence[HostArray]) -> Awaitable[list[HostArray]]:
        """Write, run and read in one round trip."""
        for type, array, buffer in zip(self._input_types, data, self._input_buffers, strict=True):
            check_data(type, array)
            buffer.assign(array.data)
        return self._bridge.run(self._handle, self._make_result_copier)

    def _make_result_copier(self) -> Callable[[], list[HostArray]]:
        """Allocate memory for results; return a function that copies those of a finished run."""
        memory = bytearray(self._output_size)
        results = arrays_of(memoryview(memory), self._output_types)

        def copy_results() -> list[HostArray]:
            self._output_buffer.assign_to(memory)
            return results

        return copy_results

    def close(self) -> None:
        """Forget the binding."""
        self._bridge.release([self._handle])
