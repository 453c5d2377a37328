"""The reference backend: every operator's own kernel, run by NumPy."""

from __future__ import annotations

import asyncio
import importlib
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from webnnm.arrays import HostArray, pack
from webnnm.backends.base import (
    Backend,
    Binding,
    DeviceTensor,
    Executable,
    Ledger,
    check_binding,
    check_data,
)
from webnnm.dtypes import FORMATS, byte_length
from webnnm.errors import BackendError
from webnnm.graph.node import ConstantNode, Graph, InputNode, OperatorNode
from webnnm.graph.rewrite import inlined
from webnnm.ops.operator import TensorType
from webnnm.shapes import count

IN_PAGE = sys.platform == "emscripten"
TURN, PAUSE = 0.04, 0.005
"""Seconds of computing and of rest in a page: without a rest it neither draws nor hears clicks."""
STEPS_BETWEEN_YIELDS = 16


class Namespace:
    """NumPy as kernels see it; with `wide=True` every float is a float64."""

    def __init__(self, *, wide: bool = False) -> None:
        try:
            self._numpy = importlib.import_module("numpy")
        except ImportError as error:
            raise BackendError(
                "NNM709",
                "the reference backend needs NumPy, which is not installed",
                hint="pip install numpy; in a page, load the package numpy",
            ) from error
        # NumPy has no 4-bit types.
        self.int4, self.uint4 = self._numpy.int8, self._numpy.uint8
        if wide:
            self.float32 = self.float16 = self._numpy.float64

    def __getattr__(self, name: str) -> Any:
        return getattr(self._numpy, name)


def evaluate(graph: Graph, inputs: Mapping[str, Any], *, wide: bool = False) -> dict[str, Any]:
    """Compute the outputs of a graph as NumPy arrays.

    >>> from webnnm import GraphBuilder
    >>> b = GraphBuilder()
    >>> x = b.input("x", "float32", [2])
    >>> evaluate(b.build({"y": x * 2}), {"x": [1, 2]})["y"].tolist()
    [2.0, 4.0]

    `wide` computes in float64 what is float32 or float16: the measure of gradient checks.
    """
    return _computed(computable(graph), inputs, Namespace(wide=wide))


def computable(graph: Graph) -> Graph:
    """Return the graph without composites that have no kernel of their own."""
    return inlined(graph, lambda operator: operator.reference is None)


def _computed(graph: Graph, inputs: Mapping[str, Any], np: Namespace) -> dict[str, Any]:
    values: dict[tuple[int, int], Any] = {}
    with np.errstate(all="ignore"):
        for node in graph.nodes():
            if isinstance(node, InputNode):
                given = np.asarray(inputs[node.name], dtype=getattr(np, node.types[0].dtype))
                values[node.number, 0] = np.reshape(given, node.types[0].shape)
            elif isinstance(node, ConstantNode):
                values[node.number, 0] = _array(np, node.array)
            elif isinstance(node, OperatorNode):
                operands = [o and values[o.number, o.index] for o in node.operands]
                assert node.operator.reference is not None
                result = node.operator.reference(np, *operands, **node.options)
                results = result if len(node.types) > 1 else (result,)
                for index, value in enumerate(results):
                    values[node.number, index] = np.asarray(value)
    return {name: values[o.number, o.index] for name, o in graph.outputs.items()}


def _array(np: Any, array: HostArray) -> Any:
    if array.dtype in FORMATS:
        values = np.frombuffer(array.data, dtype=array.dtype)
    else:
        values = np.asarray(array.values())
    return np.reshape(np.astype(values, getattr(np, array.dtype)), array.shape)


def _host(type: TensorType, value: Any) -> HostArray:
    packed = value.dtype.name == type.dtype
    data = value.tobytes() if packed else pack(value.reshape(-1).tolist(), type.dtype)
    return HostArray(type.dtype, type.shape, data)


