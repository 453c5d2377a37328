"""The backend that runs graphs on the browser's WebNN, through the bridge."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Container, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from webnnm.backends import pyodide_host
from webnnm.backends.base import (
    DEVICES,
    Backend,
    Binding,
    Constants,
    DeviceTensor,
    Executable,
    MemoryUsage,
    Runner,
    check_data,
    find_unused_inputs,
    find_used_inputs,
)
from webnnm.backends.binding_bytes import arrays_of, get_binding_handles
from webnnm.backends.context_options import make_options
from webnnm.backends.faults import find_faults, sentences
from webnnm.backends.pyodide_host import Bridge, Names
from webnnm.backends.verdicts import Verdicts
from webnnm.compiler.limits import Limits
from webnnm.compiler.pipeline import Target, compile_plan
from webnnm.compiler.plan import Plan
from webnnm.compiler.traps import ALL_TRAPS
from webnnm.compiler.traps.constants import MAX_CONSTANT_BYTES
from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import FORMATS
from webnnm.core.errors import BackendError, ContextLost
from webnnm.core.waiting import to_the_end
from webnnm.graph.node import Graph
from webnnm.graph.scan import Scan
from webnnm.ops.declare.tensors import TensorType

ACCELERATION = {None: "", True: "accelerated", False: "not accelerated"}
"""The words for whether a context is accelerated."""

# A context that the browser has created may still be unable to run anything.
_TYPE = {"dtype": "float32", "shape": [2]}
_TRIAL = Plan(
    {
        "inputs": [{"name": "x", **_TYPE, "id": 0}],
        "constants": [],
        "operators": [
            {
                "op": "relu",
                "operands": [0],
                "arguments": [],
                "options": {},
                "references": {},
                "label": "trial",
                "results": [1],
            }
        ],
        "outputs": [{"name": "y", **_TYPE, "id": 1}],
    },
    b"",
)


@dataclass(eq=False, slots=True)
class BuiltGraph:
    """A graph on the device, the inputs that are left in it, and the references that use it."""

    graph: int
    inputs: Sequence[str]
    users: set[GraphReference] = field(default_factory=set["GraphReference"])


@dataclass(frozen=True, eq=False, slots=True)
class GraphReference:
    """One executable's reference to a graph: several may share it; each is released separately."""

    built: BuiltGraph
    key: str


