"""The ONNX Runtime backend of pages: graphs are exported as ONNX and run by ONNX Runtime Web."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from webnnm.backends import pyodide_host
from webnnm.backends.base import (
    Backend,
    Binding,
    Constants,
    DeviceTensor,
    Executable,
    Runner,
    find_unused_inputs,
)
from webnnm.backends.onnxruntime_faults import without_faults
from webnnm.backends.pyodide_host import Bridge, Names
from webnnm.backends.unpacking import compile_unpacked
from webnnm.backends.webnn import BuiltGraph, GraphReference, WebNNBackend
from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import DataType
from webnnm.core.errors import BackendError, suggestion
from webnnm.core.plugins import plugin
from webnnm.core.waiting import to_the_end
from webnnm.graph.node import Graph, InputNode
from webnnm.graph.scan import Scan
from webnnm.ops.declare.tensors import TensorType

PROVIDERS = {"wasm": "WebAssembly", "webgpu": "WebGPU"}
"""Where ONNX Runtime Web runs, by its own names."""
NIBBLES: frozenset[DataType] = frozenset({"int4", "uint4"})
"""Types that version 1.30 computes wrongly: a cast to them loses all but the first elements."""
FOLDER = "onnxruntime"
"""The folder of ONNX Runtime Web in pages, next to that of Pyodide."""


@dataclass(eq=False, slots=True)
class _Model(BuiltGraph):
    """A graph, and the names of its outputs in the ONNX model."""

    outputs: Mapping[str, str] = field(default_factory=dict[str, str])


class OnnxRuntimeWebBackend(WebNNBackend):
    """Runs graphs with ONNX Runtime Web, through the same bridge as WebNN.

    The bridge handles tensors, steps, memory and the loss of a device. A page needs no headers
    for it, and fetches 14 MB, or 27 MB for WebGPU, on the first visit.
    """

    name = "onnxruntime"

    def __init__(self, bridge: Bridge, context: int, provider: str) -> None:
        super().__init__(bridge, context, provider)
        self.device, self.faults = PROVIDERS[provider], ()
        self._compiled = 0

    @classmethod
    async def load(
        cls, provider: str = "wasm", log: Callable[[str], None] | None = None
    ) -> OnnxRuntimeWebBackend:
        """Load ONNX Runtime Web, and check that it works.

        Raises `BackendError` NNM709 for a provider other than "wasm" and "webgpu", outside a
        browser, and if the page lacks the files or the browser lacks the provider.
        """
        if provider not in PROVIDERS:
            hint = suggestion(provider, PROVIDERS) or f"one of {', '.join(PROVIDERS)}"
            raise BackendError("NNM709", f'there is no device "{provider}" here', hint=hint)
        bridge = await pyodide_host.load_bridge()
        module = await _module()
        tell = pyodide_host.callback(_Fetching(log))
        try:
            opening = bridge.adopt(module.open(_options(provider), tell))
            return cls(bridge, await to_the_end(opening, undo=bridge.close), provider)
        finally:
            tell.destroy()

    @property
    def description(self) -> str:
        """A description of the backend for logs and tables."""
        return f"ONNX Runtime Web ({self.device})"

    async def compile(
        self,
        graph: Graph | Scan,
        *,
        constants: Constants | None = None,
        recompute: bool = False,
    ) -> Executable:
        """Export a graph as ONNX and let ONNX Runtime optimise it.

        Raises `BackendError` NNM505 if it rejects the graph, `ModelError` NNM901 for an operator
        without a counterpart in ONNX.
        """
        if self._has_packed(graph, constants) and (
            executable := await compile_unpacked(self, graph, constants, recompute)
        ):
            return executable
        graph = graph.unroll() if isinstance(graph, Scan) else graph
        _check_nibbles(graph)
        began = time.perf_counter()
        values = constants or {}
        on_device = {n: value for n, value in values.items() if isinstance(value, DeviceTensor)}
        read = dict(zip(on_device, await self.read(*on_device.values()), strict=True))
        arrays = {n: value for n, value in values.items() if isinstance(value, HostArray)}
        model, inputs = build_onnx_model(graph, {**arrays, **read})
        making = self._bridge.load(self._context, plugin("serialize")(model))
        handle = await to_the_end(making, undo=self._release_handle)
        built = _Model(handle, [*inputs], outputs=map_output_names(graph, model))
        self._compiled += 1
        outputs = {name: o.type for name, o in graph.outputs.items()}
        seconds = time.perf_counter() - began
        reference = GraphReference(built, f"onnx {self._compiled}")
        built.users.add(reference)
        return Executable(
            self,
            inputs,
            outputs,
            reference,
            build_seconds=seconds,
            unused=find_unused_inputs(graph),
        )

    def _storage_type(self, type: TensorType) -> TensorType:
        return type

    def get_handles(
        self, executable: Executable, inputs: Binding, outputs: Binding
    ) -> tuple[Names, Names]:
        """Return the handles of tensors by their names in the ONNX graph."""
        input_handles, output_handles = super().get_handles(executable, inputs, outputs)
        onnx_names = executable.handle.built.outputs
        return input_handles, {onnx_names[name]: h for name, h in output_handles.items()}

    def runner(
        self,
        executable: Executable,
        inputs: Binding,
        outputs: Binding,
        input_names: Sequence[str],
        output_names: Sequence[str],
    ) -> Runner:
        """Bind a graph for many runs."""
        return Backend.runner(self, executable, inputs, outputs, input_names, output_names)


_loaded: list[Any] = []
"""The module, once it is loaded: a second instance would start ONNX Runtime again."""


async def _module() -> Any:
    if not _loaded:
        _loaded.append(await pyodide_host.load_module("onnxruntime/onnxruntime"))
    return _loaded[0]


async def to_fetch(provider: str) -> int | None:
    """Return how many bytes `load` would fetch, None if it would fail.

    The result is 0 if the browser has stored the file; only the size is requested.
    """
    module = await _module()
    try:
        offer = json.loads(await module.offer(_options(provider)))
    except pyodide_host.js_error():
        return None
    return 0 if offer["kept"] else offer["bytes"]


def _options(provider: str) -> str:
    folder = pyodide_host.beside_pyodide(FOLDER)
    return json.dumps({"provider": provider, "folder": folder})


class _Fetching:
    """Logs the progress of fetching ONNX Runtime: in tenths, in megabytes of an unknown size."""

    def __init__(self, log: Callable[[str], None] | None) -> None:
        self._log = log
        self._logged_steps = 0

    def __call__(self, received: int, everything: int) -> None:
        steps = 10 * received // everything if everything else received // 10**6
        if self._log is not None and steps > self._logged_steps:
            self._logged_steps = steps
            end = f" of {everything / 1e6:.0f} MB" if everything else " MB"
            sizes = f"{received / 1e6:.0f}{end}"
            self._log(f"fetching ONNX Runtime Web: {sizes}")


def _check_nibbles(graph: Graph) -> None:
    """Raise `BackendError` NNM505 for types that ONNX Runtime Web computes wrongly."""
    types = [type for node in graph.nodes() for type in node.types if type.dtype in NIBBLES]
    if types:
        message = f"ONNX Runtime Web computes wrong values for {types[0].dtype}"
        raise BackendError("NNM505", message, hint='use backend("numpy")')


def build_onnx_model(
    graph: Graph, fixed: Mapping[str, HostArray]
) -> tuple[Any, dict[str, TensorType]]:
    """Return the ONNX model of a graph, and the types of its used inputs that are not fixed."""
    used = {node.name for node in graph.nodes() if isinstance(node, InputNode)}
    inputs = {name: o for name, o in graph.inputs.items() if name in used}
    constants = {name: array for name, array in fixed.items() if name in used}
    used = without_faults(Graph(graph.outputs, inputs))
    model = plugin("graph_model")([used], constants=constants)
    return model, {name: o.type for name, o in inputs.items() if name not in fixed}


def map_output_names(graph: Graph, model: Any) -> dict[str, str]:
    """Return the names of outputs in an ONNX model."""
    places = zip(graph.outputs, model.graph.output, strict=True)
    return {name: value.name for name, value in places}
