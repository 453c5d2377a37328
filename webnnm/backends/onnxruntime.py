"""The ONNX Runtime backend of desktops: graphs are exported as ONNX and run by its CPU kernels."""

from __future__ import annotations

import asyncio
import importlib
import os
import time
from collections.abc import Collection, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from webnnm.backends.base import (
    Binding,
    Constants,
    DeviceTensor,
    Executable,
    check_binding,
    check_data,
    find_used_inputs,
    type_of,
)
from webnnm.backends.kernels import KernelBackend, array_of, host_array
from webnnm.backends.onnxruntime_faults import without_faults
from webnnm.backends.reference import Namespace
from webnnm.backends.unpacking import PREFIX, compile_unpacked
from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import FLOAT_INFO
from webnnm.core.errors import BackendError
from webnnm.core.plugins import plugin
from webnnm.graph.node import Graph, InputNode, OperatorNode
from webnnm.graph.scan import Scan
from webnnm.ops.declare.tensors import TensorType

if TYPE_CHECKING:
    from collections.abc import Generator

APART = 1 << 20
"""Constants of at least this size are passed next to the model, which is limited to 2 GB."""
IMAGE_OPERATORS = frozenset({"Conv", "MaxPool", "AveragePool", "GlobalAveragePool"})
ERRORS = 3
"""The level of messages that ONNX Runtime itself prints: only errors."""


@dataclass(frozen=True)
class _Memory:
    """A tensor: a NumPy array, and ONNX Runtime's view of the same memory."""

    array: Any
    value: Any


class OnnxRuntimeBackend(KernelBackend):
    """Runs graphs with ONNX Runtime, whose optimised kernels share the cores of the CPU.

    `threads` is how many cores each operator may use, None for all. Results do not depend on it.

    Raises `BackendError` NNM709 if ONNX Runtime is not installed.
    """

    name = "onnxruntime"

    def __init__(self, threads: int | None = None) -> None:
        super().__init__()
        # Without this, importing version 1.32 writes a device number into the home folder.
        os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
        try:
            self._runtime = importlib.import_module("onnxruntime")
        except ImportError as error:
            raise BackendError(
                "NNM709",
                "the ONNX Runtime backend needs onnxruntime, which is not installed",
                hint='run pip install "webnnm[onnxruntime]"',
            ) from error
        self._numpy = Namespace()
        self._threads = threads or 0
        self.device = f"ONNX Runtime {self._runtime.__version__} on the CPU"

    def _array(self, type: TensorType, data: HostArray | None) -> _Memory:
        np = self._numpy
        array = np.zeros(type.shape, dtype=getattr(np, type.dtype))
        if data is not None:
            array[...] = array_of(np, data)
        return _Memory(array, self._runtime.OrtValue.ortvalue_from_numpy(array))

    def _host(self, array: _Memory) -> Any:
        return array.array

    def write(self, tensor: DeviceTensor, data: HostArray) -> None:
        """Copy host data into the memory of a tensor."""
        self._check_open()
        check_data(tensor.type, data)
        tensor.handle.value.array[...] = array_of(self._numpy, data)

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
        self._check_open()
        if self._has_packed(graph, constants) and (
            executable := await compile_unpacked(self, graph, constants, recompute)
        ):
            return executable
        graph = graph.unroll() if isinstance(graph, Scan) else graph
        began = time.perf_counter()
        fixed = self._select_constants(graph, constants or {})
        used_inputs = {name: graph.inputs[name] for name in find_used_inputs(graph, fixed)}
        used = Graph(graph.outputs, {**used_inputs, **{n: graph.inputs[n] for n in fixed}})
        write = plugin("graph_model")
        model = write([without_faults(used)], constants=fixed, nibbles_as_bytes=True)
        session = self._session(model)
        return self._executable(graph, fixed, session, time.perf_counter() - began)

    def _select_constants(self, graph: Graph, constants: Constants) -> dict[str, HostArray]:
        """Return the values that become constants: small ones, and those of some operators."""
        # These are faster with weights that ONNX Runtime has rearranged when it built the graph.
        # Others compute as fast with weights that stay inputs, of which all graphs share one copy.
        rearranged = _find_operand_inputs(
            graph, graph.names(lambda o: not o.traits.isdisjoint({"convolution", "recurrent"}))
        )
        return {
            name: value
            if isinstance(value, HostArray)
            else host_array(value.type, value.handle.value.array)
            for name, value in constants.items()
            if name in rearranged
            or name.startswith(PREFIX)
            or type_of(value).nbytes < APART
            or type_of(value).dtype not in FLOAT_INFO
        }

    def _session(self, model: Any) -> Any:
        runtime = self._runtime
        options = runtime.SessionOptions()
        options.log_severity_level = ERRORS
        options.intra_op_num_threads = self._threads
        # Threads spin until the next operator, and release their cores at the end of a run.
        options.add_session_config_entry("session.force_spinning_stop", "1")
        apart = self._extract_large_constants(model)
        if apart:
            options.add_external_initializers([*apart], [*apart.values()])
        with _translate_errors("NNM505"):
            return runtime.InferenceSession(
                plugin("serialize")(model),
                options,
                providers=["CPUExecutionProvider"],
                disabled_optimizers=_list_unneeded_optimizers(model),
            )

    def _extract_large_constants(self, model: Any) -> dict[str, Any]:
        """Take large constants out of a model; return them by name."""
        arrays: dict[str, HostArray] = plugin("detach_weights")(model, APART)
        make_value = self._runtime.OrtValue.ortvalue_from_numpy
        return {name: make_value(array_of(self._numpy, x)) for name, x in arrays.items()}

    def dispatch(self, executable: Executable, inputs: Binding, outputs: Binding) -> None:
        """Run a graph immediately, directly into the memory of the outputs."""
        self._check_open()
        check_binding(executable, inputs, outputs)
        bound = self._bind(executable, inputs, outputs)
        with _translate_errors():
            executable.handle.value.run_with_iobinding(bound)

    def _bind(self, executable: Executable, inputs: Binding, outputs: Binding) -> Any:
        """Return the binding of inputs and outputs for ONNX Runtime."""
        session = executable.handle.value
        binding = session.io_binding()
        for name in executable.inputs:
            binding.bind_ortvalue_input(name, inputs[name].handle.value.value)
        for name, output in zip(executable.outputs, session.get_outputs(), strict=True):
            binding.bind_ortvalue_output(output.name, outputs[name].handle.value.value)
        return binding

    async def run_steps(
        self,
        executable: Executable,
        buffers: tuple[tuple[Binding, Binding], tuple[Binding, Binding]],
        first: int,
        count: int,
        read: Sequence[tuple[DeviceTensor, DeviceTensor]] = (),
    ) -> list[HostArray]:
        """Run steps one after the other, yielding to other tasks now and then."""
        self._check_open()
        for binding in buffers:
            check_binding(executable, *binding)
        bound = [self._bind(executable, *binding) for binding in buffers]
        session = executable.handle.value
        for step in range(first, first + count):
            with _translate_errors():
                session.run_with_iobinding(bound[step % 2])
            if step % self.budget.yield_steps == 0:
                await asyncio.sleep(0)
        return await self.read(*(pair[(first + count - 1) % 2] for pair in read))


