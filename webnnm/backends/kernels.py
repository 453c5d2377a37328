"""Backends that run the operators' own kernels, on any array namespace."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Callable, Container, Mapping
from typing import Any, NamedTuple

from webnnm.backends.base import (
    Backend,
    DeviceTensor,
    Executable,
    MemoryUsage,
    check_data,
    find_unused_inputs,
    find_used_inputs,
)
from webnnm.core.arrays import HostArray, pack
from webnnm.core.dtypes import FORMATS, DataType
from webnnm.core.errors import BackendError
from webnnm.core.shapes import count
from webnnm.graph.node import ConstantNode, Graph, InputNode, Node, OperatorNode
from webnnm.graph.scan import Scan
from webnnm.graph.transforms.rewrite import inline_composites
from webnnm.ops.declare.tensors import TensorType


def computable(graph: Graph | Scan) -> Graph:
    """Return the graph without composites that have no kernel of their own.

    Raises `BackendError` NNM409 for results that are larger than any memory of this machine.
    """
    graph = graph.unroll() if isinstance(graph, Scan) else graph
    decomposed = inline_composites(graph, lambda operator: operator.reference is None)
    for node in decomposed.nodes():
        if isinstance(node, OperatorNode) and _size(node) > sys.maxsize:
            raise _too_large(node)
    return decomposed


def compute_outputs(
    graph: Graph,
    inputs: Mapping[str, Any],
    np: Any,
    placed: Callable[[Node, Any], Any] | None = None,
) -> dict[str, Any]:
    """Return the outputs of a computable graph as arrays of a namespace."""
    return Program(graph, np, placed)(inputs)


class _Call(NamedTuple):
    """A node with its kernel; values are identified by their positions in a list."""

    node: OperatorNode
    kernel: Callable[..., Any]
    operands: list[int]
    options: Mapping[str, Any]
    first: int
    """The position of the first result; the others follow."""
    ended: list[int]
    """The values that no later call needs."""


class Program:
    """A computable graph as a list of kernels, made once to compute the graph again and again.

    `np` is the Python array API with the data types of tensors, and three more functions that
    kernels may call: `erf(x)`; `put_at(x, index, values)` and `add_at(x, slices, values)`, which
    return x with values in place of its elements or added to them, and may modify x. `placed` is
    called with the value of every input and of every result, and returns its replacement.
    """

    def __init__(
        self, graph: Graph, np: Any, placed: Callable[[Node, Any], Any] | None = None
    ) -> None:
        self._np = np
        self._placed = placed
        self._values: list[Any] = [None]  # for operands that are absent
        self._inputs: list[tuple[int, InputNode, Any]] = []
        self._calls: list[_Call] = []
        slots: dict[int, int] = {}
        for node in graph.nodes():
            slot = slots[node.number] = len(self._values)
            self._values += [None] * len(node.types)
            if isinstance(node, InputNode):
                self._inputs.append((slot, node, getattr(np, node.types[0].dtype)))
            elif isinstance(node, ConstantNode):
                self._values[slot] = array_of(np, node.array, copy=False)
            elif isinstance(node, OperatorNode):
                kernel = node.operator.reference
                assert kernel is not None
                operands = [slots[o.number] + o.index if o else 0 for o in node.operands]
                self._calls.append(_Call(node, kernel, operands, node.options, slot, []))
        self._outputs = {n: slots[o.number] + o.index for n, o in graph.outputs.items()}
        self._plan_releases()

    def _plan_releases(self) -> None:
        """Determine the last call that needs each value."""
        last: dict[int, _Call] = {}
        for call in self._calls:
            results = range(call.first, call.first + len(call.node.types))
            last |= dict.fromkeys([*call.operands, *results], call)
        for slot in last.keys() - self._outputs.values():
            last[slot].ended.append(slot)

    def __call__(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the outputs."""
        np, placed = self._np, self._placed
        values = self._values.copy()
        for slot, node, dtype in self._inputs:
            array = inputs[node.name]
            if isinstance(array, HostArray):
                array = array_of(np, array)
            value = np.reshape(np.asarray(array, dtype=dtype), node.types[0].shape)
            values[slot] = placed(node, value) if placed else value
        for node, kernel, operands, options, first, ended in self._calls:
            try:
                result = kernel(np, *[values[slot] for slot in operands], **options)
            except Exception as error:
                if _is_too_large(error):
                    raise _too_large(node) from error
                error.add_note(f'in the kernel of "{node.operator.name}"')
                raise
            results = result if len(node.types) > 1 else (result,)
            for slot, (type, value) in enumerate(zip(node.types, results, strict=True), first):
                value = np.asarray(value)
                if type.dtype not in FORMATS:
                    value = wrap_to_four_bits(np, value, type.dtype)
                values[slot] = placed(node, value) if placed else value
            for slot in ended:
                values[slot] = None
        return {name: values[slot] for name, slot in self._outputs.items()}


def wrap_to_four_bits(np: Any, value: Any, dtype: DataType) -> Any:
    """Return a result that was computed in 8 bits wrapped to 4; other types are unchanged."""
    if dtype == "uint4":
        return np.bitwise_and(value, 15)
    return np.bitwise_and(value + 8, 15) - 8 if dtype == "int4" else value


