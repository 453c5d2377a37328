"""The view of a node that an entry of the table gets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import DataType
from webnnm.core.errors import DataError
from webnnm.core.shapes import count, show
from webnnm.formats.onnx import tensors
from webnnm.formats.onnx.importing.folding import FoldingBuilder, empty
from webnnm.formats.onnx.importing.refusals import (
    UnknownValue,
    spoken,
    too_large,
    unsupported,
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
        self, graph: GraphProto, outer: Scope, given: Sequence[Operand | None] = ()
    ) -> list[Operand]:
        """Return the outputs of a subgraph."""
        ...


MOST_LISTED = 1 << 22
"""How many numbers an entry may write as constants one by one: interpolation weights."""
MOST_WRITTEN = 1 << 23
"""How many numbers an entry may write as constants at once: positions, ranges."""


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
        return self._required(name).i if self.has(name) or default is None else default

    def flag(self, name: str, default: int = 0) -> bool:
        """Return an attribute that is 0 or 1."""
        return self.integer(name, default) != 0

    def number(self, name: str, default: float | None = None) -> float:
        """Return an attribute that is a float."""
        return self._required(name).f if self.has(name) or default is None else default

    def word(self, name: str, default: str) -> str:
        """Return an attribute that is a string."""
        return _text(self._attributes[name].s) if self.has(name) else default

    def integers(self, name: str, default: Sequence[int] | None = None) -> list[int]:
        """Return an attribute that is a list of integers."""
        return list(self._required(name).ints if self.has(name) or default is None else default)

    def numbers(self, name: str, default: Sequence[float] | None = None) -> list[float]:
        """Return an attribute that is a list of floats."""
        return list(self._required(name).floats if self.has(name) or default is None else default)

    def words(self, name: str, default: Sequence[str]) -> list[str]:
        """Return an attribute that is a list of strings."""
        if not self.has(name):
            return list(default)
        return [_text(text) for text in self._attributes[name].strings]

    def tensor(self, name: str) -> TensorProto:
        """Return an attribute that is a tensor."""
        found = self._required(name).t
        if found is None:
            raise invalid(f"attribute {name} of {spoken(self.node)} has no tensor")
        return found

    def graph(self, name: str) -> GraphProto:
        """Return an attribute that is a graph."""
        found = self._required(name).g
        if found is None:
            raise invalid(f"attribute {name} of {spoken(self.node)} has no graph")
        return found

    def data_type(self, code: int) -> DataType:
        """Return the type for one of ONNX; booleans are uint8."""
        return tensors.dtype(code, f"the result of {spoken(self.node)}")

    def code(self, place: int) -> int | None:
        """Return the ONNX number of the type of an input, None if the file does not tell it."""
        names = self.node.input
        return self.importer.codes.get(names[place]) if place < len(names) else None

    def axis(self, value: int, rank: int) -> int:
        """Return an axis counted from the front."""
        if not -rank <= value < max(rank, 1):
            raise invalid(f"{spoken(self.node)} works along axis {value} of {rank}")
        return value + rank if value < 0 else value

    def axes(self, values: Sequence[int], rank: int) -> list[int]:
        """Return distinct axes counted from the front."""
        found = [self.axis(value, rank) for value in values]
        if len(set(found)) != len(found):
            raise invalid(f"{spoken(self.node)} works along axes {show(values)}")
        return found

    # Values.

    def known(self, x: Operand, what: str) -> HostArray:
        """Return the values of an operand. Raises `UnknownValue` if they depend on inputs."""
        found = self.b.known(x)
        if found is None:
            inputs = {
                node.name
                for node in dependencies([x])
                if isinstance(node, InputNode) and node.name not in self.b.parameters
            }
            message = f"{what} of {spoken(self.node)} (opset {self.opset}) is computed"
            if count(x.shape) > MOST_LISTED:
                raise too_large(f"{what} of {spoken(self.node)}", count(x.shape), MOST_LISTED)
            raise UnknownValue(message, inputs, x)
        if count(found.shape) > MOST_LISTED:
            raise too_large(f"{what} of {spoken(self.node)}", count(found.shape), MOST_LISTED)
        return found

    def listed(self, x: Operand, what: str) -> list[int]:
        """Return the integers in an operand that holds shapes, axes or sizes."""
        return [int(value) for value in self.known(x, what).values()]

    def floats(self, x: Operand, what: str) -> list[float]:
        """Return the numbers in an operand that has to be known."""
        return [float(value) for value in self.known(x, what).values()]

    def scalar(self, x: Operand, what: str) -> Any:
        """Return the only element of an operand that has to be known."""
        values = self.known(x, what).values()
        if len(values) != 1:
            raise invalid(f"{what} of {spoken(self.node)} has {len(values)} elements")
        return values[0]

    def listed_or(self, x: Operand | None, name: str, default: Sequence[int]) -> list[int]:
        """Return integers that are an operand in newer opsets, and an attribute in older ones."""
        return self.integers(name, default) if x is None else self.listed(x, name)

    def empty(self, dtype: DataType, shape: Sequence[int]) -> Operand:
        """Return a tensor without elements."""
        return self.b.constant(empty(dtype, tuple(shape)))

    def few(self, amount: int, what: str, most: int = MOST_LISTED) -> int:
        """Return how many numbers an entry writes as constants. Raises NNM815 for too many."""
        if amount > most:
            raise too_large(f"{what} of {spoken(self.node)}", amount, most)
        return amount

    def unsupported(self, reason: str, hint: str = "") -> DataError:
        """Return the error for a use of the operator that cannot be imported."""
        return unsupported(self.node, self.opset, reason, hint)

    def invalid(self, reason: str) -> DataError:
        """Return the error for a node that contradicts itself."""
        return invalid(f"{spoken(self.node)}: {reason}")

    def _required(self, name: str) -> AttributeProto:
        if name not in self._attributes:
            raise invalid(f"{spoken(self.node)} has no attribute {name}")
        return self._attributes[name]


def _text(data: memoryview[int] | bytes) -> str:
    return bytes(data).decode("utf-8", "replace")