def _list_unneeded_optimizers(model: Any) -> list[str]:
    """Return what arranges images for convolutions: without any, version 1.32 may crash there."""
    has_images = any(node.op_type in IMAGE_OPERATORS for node in model.graph.node)
    return [] if has_images else ["NchwcTransformer"]


def _find_operand_inputs(graph: Graph, operators: Collection[str]) -> set[str]:
    """Return the names of inputs that operators of these names take, directly or moved."""
    names: set[str] = set()
    for index in graph.places(operators):
        pending = [o for o in getattr(graph.nodes()[index], "operands", ()) if o is not None]
        while pending:
            node = pending.pop().node
            if isinstance(node, InputNode):
                names.add(node.name)
            elif isinstance(node, OperatorNode) and "moving" in node.operator.traits:
                pending += [operand for operand in node.operands if operand is not None]
    return names


@contextmanager
def _translate_errors(code: str = "NNM709") -> Generator[None]:
    """Convert errors of ONNX Runtime to those of this package, with a code unless memory lacks."""
    try:
        yield
    except Exception as error:
        is_from_runtime = type(error).__module__.startswith("onnxruntime")
        if not is_from_runtime and not isinstance(error, RuntimeError):
            raise
        message = str(error)
        if "allocat" in message:
            hint = "use a smaller batch, sequence or layer"
            raise BackendError("NNM709", f"ONNX Runtime: {message}", hint=hint) from error
        hint = 'use backend("numpy")' if code == "NNM505" else ""
        raise BackendError(code, f"ONNX Runtime: {message}", hint=hint) from error