def _size(node: OperatorNode) -> int:
    return sum(type.nbytes for type in node.types)


def _is_too_large(error: Exception) -> bool:
    """Return whether memory is lacking, or an array is beyond the addresses of a 32-bit Python."""
    beyond = ("Maximum allowed dimension exceeded", "array is too big")
    return isinstance(error, MemoryError) or str(error).startswith(beyond)


def _too_large(node: OperatorNode) -> BackendError:
    what = f'"{node.label or node.operator.name}" makes'
    return _no_memory(what, node.types[0], _size(node))


def _no_memory(what: str, type: TensorType, size: int) -> BackendError:
    return BackendError(
        "NNM409",
        f"{what} {type}: {size} bytes, more memory than is available",
        hint="use a smaller batch, sequence or layer",
    )


def array_of(np: Any, array: HostArray, *, copy: bool = True) -> Any:
    """Return a host array as an array of a namespace, with `copy` in memory of its own."""
    if array.dtype in FORMATS:
        values = np.frombuffer(array.data, dtype=array.dtype)
    else:  # two per byte, the first one in the lower half
        bytes = np.frombuffer(array.data, dtype="uint8")
        pairs = np.reshape(np.stack([bytes & 15, bytes >> 4], axis=-1), (-1,))
        values = wrap_to_four_bits(np, np.astype(pairs[: count(array.shape)], "int8"), array.dtype)
    return np.reshape(np.astype(values, getattr(np, array.dtype), copy=copy), array.shape)


def host_array(type: TensorType, value: Any) -> HostArray:
    """Return a copy of a NumPy array as a host array."""
    if type.dtype in FORMATS:
        same: bool = value.dtype == type.dtype
        data = value.tobytes() if same else pack(value.reshape(-1).tolist(), type.dtype)
        return HostArray(type.dtype, type.shape, data)
    flat = value.reshape(-1).astype("uint8") & 15
    low, high = flat[::2], flat[1::2].copy()
    high.resize(low.shape)
    return HostArray(type.dtype, type.shape, (low | high << 4).tobytes())


class Held:
    """Something that a backend holds, an array or a graph, which is compared by identity."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class KernelBackend(Backend):
    """Holds arrays and graphs in Python; a tensor's handle is a `Held` with its array."""

    def __init__(self) -> None:
        super().__init__()
        self._tensors: dict[Held, int] = {}
        self._graphs: set[Held] = set()
        self._closed = False

    @abstractmethod
    def _array(self, type: TensorType, data: HostArray | None) -> Any:
        """Return a new array: zeros, or a copy of data."""

    @abstractmethod
    def _host(self, array: Any) -> Any:
        """Return an array as a NumPy array."""

    def _executable(
        self, graph: Graph, fixed: Container[str], compiled: Any, seconds: float = 0.0
    ) -> Executable:
        """Keep a compiled graph and return its executable."""
        held = Held(compiled)
        self._graphs.add(held)
        return Executable(
            self,
            inputs=find_used_inputs(graph, fixed),
            outputs={name: o.type for name, o in graph.outputs.items()},
            handle=held,
            build_seconds=seconds,
            unused=find_unused_inputs(graph),
        )

    async def tensor(self, type: TensorType, data: HostArray | None = None) -> DeviceTensor:
        """Return a new tensor, zero or filled with data."""
        self._check_open()
        if data is not None:
            check_data(type, data)
        try:
            held = Held(self._array(type, data))
        except (MemoryError, ValueError) as error:
            if not _is_too_large(error):
                raise
            raise _no_memory("an input or output is", type, type.nbytes) from error
        self._tensors[held] = type.nbytes
        return DeviceTensor(type, held)

    def write(self, tensor: DeviceTensor, data: HostArray) -> None:
        """Copy host data into a tensor."""
        self._check_open()
        check_data(tensor.type, data)
        tensor.handle.value = self._array(tensor.type, data)

    async def read(self, *tensors: DeviceTensor) -> list[HostArray]:
        """Return copies of tensors."""
        self._check_open()
        return [host_array(tensor.type, self._host(tensor.handle.value)) for tensor in tensors]

    def release(self, *things: DeviceTensor | Executable) -> None:
        """Free tensors and graphs immediately; releasing something twice is allowed."""
        for thing in things:
            thing.handle.value = None
            if isinstance(thing, Executable):
                self._graphs.discard(thing.handle)
            else:
                self._tensors.pop(thing.handle, None)
                self._owners.pop(thing.handle, None)

    def memory(self) -> MemoryUsage:
        """Return what is currently allocated."""
        size = sum(self._tensors.values())
        return MemoryUsage(len(self._graphs), len(self._tensors), size, self._kinds())

    def close(self) -> None:
        """Free everything."""
        for held in (*self._tensors, *self._graphs):
            held.value = None
        self._tensors.clear()
        self._owners.clear()
        self._graphs.clear()
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise BackendError("NNM709", "the backend was closed")
