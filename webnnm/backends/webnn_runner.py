"""Runs of one graph on the browser's WebNN: a call into the bridge, and a direct way back."""

from __future__ import annotations

from collections.abc import Sequence

from webnnm.backends.base import Backend, Binding, Executable, Runner, check_data
from webnnm.backends.binding_bytes import arrays_of, handles
from webnnm.backends.pyodide_host import Bridge
from webnnm.core.arrays import HostArray


class WebNNRunner(Runner):
    """Keeps the binding in the browser, with the buffers that data pass through."""

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
        self._types = [tensor.type for tensor in self._read]
        self._handle, self._buffers = bridge.runner(
            executable.handle.built.graph,
            *handles(executable, inputs, outputs),
            [tensor.handle for tensor in self._written],
            [tensor.handle for tensor in self._read],
        )

    async def run(self, data: Sequence[HostArray]) -> list[HostArray]:
        """Write, run and read in one round trip."""
        for tensor, array, buffer in zip(self._written, data, self._buffers, strict=True):
            check_data(tensor.type, array)
            buffer.assign(array.data)
        return arrays_of(await self._bridge.run(self._handle), self._types)

    def close(self) -> None:
        """Forget the binding."""
        self._bridge.release([self._handle])
