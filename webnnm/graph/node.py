"""The tensor graph: immutable nodes with concrete types, operands that point at their results.

The nodes of a graph lie in its builder, numbered in the order they were made, and operands name
them by number: graphs of any depth are walked, and freed, without recursion.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
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

    def at(self, number: int) -> Node:
        """Return the node at another place."""
        return replace(self, number=number)


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class InputNode(Node):
    """A named input."""

    name: str


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class ConstantNode(Node):
    """A constant tensor; `digest` stands for its bytes: equal ones have equal digests."""

    array: HostArray
    digest: bytes

    def at(self, number: int) -> ConstantNode:
        """Return the node at another place."""
        # dataclasses.replace takes five times as long, and graphs are rebuilt often.
        return ConstantNode(
            number=number,
            types=self.types,
            label=self.label,
            span=self.span,
            array=self.array,
            digest=self.digest,
        )


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class OperatorNode(Node):
    """An operator applied to operands; absent optional operands are None.

    Composites stand here only if WebNN has a method of their own.
    """

    operator: AnyOperator
    operands: tuple[Operand | None, ...]
    options: Mapping[str, Any]

    def at(
        self,
        number: int,
        operands: tuple[Operand | None, ...] | None = None,
        types: tuple[TensorType, ...] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> OperatorNode:
        """Return the node at another place, with other operands, types and options."""
        return OperatorNode(
            number=number,
            types=self.types if types is None else types,
            label=self.label,
            span=self.span,
            operator=self.operator,
            operands=self.operands if operands is None else operands,
            options=self.options if options is None else options,
        )


class Nodes(Builder, Protocol):
    """The builder of a graph, in which its nodes lie, and the results of each of them."""

    nodes: list[Node]
    results: list[tuple[Operand, ...]]


@dataclass(frozen=True, eq=False, slots=True)
class Operand:
    """Result `index` of a node, as users and rules hold it: it has a type and an algebra.

    There is one operand for each result of a builder.

    >>> from webnnm import GraphBuilder
    >>> b = GraphBuilder()
    >>> x = b.input("x", "float32", [2, 3])
    >>> (x * 2 + 1).reduce_sum(axes=[1])
    float32[2]

    Every operator of the registry is a method in snake_case with this tensor as first operand.
    """

    builder: Nodes
    number: int
    index: int
    type: TensorType

    @property
    def node(self) -> Node:
        """The node that this is a result of."""
        return self.builder.nodes[self.number]

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
        return partial(getattr(self.builder, name), self)


@dataclass(frozen=True, slots=True)
class Graph:
    """Named outputs with everything they depend on, and the declared inputs in order."""

    outputs: Mapping[str, Operand]
    inputs: Mapping[str, Operand]
    _nodes: list[Sequence[Node]] = field(
        init=False, repr=False, compare=False, default_factory=list[Sequence[Node]]
    )

    def nodes(self) -> Sequence[Node]:
        """Return every node that an output depends on, operands before users."""
        if not self._nodes:
            self._nodes.append(dependencies(self.outputs.values()))
        return self._nodes[0]

    def uses(self, names: Container[str]) -> bool:
        """Tell whether an operator of one of these names is among the nodes."""
        return any(
            isinstance(node, OperatorNode) and node.operator.name in names for node in self.nodes()
        )


def dependencies(roots: Iterable[Operand], stop: Container[int] = ()) -> list[Node]:
    """Return the nodes of the roots and all they depend on, operands before users, each once.

    What the nodes whose numbers are in `stop` depend on is left out.
    """
    waiting: list[Operand | None] = list(roots)
    found: dict[int, Node] = {}
    while waiting:
        operand = waiting.pop()
        if operand is None or operand.number in found:
            continue
        node = found[operand.number] = operand.node
        if isinstance(node, OperatorNode) and operand.number not in stop:
            waiting += node.operands
    return [found[number] for number in sorted(found)]
