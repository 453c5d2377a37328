"""A graph builder that folds constants: it computes what depends only on them right away."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from webnnm.core.arrays import HostArray, pack
from webnnm.core.dtypes import DataType, is_float
from webnnm.core.errors import DataError
from webnnm.core.shapes import count
from webnnm.formats.onnx.importing.kernels import KERNELS, SmallTensor
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import (
    ConstantNode,
    InputNode,
    Node,
    Operand,
    OperatorNode,
    dependencies,
)
from webnnm.ops.declare.tensors import TensorType

MAX_FOLDED_BYTES = 1 << 19
"""The most bytes of a tensor that is computed here; the device computes larger ones."""
MAX_FOLDED_TOTAL_BYTES = 1 << 26
"""The most bytes that are computed for one graph: a small file must not take hours."""
MAX_SHAPE_SIZE = 64
"""A known value of more elements is data rather than a shape."""


class FoldingBuilder(GraphBuilder):
    """A `GraphBuilder` for which small results of constants are constants themselves.

    >>> b = FoldingBuilder()
    >>> product = b.mul(b.constant([2, 3], "int64"), b.constant(4, "int64"))
    >>> type(product.node).__name__, b.evaluate(product).tolist()
    ('ConstantNode', [8, 12])

    Empty tensors, which WebNN does not have, are always known. `parameters` holds the values of
    inputs that stand for weights: what is computed from them stays in the graph, but its values can
    be requested. Without `folds_floats`, that is so for floats that are computed as well.
    """

    def __init__(
        self, parameters: Mapping[str, HostArray] | None = None, *, folds_floats: bool = True
    ) -> None:
        super().__init__()
        self.parameters: Mapping[str, HostArray] = {} if parameters is None else parameters
        self.work = 0
        self._folds_floats = folds_floats
        self._tables = set[int]()
        self._asked: dict[tuple[int, int], HostArray | None] = {}

    def _add(self, key: Hashable, node: Node) -> tuple[Operand, ...]:
        """Add a node, or the constants to which it evaluates."""
        if isinstance(node, OperatorNode) and not self._stays(node):
            results = self._fold(node, _constant)
            if results is not None:
                self._results_by_key[key] = tuple([self.constant(array) for array in results])
                return self._results_by_key[key]
        return super()._add(key, node)

    def table(self, array: HostArray) -> Operand:
        """Return a tensor of the file as a constant, of which rows that are selected are data."""
        x = self.constant(array)
        if x.rank > 1 and count(x.shape) > MAX_SHAPE_SIZE:
            self._tables.add(x.number)
        return x

    def _stays(self, node: OperatorNode) -> bool:
        """Return whether a node stays in the graph although its result is known."""
        name, first = node.operator.name, node.operands[0]
        is_row = name == "gather" and first is not None and first.number in self._tables
        is_float_kept = not self._folds_floats and is_float(node.types[0].dtype)
        return is_row or is_float_kept or name == "identity"

    def evaluate(self, x: Operand) -> HostArray | None:
        """Compute the values of a tensor; None if they depend on an input or there are too many."""
        for node in dependencies([x]):
            if (node.number, 0) in self._asked:
                continue
            values = self._value(node)
            for index in range(len(node.types)):
                self._asked[node.number, index] = None if values is None else values[index]
        return self._asked[x.number, x.index]

    def _value(self, node: Node) -> list[HostArray] | None:
        """Return the results of a node whose operands were requested."""
        if isinstance(node, ConstantNode):
            return [node.array]
        if isinstance(node, InputNode):
            array = self.parameters.get(node.name)
            return None if array is None else [array]
        if not isinstance(node, OperatorNode):
            return None
        return self._fold(node, lambda operand: self._asked[operand.number, operand.index])

    def _fold(
        self, node: OperatorNode, value: Callable[[Operand], HostArray | None]
    ) -> list[HostArray] | None:
        """Return the results of a node, None if they are not known, or not to be computed here."""
        sizes = [type.nbytes for type in node.types]
        if not all(sizes):
            return None if any(sizes) else [empty(*type) for type in node.types]
        operands: list[SmallTensor] = []
        for operand in node.operands:
            array = None if operand is None else value(operand)
            if array is None or operand is None:
                return None
            sizes.append(operand.type.nbytes)
            operands.append(
                SmallTensor(operand.type, ())
                if sizes[-1] > MAX_FOLDED_BYTES
                else _small_tensor(array)
            )
        if max(sizes) > MAX_FOLDED_BYTES or self.work + sum(sizes) > MAX_FOLDED_TOTAL_BYTES:
            return None
        self.work += sum(sizes)
        return _results(node, operands)


def _constant(operand: Operand) -> HostArray | None:
    return operand.node.array if isinstance(operand.node, ConstantNode) else None


def _small_tensor(array: HostArray) -> SmallTensor:
    return SmallTensor(TensorType(array.dtype, array.shape), list(array.values()))


def _results(node: OperatorNode, operands: list[SmallTensor]) -> list[HostArray] | None:
    """Run the kernel of a node; return None if the device has to decide, as for 1/0."""
    kernel = KERNELS.get(node.operator.name)
    (type, *more) = node.types
    if kernel is None or more:
        return None
    try:
        values = kernel(type, *operands, **node.options)
        if is_float(type.dtype) and any(map(math.isnan, values)):
            return None
        data: Any = array("f", values) if type.dtype == "float32" else pack(values, type.dtype)
    except (ArithmeticError, ValueError, DataError):
        return None
    return [HostArray(type.dtype, type.shape, data)]


def empty(dtype: DataType, shape: tuple[int, ...]) -> HostArray:
    """Return a tensor without elements."""
    return HostArray(dtype, shape, b"")
