"""The tensor graph: immutable nodes with concrete types, operands that point at their results.

The nodes of a graph lie in its builder, numbered in the order they were made, and operands name
them by number: graphs of any depth are walked, and freed, without recursion.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import DataType
from webnnm.core.errors import Span
from webnnm.core.shapes import Shape
from webnnm.ops.declare.operator import AnyOperator
from webnnm.ops.declare.tensors import Builder, TensorType


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Node:
    """A node, identified by itself; `types` are the types of its results.

    `number` is its place in its builder, behind everything it depends on. `label` and `span` name
    the place of the model that the node was made for.
    """

    number: int
    types: tuple[TensorType, ...]
    label: str = ""
    span: Span | None = None


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class InputNode(Node):
    """A named input."""

    name: str


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class ConstantNode(Node):
    """A constant tensor."""

    array: HostArray


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class OperatorNode(Node):
    """An operator applied to operands; absent optional operands are None.

    Composites stand here only if WebNN has a method of their own.
    """

    operator: AnyOperator
    operands: tuple[Operand | None, ...]
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def at(self, number: int, operands: tuple[Operand | None, ...]) -> OperatorNode:
        """Return the node at another place, with other operands of the same types."""
        # dataclasses.replace takes five times as long, and graphs are rebuilt often.
        return OperatorNode(
            number=number,
            types=self.types,
            label=self.label,
            span=self.span,
            operator=self.operator,
            operands=operands,
            options=self.options,
        )


class Nodes(Builder, Protocol):
    """The builder of a graph, in which its nodes lie."""

    nodes: list[Node]


@dataclass(frozen=True, slots=True)
class Operand:
    """Result `index` of a node, as users and rules hold it: it has a type and an algebra.

    >>> from webnnm import GraphBuilder
    >>> b = GraphBuilder()
    >>> x = b.input("x", "float32", [2, 3])
    >>> (x * 2 + 1).reduce_sum(axes=[1])
    float32[2]

    Every operator of the registry is a method in snake_case with this tensor as first operand.
    """

    builder: Nodes = field(repr=False)
    number: int
    index: int = 0

    @property
    def node(self) -> Node:
        """The node that this is a result of."""
        return self.builder.nodes[self.number]

    @property
    def type(self) -> TensorType:
        """The data type and shape."""
        return self.node.types[self.index]

    @property
    def dtype(self) -> DataType:
        """The data type."""
        return self.type.dtype

    @property
    def shape(self) -> Shape:
        """The shape."""
        return self.type.shape

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.type.shape)

    def __repr__(self) -> str:
        return str(self.type)

    def __add__(self, other: Operand | float) -> Operand:
        return self.builder.add(self, other)

    def __radd__(self, other: float) -> Operand:
        return self.builder.add(other, self)

    def __sub__(self, other: Operand | float) -> Operand:
        return self.builder.sub(self, other)

    def __rsub__(self, other: float) -> Operand:
        return self.builder.sub(other, self)

    def __mul__(self, other: Operand | float) -> Operand:
        return self.builder.mul(self, other)

    def __rmul__(self, other: float) -> Operand:
        return self.builder.mul(other, self)

    def __truediv__(self, other: Operand | float) -> Operand:
        return self.builder.div(self, other)

    def __rtruediv__(self, other: float) -> Operand:
        return self.builder.div(other, self)

    def __neg__(self) -> Operand:
        return self.builder.neg(self)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):  # protocols such as __array__ are not operators
            raise AttributeError(name)
        method = getattr(self.builder, name)

        def apply(*operands: Any, **options: Any) -> Any:
            return method(self, *operands, **options)

        return apply


@dataclass(frozen=True, slots=True)
class Graph:
    """Named outputs with everything they depend on, and the declared inputs in order."""

    outputs: Mapping[str, Operand]
    inputs: Mapping[str, Operand]

    def nodes(self) -> list[Node]:
        """Return every node that an output depends on, operands before users."""
        return dependencies(self.outputs.values())


def dependencies(roots: Iterable[Operand], stop: Container[int] = ()) -> list[Node]:
    """Return the nodes of the roots and all they depend on, operands before users, each once.

    What the nodes whose numbers are in `stop` depend on is left out.
    """
    waiting = list(roots)
    found: dict[int, Node] = {}
    while waiting:
        operand = waiting.pop()
        if operand.number in found:
            continue
        node = found[operand.number] = operand.node
        if isinstance(node, OperatorNode) and operand.number not in stop:
            waiting += [o for o in node.operands if o is not None]
    return [found[number] for number in sorted(found)]
