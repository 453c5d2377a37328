"""Backends that run the operators' own kernels, whatever array namespace these run on."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

from webnnm.backends.base import Backend, DeviceTensor, Executable, Ledger, check_data
from webnnm.core.arrays import HostArray, pack
from webnnm.core.dtypes import FORMATS, DataType, byte_length
from webnnm.core.errors import BackendError
from webnnm.core.shapes import count
from webnnm.graph.node import ConstantNode, Graph, InputNode, Node, OperatorNode
from webnnm.graph.rewrite import inlined
from webnnm.graph.scan import Scan
from webnnm.ops.declare.tensors import TensorType


def computable(graph: Graph | Scan) -> Graph:
    """Return the graph without composites that have no kernel of their own.

    Raises `BackendError` NNM409 for results that no memory of this machine could hold.
    """
    graph = graph.unrolled() if isinstance(graph, Scan) else graph
    found = inlined(graph, lambda operator: operator.reference is None)
    for node in found.nodes():
        if isinstance(node, OperatorNode) and _size(node) > sys.maxsize:
            raise _too_large(node)
    return found


def computed(
    graph: Graph,
    inputs: Mapping[str, Any],
    np: Any,
    placed: Callable[[Node, Any], Any] = lambda _node, value: value,
    last: Mapping[int, Sequence[tuple[int, int]]] | None = None,
) -> dict[str, Any]:
    """Return the outputs of a computable graph as arrays of a namespace.

    `np` is the Python array API with the data types of tensors, and three functions more that
    kernels may call: `erf(x)`; `put_at(x, index, values)` and `add_at(x, slices, values)`, which
    return x with values in place of its elements or added to them, and may write into x. `placed`
    sees the value of every input and of every result, and returns what stands for it. `last` are
    those of `last_uses`, after which values are given up.
    """
    values: dict[tuple[int, int], Any] = {}
    for node in graph.nodes():
        if isinstance(node, InputNode):
            given = inputs[node.name]
            if isinstance(given, HostArray):
                given = array_of(np, given)
            given = np.asarray(given, dtype=getattr(np, node.types[0].dtype))
            values[node.number, 0] = placed(node, np.reshape(given, node.types[0].shape))
        elif isinstance(node, ConstantNode):
            values[node.number, 0] = array_of(np, node.array)
        elif isinstance(node, OperatorNode):
            operands = [o and values[o.number, o.index] for o in node.operands]
            assert node.operator.reference is not None
            try:
                result = node.operator.reference(np, *operands, **node.options)
            except MemoryError as error:
                raise _too_large(node) from error
            except Exception as error:
                error.add_note(f'in the kernel of "{node.operator.name}"')
                raise
            results = result if len(node.types) > 1 else (result,)
            for index, (type, value) in enumerate(zip(node.types, results, strict=True)):
                value = wrapped(np, np.asarray(value), type.dtype)
                values[node.number, index] = placed(node, value)
            for number, index in (last or {}).get(node.number, ()):
                del values[number, index]
    return {name: values[o.number, o.index] for name, o in graph.outputs.items()}


def last_uses(graph: Graph) -> dict[int, list[tuple[int, int]]]:
    """Return by the number of a node the results that nothing needs after it."""
    ends: dict[tuple[int, int], int] = {}
    for node in graph.nodes():
        if isinstance(node, OperatorNode):
            ends |= {(node.number, index): node.number for index in range(len(node.types))}
            ends |= {(o.number, o.index): node.number for o in node.operands if o}
    for operand in graph.outputs.values():
        ends.pop((operand.number, operand.index), None)
    found: dict[int, list[tuple[int, int]]] = {}
    for result, number in ends.items():
        found.setdefault(number, []).append(result)
    return found


def wrapped(np: Any, value: Any, dtype: DataType) -> Any:
    """Return what 4 bits hold of a result computed in 8; other types stay."""
    if dtype == "uint4":
        return np.bitwise_and(value, 15)
    return np.bitwise_and(value + 8, 15) - 8 if dtype == "int4" else value


def _size(node: OperatorNode) -> int:
    return sum(byte_length(type.dtype, count(type.shape)) for type in node.types)


def _too_large(node: OperatorNode) -> BackendError:
    return BackendError(
        "NNM409",
        f'"{node.label or node.operator.name}" makes {node.types[0]}: {_size(node)} bytes, more '
        "memory than is available",
        hint="use a smaller batch, sequence or layer",
    )


def array_of(np: Any, array: HostArray) -> Any:
    """Return a host array as an array of a namespace, in memory of its own."""
    if array.dtype in FORMATS:
        values = np.frombuffer(array.data, dtype=array.dtype)
    else:  # two in each byte, the first in its lower half
        bytes = np.frombuffer(array.data, dtype="uint8")
        pairs = np.reshape(np.stack([bytes & 15, bytes >> 4], axis=-1), (-1,))
        values = wrapped(np, np.astype(pairs[: count(array.shape)], "int8"), array.dtype)
    return np.reshape(np.astype(values, getattr(np, array.dtype)), array.shape)


def host_array(type: TensorType, value: Any) -> HostArray:
    """Return a copy of a NumPy array as a host array."""
    if type.dtype in FORMATS:
        same = value.dtype.name == type.dtype
        data = value.tobytes() if same else pack(value.reshape(-1).tolist(), type.dtype)
        return HostArray(type.dtype, type.shape, data)
    flat = value.reshape(-1).astype("uint8") & 15
    low, high = flat[::2], flat[1::2].copy()
    high.resize(low.shape)
    return HostArray(type.dtype, type.shape, (low | high << 4).tobytes())


def taken(graph: Graph, fixed: Container[str]) -> dict[str, TensorType]:
    """Return the types of the inputs that are used and not fixed."""
    used = {node.name for node in graph.nodes() if isinstance(node, InputNode)}
    return {n: o.type for n, o in graph.inputs.items() if n in used and n not in fixed}


class Held:
    """Something a backend holds, told from others by identity: an array or a graph."""

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
        """Return an array as one of NumPy."""

    def _executable(
        self, graph: Graph, fixed: Container[str], compiled: Any, seconds: float = 0.0
    ) -> Executable:
        """Hold what was compiled."""
        held = Held(compiled)
        self._graphs.add(held)
        return Executable(
            self,
            inputs=taken(graph, fixed),
            outputs={name: o.type for name, o in graph.outputs.items()},
            handle=held,
            build_seconds=seconds,
        )

    async def tensor(self, type: TensorType, data: HostArray | None = None) -> DeviceTensor:
        """Return a new tensor, zero or filled with data."""
        self._check_open()
        if data is not None:
            check_data(type, data)
        held = Held(self._array(type, data))
        self._tensors[held] = byte_length(type.dtype, count(type.shape))
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
        """Free tensors and graphs at once; releasing twice is allowed."""
        for thing in things:
            thing.handle.value = None
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
