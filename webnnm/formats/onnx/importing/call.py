"""The view of a node that an entry of the table gets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import DataType, byte_length
from webnnm.core.errors import DataError
from webnnm.core.shapes import count, show
from webnnm.formats.onnx import tensors
from webnnm.formats.onnx.importing.folding import FoldingBuilder, empty
from webnnm.formats.onnx.importing.refusals import (
    UnknownValue,
    describe_node,
    not_supported,
    too_large,
)
from webnnm.formats.onnx.messages import (
    AttributeProto,
    GraphProto,
    NodeProto,
    TensorProto,
)
from webnnm.formats.onnx.reader import invalid
from webnnm.graph.node import InputNode, Operand, dependencies

Scope = dict[str, Operand | TensorProto | DataError | None]
"""The values of a graph by name; an absent optional one is None.

Tensors of the file become operands when a node uses them. An input whose type WebNN lacks is the
error that its users raise.
"""


class Surroundings(Protocol):
    """The surroundings of a node in its model."""

    builder: FoldingBuilder
    external: tensors.External
    codes: dict[str, int]

    def tensor(self, tensor: TensorProto) -> Operand:
        """Return a tensor of the file."""
        ...

    def uses(self, node: NodeProto) -> int:
        """Return how often a node that draws random numbers was imported before."""
        ...

    def subgraph(
        self, graph: GraphProto, outer: Scope, inputs: Sequence[Operand | None] = ()
    ) -> list[Operand]:
        """Return the outputs of a subgraph."""
        ...


MAX_LIST_SIZE = 1 << 22
"""How many numbers an entry may write as constants one by one: interpolation weights."""
MAX_ARRAY_BYTES = 1 << 26
"""How many bytes an entry may write as a constant at once: positions, ranges."""


class Call:
    """A node with its attributes, and the builder that its result is built with.

    `b` is the builder, `opset` the version of the node's operators.
    """

    def __init__(self, importer: Surroundings, node: NodeProto, opset: int, scope: Scope) -> None:
        self.b: FoldingBuilder = importer.builder
        self.node = node
        self.opset = opset
        self.scope = scope
        self.importer = importer
        self._attributes: dict[str, AttributeProto] = {a.name: a for a in node.attribute}

    # Attributes.

    def has(self, name: str) -> bool:
        """Return whether an attribute is given."""
        return name in self._attributes

    def integer(self, name: str, default: int | None = None) -> int:
        """Return an attribute that is an integer."""
        return self._require(name).i if self.has(name) or default is None else default

    def flag(self, name: str, default: int = 0) -> bool:
        """Return an attribute that is 0 or 1."""
        return self.integer(name, default) != 0

    def number(self, name: str, default: float | None = None) -> float:
        """Return an attribute that is a float."""
        return self._require(name).f if self.has(name) or default is None else default

    def string(self, name: str, default: str) -> str:
        """Return an attribute that is a string."""
        return _text(self._attributes[name].s) if self.has(name) else default

    def integers(self, name: str, default: Sequence[int] | None = None) -> list[int]:
        """Return an attribute that is a list of integers."""
        return list(self._require(name).ints if self.has(name) or default is None else default)

    def numbers(self, name: str, default: Sequence[float] | None = None) -> list[float]:
        """Return an attribute that is a list of floats."""
        return list(self._require(name).floats if self.has(name) or default is None else default)

    def strings(self, name: str, default: Sequence[str]) -> list[str]:
        """Return an attribute that is a list of strings."""
        if not self.has(name):
            return list(default)
        return [_text(text) for text in self._attributes[name].strings]

    def tensor(self, name: str) -> TensorProto:
        """Return an attribute that is a tensor."""
        tensor = self._require(name).t
        if tensor is None:
            raise invalid(f"attribute {name} of {describe_node(self.node)} has no tensor")
        return tensor

    def graph(self, name: str) -> GraphProto:
        """Return an attribute that is a graph."""
        graph = self._require(name).g
        if graph is None:
            raise invalid(f"attribute {name} of {describe_node(self.node)} has no graph")
        return graph

    def data_type(self, code: int) -> DataType:
        """Return the type for one of ONNX; booleans are uint8."""
        return tensors.dtype(code, f"the result of {describe_node(self.node)}")

    def code(self, index: int) -> int | None:
        """Return the ONNX number of the type of an input, None if the file does not tell it."""
        names = self.node.input
        return self.importer.codes.get(names[index]) if index < len(names) else None

    def axis(self, value: int, rank: int) -> int:
        """Return an axis counted from the front."""
        if not -rank <= value < max(rank, 1):
            raise invalid(f"{describe_node(self.node)} works along axis {value} of {rank}")
        return value + rank if value < 0 else value

    def axes(self, values: Sequence[int], rank: int) -> list[int]:
        """Return distinct axes counted from the front."""
        axes = [self.axis(value, rank) for value in values]
        if len(set(axes)) != len(axes):
            raise invalid(f"{describe_node(self.node)} works along axes {show(values)}")
        return axes

    # Values.

    def require_values(self, x: Operand, what: str) -> HostArray:
        """Return the values of an operand. Raises `UnknownValue` if they depend on inputs."""
        array = self.b.evaluate(x)
        if array is None:
            inputs = {
                node.name
                for node in dependencies([x])
                if isinstance(node, InputNode) and node.name not in self.b.parameters
            }
            message = f"{what} of {describe_node(self.node)} (opset {self.opset}) is computed"
            if count(x.shape) > MAX_LIST_SIZE:
                raise too_large(
                    f"{what} of {describe_node(self.node)}", count(x.shape), MAX_LIST_SIZE
                )
            raise UnknownValue(message, inputs, x)
        if count(array.shape) > MAX_LIST_SIZE:
            raise too_large(
                f"{what} of {describe_node(self.node)}", count(array.shape), MAX_LIST_SIZE
            )
        return array

    def require_integers(self, x: Operand, what: str) -> list[int]:
        """Return the integers in an operand that holds shapes, axes or sizes."""
        return [int(value) for value in self.require_values(x, what).values()]

    def require_floats(self, x: Operand, what: str) -> list[float]:
        """Return the numbers in an operand that has to be known."""
        return [float(value) for value in self.require_values(x, what).values()]

    def require_scalar(self, x: Operand, what: str) -> Any:
        """Return the only element of an operand that has to be known."""
        values = self.require_values(x, what).values()
        if len(values) != 1:
            raise invalid(f"{what} of {describe_node(self.node)} has {len(values)} elements")
        return values[0]

    def integers_or_attribute(
        self, x: Operand | None, name: str, default: Sequence[int]
    ) -> list[int]:
        """Return integers that are an operand in newer opsets, and an attribute in older ones."""
        return self.integers(name, default) if x is None else self.require_integers(x, name)

    def empty(self, dtype: DataType, shape: Sequence[int]) -> Operand:
        """Return a tensor without elements."""
        return self.b.constant(empty(dtype, tuple(shape)))

    def check_size(self, amount: int, what: str, limit: int = MAX_LIST_SIZE) -> int:
        """Return how many numbers an entry writes one by one. Raises NNM815 for too many."""
        if amount > limit:
            raise too_large(f"{what} of {describe_node(self.node)}", amount, limit)
        return amount

    def check_bytes(self, amount: int, dtype: DataType, what: str) -> int:
        """Return how many numbers a constant has. Raises NNM815 for too many bytes."""
        size = byte_length(dtype, amount)
        if size > MAX_ARRAY_BYTES:
            raise too_large(
                f"{what} of {describe_node(self.node)}, in bytes,", size, MAX_ARRAY_BYTES
            )
        return amount

    def not_supported(self, reason: str, hint: str = "") -> DataError:
        """Return the error for a use of the operator that cannot be imported."""
        return not_supported(self.node, self.opset, reason, hint)

    def invalid(self, reason: str) -> DataError:
        """Return the error for a node that contradicts itself."""
        return invalid(f"{describe_node(self.node)}: {reason}")

    def _require(self, name: str) -> AttributeProto:
        if name not in self._attributes:
            raise invalid(f"{describe_node(self.node)} has no attribute {name}")
        return self._attributes[name]


def _text(data: memoryview[int] | bytes) -> str:
    return bytes(data).decode("utf-8", "replace")