class _Held:
    """Something a backend holds, told from others by identity: an array or a graph."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class ReferenceBackend(Backend):
    """Runs graphs with NumPy, in the page and on the desktop."""

    name = "numpy"

    def __init__(self) -> None:
        super().__init__()
        self._numpy = Namespace()
        self.device = f"NumPy {self._numpy.__version__} on the CPU"
        self._tensors: dict[_Held, int] = {}
        self._graphs: set[_Held] = set()
        self._closed = False
        self._rested = 0.0

    async def compile(
        self, graph: Graph, *, times: int = 1, constants: Binding | None = None
    ) -> Executable:
        """Compile a graph: there is nothing to do but to note it."""
        self._check_open()
        used = {node.name for node in graph.nodes() if isinstance(node, InputNode)}
        fixed = {name: tensor.handle.value for name, tensor in (constants or {}).items()}
        held = _Held((computable(graph), times, fixed))
        self._graphs.add(held)
        return Executable(
            self,
            inputs={
                name: o.type for name, o in graph.inputs.items() if name in used - fixed.keys()
            },
            outputs={name: o.type for name, o in graph.outputs.items()},
            handle=held,
        )

    async def tensor(self, type: TensorType, data: HostArray | None = None) -> DeviceTensor:
        """Return a new tensor, zero or filled with data."""
        self._check_open()
        np = self._numpy
        held = _Held(np.zeros(type.shape, dtype=getattr(np, type.dtype)))
        self._tensors[held] = byte_length(type.dtype, count(type.shape))
        tensor = DeviceTensor(type, held)
        if data is not None:
            self.write(tensor, data)
        return tensor

    def write(self, tensor: DeviceTensor, data: HostArray) -> None:
        """Copy host data into a tensor."""
        self._check_open()
        check_data(tensor.type, data)
        tensor.handle.value = _array(self._numpy, data)

    async def read(self, *tensors: DeviceTensor) -> list[HostArray]:
        """Return copies of tensors."""
        self._check_open()
        return [_host(tensor.type, tensor.handle.value) for tensor in tensors]

    def dispatch(self, executable: Executable, inputs: Binding, outputs: Binding) -> None:
        """Run a graph at once."""
        self._check_open()
        check_binding(executable, inputs, outputs)
        graph, times, fixed = executable.handle.value
        given = fixed | {name: inputs[name].handle.value for name in executable.inputs}
        found: dict[str, Any] = {}
        for _ in range(times):
            found = _computed(graph, given, self._numpy)
            given |= {name: value for name, value in found.items() if name in given}
        for name, value in found.items():
            outputs[name].handle.value = value

    async def run_steps(
        self,
        executable: Executable,
        banks: tuple[tuple[Binding, Binding], tuple[Binding, Binding]],
        first: int,
        count: int,
        read: Sequence[tuple[DeviceTensor, DeviceTensor]] = (),
    ) -> list[HostArray]:
        """Run steps one after the other, letting other tasks in now and then."""
        for step in range(first, first + count):
            self.dispatch(executable, *banks[step % 2])
            if IN_PAGE and time.perf_counter() - self._rested > TURN:
                await asyncio.sleep(PAUSE)
                self._rested = time.perf_counter()
            elif step % STEPS_BETWEEN_YIELDS == 0:
                await asyncio.sleep(0)
        return await self.read(*(pair[(first + count - 1) % 2] for pair in read))

    def release(self, *things: DeviceTensor | Executable) -> None:
        """Forget tensors and graphs."""
        for thing in things:
            if isinstance(thing, Executable):
                self._graphs.discard(thing.handle)
            else:
                self._tensors.pop(thing.handle, None)
                self._owners.pop(thing.handle, None)

    def ledger(self) -> Ledger:
        """Return what is held at the moment."""
        size = sum(self._tensors.values())
        return Ledger(len(self._graphs), len(self._tensors), size, self._kinds())

    def close(self) -> None:
        """Forget everything."""
        self._tensors.clear()
        self._owners.clear()
        self._graphs.clear()
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise BackendError("NNM709", "the backend was closed")
