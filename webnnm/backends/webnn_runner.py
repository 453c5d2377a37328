"""Repeated runs of one graph on the browser's WebNN, with a single call of the bridge each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from webnnm.backends.base import Backend, Binding, Executable, Runner, check_data
from webnnm.backends.binding_bytes import arrays_of, get_binding_handles
from webnnm.backends.pyodide_host import Bridge
from webnnm.core.arrays import HostArray
from webnnm.core.page_arrays import TYPED_ARRAYS, PageArray


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
        self._has_results = all(type.dtype in TYPED_ARRAYS.values() for type in self._output_types)

    def begin(self, data: Sequence[HostArray]) -> Awaitable[list[HostArray]]:
        """Write, run and read in one round trip.

        For arrays of the page the results are such arrays, too: nothing is copied to Python.
        """
        of_page = False
        for type, array, buffer in zip(self._input_types, data, self._input_buffers, strict=True):
            check_data(type, array)
            if self._has_results and isinstance(array, PageArray):
                of_page = True
            else:
                buffer.assign(array.data)
        if of_page:
            sources = [getattr(array, "js", None) for array in data]
            return self._bridge.run(self._handle, lambda: self._take_results, sources)
        return self._bridge.run(self._handle, self._make_result_copier)

    def _take_results(self) -> list[HostArray]:
        """Return the results of a finished run as arrays of the page."""
        results = zip(self._output_types, self._bridge.module.results(self._handle), strict=True)
        return [PageArray(*type, array) for type, array in results]

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
