"""Small work whose values are on the host is done there: the device would take longer."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from webnnm.core.dtypes import FORMATS, DataType, byte_length
from webnnm.core.shapes import count
from webnnm.eager.storage import Storage
from webnnm.graph.node import Graph, Operand, OperatorNode

HOST_ELEMENTS = 1024
"""Elements up to which an array is small. A call to a device takes some 0.2 ms, and reading values
back takes as long; in a page NumPy computes this many elements in 0.02 ms."""
HOST_OPERATIONS = 64
"""Operations up to which work is small: for more, one dispatch is worth its time."""
HOST_DTYPES = frozenset(dtype for dtype in FORMATS if byte_length(dtype, 1) < 8)
"""The types that are computed on the host: those that every device computes, so that what works
does not depend on the size."""


def numpy_is_loaded() -> bool:
    """Return whether the host can compute; this loads nothing."""
    return "numpy" in sys.modules


def is_small(operands: Iterable[Operand], elements: int) -> bool:
    """Return whether these operands take few operations on few elements each."""
    seen: set[int] = set()
    open = [operand.node for operand in operands]
    while open:
        node = open.pop()
        if node.number in seen:
            continue
        seen.add(node.number)
        if isinstance(node, OperatorNode):
            open += [operand.node for operand in node.operands if operand is not None]
        if len(seen) > HOST_OPERATIONS or any(
            type.dtype not in HOST_DTYPES or count(type.shape) > elements for type in node.types
        ):
            return False
    return True


class HostProgram:
    """A graph that NumPy computes from what storages hold on the host.

    `inputs` are the names of what it reads, `counts` is how many Python numbers it takes.
    """

    def __init__(self, graph: Graph, inputs: Sequence[str], counts: Mapping[DataType, int]) -> None:
        from webnnm.backends.kernels import Program, computable, host_array
        from webnnm.backends.reference import Namespace

        self._inputs = [*inputs]
        self._numbers = [
            number_name(dtype, index) for dtype, size in counts.items() for index in range(size)
        ]
        self._host_array = host_array
        self._types = [operand.type for operand in graph.outputs.values()]
        self._numpy = Namespace()
        self._program = Program(computable(graph), self._numpy)

    def run(
        self, inputs: Sequence[Storage], numbers: Iterable[float], outputs: Sequence[Storage]
    ) -> None:
        """Compute the outputs; `numbers` are those of all types, one after the other."""
        arguments: dict[str, Any] = dict(zip(self._numbers, numbers, strict=True))
        for name, storage in zip(self._inputs, inputs, strict=True):
            arguments[name] = storage.host
        with self._numpy.errstate(all="ignore"):
            results = self._program(arguments)
        for storage, type, value in zip(outputs, self._types, results.values(), strict=True):
            storage.host = self._host_array(type, value)


def number_name(dtype: DataType, index: int) -> str:
    """Return the name of the input that stands for a Python number.

    >>> number_name("float32", 0)
    'number 0:float32'
    """
    return f"number {index}:{dtype}"