class WebNNBackend(Backend):
    """A WebNN context of the browser.

    >>> backend = await WebNNBackend.open(device="npu")        # doctest: +SKIP
    >>> backend.device                                              # doctest: +SKIP
    'cpu (npu requested)'
    """

    name = "webnn"
    max_constant_bytes = MAX_CONSTANT_BYTES
    dispatch_seconds = 80e-6

    def __init__(self, bridge: Bridge, context: int, requested: str = "") -> None:
        super().__init__()
        self._bridge = bridge
        self._context = context
        self._requested = requested
        self.device = requested or "not tried yet"
        self.accelerated = bridge.accelerated(context)
        self.limits: Mapping[str, Any] = bridge.limits(context)
        self.faults = sentences(ALL_TRAPS)
        self.max_tensor_bytes = self.limits.get("maxTensorByteLength")
        self._traps = frozenset(ALL_TRAPS)
        self._built: dict[str, BuiltGraph] = {}
        self._variants = 0

    @classmethod
    async def open(
        cls,
        device: str | None = None,
        power_preference: str | None = None,
        *,
        accelerated: bool | None = None,
        bridge: Bridge | None = None,
    ) -> WebNNBackend:
        """Create a context, check that it works, and find out which known faults it has.

        `accelerated` and `power_preference` are those of WebNN, `device` is "npu", "gpu" or "cpu".
        All are only requests: the browser chooses, and `device` shows its choice.

        Raises `BackendError` NNM709 outside a browser, or if WebNN is missing or does not work.
        """
        request = device, accelerated, power_preference
        if device not in (None, *DEVICES) or request[1:] != (None, None):
            from webnnm.backends.preferences import check_request

            check_request(*request)
        bridge = bridge or await pyodide_host.load_bridge()
        options = make_options(*request)
        acceleration = ACCELERATION[None if device else accelerated]
        requested = " ".join(filter(None, (device, acceleration, power_preference)))
        try:
            return await cls._try_open(bridge, options, requested, examine=True)
        except ContextLost:
            # The test that crashed the device is not repeated: all faults are then assumed.
            return await cls._try_open(bridge, options, requested, examine=False)

    @classmethod
    async def _try_open(
        cls,
        bridge: Bridge,
        options: tuple[Mapping[str, Any], Mapping[str, Any]],
        requested: str,
        *,
        examine: bool,
    ) -> WebNNBackend:
        # Creating a context cannot be cancelled in the browser: it is freed once it exists.
        context = await to_the_end(bridge.open(*options), undo=bridge.close)
        backend = cls(bridge, context, requested)
        try:
            _, verdicts = await asyncio.gather(backend._run_trial(), Verdicts.of(bridge))
            if examine:
                await backend._examine(verdicts)
        except BaseException:
            backend.close()
            raise
        return backend

    async def _examine(self, verdicts: Verdicts) -> None:
        arguments = self._bridge, self._context, self.limits, self.device
        traps = await find_faults(*arguments, verdicts)
        self._traps, self.faults = traps, sentences(traps)

    async def _run_trial(self) -> None:
        """Run a trial graph, and set `device` to what ran it."""
        bridge, context = self._bridge, self._context
        graph = await bridge.build(context, _TRIAL)
        data = HostArray.of([-1, 2], "float32").data
        x = await bridge.tensor(context, "float32", [2], data, "write")
        y = await bridge.tensor(context, "float32", [2], access="read")
        bridge.dispatch(graph, {"x": x}, {"y": y})
        result = HostArray("float32", [2], await bridge.read([y])).tolist()
        devices = bridge.devices(graph)
        bridge.release([graph, x, y])
        if result != [0, 2]:
            raise BackendError(
                "NNM709",
                f"WebNN computes wrong numbers here: relu of [-1, 2] gave {result}, not [0, 2]",
                hint='use backend("numpy")',
            )
        device, acceleration = "+".join(devices), ACCELERATION[self.accelerated]
        actual = ", ".join(filter(None, (device, acceleration))) or "an unknown device"
        self.device = (
            f"{actual} ({self._requested} requested)"
            if self._requested not in ("", device, acceleration)
            else actual
        )

    @property
    def description(self) -> str:
        """A description of the backend for logs and tables."""
        return f"WebNN ({self.device})"

    async def compile(
        self,
        graph: Graph | Scan,
        *,
        constants: Constants | None = None,
        recompute: bool = False,
    ) -> Executable:
        """Rewrite a graph for what this browser supports, and build it; equal plans share a graph.

        Raises `BackendError` NNM505 or NNM409 with the operator and the label of the layer.
        """
        if self._has_packed(graph, constants):
            from webnnm.backends.unpacking import compile_unpacked

            executable = await compile_unpacked(self, graph, constants, recompute)
            if executable:
                return executable
        compiled = compile_plan(graph, self._target(constants or (), recompute=recompute))
        plan, variant = compiled.plan, ""
        if constants:
            from webnnm.compiler.embedding import embed_constants

            values: dict[str, int | HostArray] = {
                name: value.handle if isinstance(value, DeviceTensor) else value
                for name, value in constants.items()
            }
            limit = self.max_constant_bytes
            plan = embed_constants(compiled.plan, values, constant_bytes=limit)
            if any(self._storage_type(type) != type for type in plan.inputs.values()):
                # Too large for constants: they stay inputs, of the type that tensors are stored in.
                compiled = compile_plan(graph, self._target(recompute=recompute))
                plan = embed_constants(compiled.plan, values, constant_bytes=limit)
            self._variants += 1  # never shared: the tensors may have other values next time
            variant = f" {self._variants}"
        self.rewrites += [text for text in compiled.rewrites if text not in self.rewrites]
        key = plan.hash + variant
        seconds = 0.0
        if key not in self._built:
            began = time.perf_counter()
            creation = self._bridge.build(self._context, plan)
            built = BuiltGraph(
                await to_the_end(creation, undo=self._release_handle), [*plan.inputs]
            )
            # Another task may have built the same graph in the meantime: the first one stays.
            if self._built.setdefault(key, built) is not built:
                self._bridge.release([built.graph])
            seconds = time.perf_counter() - began
        reference = GraphReference(self._built[key], key)
        reference.built.users.add(reference)
        inputs: dict[str, TensorType] = {name: compiled.inputs[name] for name in plan.inputs}
        unused: dict[str, TensorType] = {}
        if isinstance(graph, Graph):
            inputs = find_used_inputs(graph, (constants or {}).keys() - plan.inputs.keys())
            unused = find_unused_inputs(graph)
        rewrites = tuple(compiled.rewrites)
        return Executable(self, inputs, compiled.outputs, reference, rewrites, seconds, unused)

    def _target(self, constant_inputs: Container[str] = (), *, recompute: bool = False) -> Target:
        return Target(self.limits, self._traps, constant_inputs, recompute)

    def _storage_type(self, type: TensorType) -> TensorType:
        """Return the type in which values of a type are stored: uint8 for packed 4-bit numbers."""
        if type.dtype in FORMATS:
            return type
        from webnnm.compiler.four_bits import storage_type

        return storage_type(Limits(self.limits), type)

    async def tensor(self, type: TensorType, data: HostArray | None = None) -> DeviceTensor:
        """Return a new tensor, filled with zeros or with data of its type."""
        if data is not None:
            check_data(type, data)
        buffer = None if data is None else data.data
        creation = self._bridge.tensor(self._context, *self._storage_type(type), buffer)
        return DeviceTensor(type, await to_the_end(creation, undo=self._release_handle))

    async def tensors(
        self, types: Mapping[str, TensorType], data: Mapping[str, HostArray] | None = None
    ) -> dict[str, DeviceTensor]:
        """Create several tensors with one call of the bridge; either all or none."""
        data = data or {}
        for name, array in data.items():
            check_data(types[name], array)
        stored = [self._storage_type(type) for type in types.values()]
        buffers = [data[name].data if name in data else None for name in types]
        creation = self._bridge.tensors(self._context, stored, *buffers)
        handles = await to_the_end(creation, undo=self._bridge.release)
        return {
            name: DeviceTensor(types[name], handle)
            for name, handle in zip(types, handles, strict=True)
        }

    def _release_handle(self, handle: int) -> None:
        self._bridge.release([handle])

    def write(self, tensor: DeviceTensor, data: HostArray) -> None:
        """Queue a copy of host data to a tensor; the data may be changed immediately afterwards."""
        check_data(tensor.type, data)
        self._bridge.write(tensor.handle, data.data)

    async def read(self, *tensors: DeviceTensor) -> list[HostArray]:
        """Return copies of tensors, all in one round trip."""
        if not tensors:
            return []
        data = await self._bridge.read([tensor.handle for tensor in tensors])
        return arrays_of(data, [tensor.type for tensor in tensors])

    def read_now(self, *tensors: DeviceTensor) -> list[HostArray]:
        """Return copies of tensors, suspending Python meanwhile."""
        if not (tensors and self.can_wait()):
            return super().read_now(*tensors)
        data = self._bridge.read_now([tensor.handle for tensor in tensors])
        return arrays_of(data, [tensor.type for tensor in tensors])

    def dispatch(self, executable: Executable, inputs: Binding, outputs: Binding) -> None:
        """Queue one run; an output tensor must not also be an input."""
        names = self.get_handles(executable, inputs, outputs)
        self._bridge.dispatch(executable.handle.built.graph, *names)

    async def connect(self, frames: Any) -> Any:
        """Link the context to WebGPU by js_bridge/webgpu/frames.js."""
        return await frames.connect(self._bridge.module, self._context)

    def get_handles(
        self, executable: Executable, inputs: Binding, outputs: Binding
    ) -> tuple[Names, Names]:
        """Return the handles of tensors by their names in the graph on the device."""
        return get_binding_handles(executable, inputs, outputs)

    def runner(
        self,
        executable: Executable,
        inputs: Binding,
        outputs: Binding,
        input_names: Sequence[str],
        output_names: Sequence[str],
    ) -> Runner:
        """Bind a graph for many runs, each of which is one round trip."""
        from webnnm.backends.webnn_runner import WebNNRunner

        return WebNNRunner(
            self, self._bridge, executable, inputs, outputs, input_names, output_names
        )

    async def run_steps(
        self,
        executable: Executable,
        buffers: tuple[tuple[Binding, Binding], tuple[Binding, Binding]],
        first: int,
        count: int,
        read: Sequence[tuple[DeviceTensor, DeviceTensor]] = (),
    ) -> list[HostArray]:
        """Run `count` steps over alternating buffers inside the browser, then read.

        Raises `ContextLost`, whose `step` is the last step that is known to be valid.
        """
        data = await self._bridge.steps(
            executable.handle.built.graph,
            [self.get_handles(executable, *binding) for binding in buffers],
            first,
            count,
            [(even.handle, odd.handle) for even, odd in read],
        )
        return arrays_of(data, [even.type for even, _ in read])

    def can_wait(self) -> bool:
        """Return whether the browser can suspend Python (JSPI), and may do so here."""
        return pyodide_host.can_wait()

    def wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Return the result of a coroutine, suspending Python meanwhile if the browser can."""
        return pyodide_host.wait(work) if self.can_wait() else super().wait(work)

    def release(self, *things: DeviceTensor | Executable) -> None:
        """Free tensors and graphs immediately; releasing something twice is allowed."""
        handles: list[int] = []
        for thing in things:
            if isinstance(thing, DeviceTensor):
                handles.append(thing.handle)
                self._owners.pop(thing.handle, None)
                continue
            reference: GraphReference = thing.handle
            reference.built.users.discard(reference)
            if not reference.built.users:
                handles.append(reference.built.graph)
                if self._built.get(reference.key) is reference.built:
                    del self._built[reference.key]
        self._bridge.release(handles)

    def memory(self) -> MemoryUsage:
        """Return what the context currently holds; all zero once it is closed."""
        return MemoryUsage(**self._bridge.memory(self._context), kinds=self._kinds())

    def close(self) -> None:
        """Destroy the context with everything in it; closing it twice is allowed."""
        self._built.clear()
        self._owners.clear()
        self._bridge.close(self._context)
