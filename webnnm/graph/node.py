"""The tensor graph: immutable nodes with concrete types, operands that point at their results.

The nodes of a graph are in its builder, numbered in the order in which they were made, and operands
refer to them by number: graphs of any depth are walked, and freed, without recursion.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, Protocol

from webnnm import ops
from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import DataType
from webnnm.core.errors import Span
from webnnm.core.record import record
from webnnm.core.shapes import Shape
from webnnm.ops.declare.operator import AnyOperator
from webnnm.ops.declare.tensors import Builder, TensorType


@record
class Node:
    """A node, identified by itself; `types` are the types of its results.

    `number` is its index in its builder, after everything that it depends on. `label` and `span`
    say for which part of the model it was created.
    """

    number: int
    types: tuple[TensorType, ...]
    label: str
    span: Span | None

    def at(self, number: int) -> Node:
        """Return the node with another number."""
        return Node(number, self.types, self.label, self.span)


@record
class InputNode(Node):
    """A named input."""

    name: str

    def at(self, number: int) -> InputNode:
        """Return the node with another number."""
        return InputNode(number, self.types, self.label, self.span, self.name)


@record
class ConstantNode(Node):
    """A constant tensor; `digest` represents its bytes: equal constants have equal digests."""

    array: HostArray
    digest: bytes

    def at(self, number: int) -> ConstantNode:
        """Return the node with another number."""
        return ConstantNode(number, self.types, self.label, self.span, self.array, self.digest)


@record
class OperatorNode(Node):
    """An operator applied to operands; absent optional operands are None.

    Composites occur here only if WebNN has a method of their own.
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
        """Return the node with another number, operands, types and options."""
        return OperatorNode(
            number,
            self.types if types is None else types,
            self.label,
            self.span,
            self.operator,
            self.operands if operands is None else operands,
            self.options if options is None else options,
        )


class Nodes(Builder, Protocol):
    """The builder of a graph, which has its nodes and the results of each of them."""

    nodes: list[Node]
    results: list[tuple[Operand, ...]]


@record
class Operand:
    """Result `index` of a node, as users and rules see it, with a type and arithmetic.

    A builder has one operand for each result.

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
        return self._apply_operator("add", self, other)

    def __radd__(self, other: float) -> Operand:
        return self._apply_operator("add", other, self)

    def __sub__(self, other: Operand | float) -> Operand:
        return self._apply_operator("sub", self, other)

    def __rsub__(self, other: float) -> Operand:
        return self._apply_operator("sub", other, self)

    def __mul__(self, other: Operand | float) -> Operand:
        return self._apply_operator("mul", self, other)

    def __rmul__(self, other: float) -> Operand:
        return self._apply_operator("mul", other, self)

    def __truediv__(self, other: Operand | float) -> Operand:
        return self._apply_operator("div", self, other)

    def __rtruediv__(self, other: float) -> Operand:
        return self._apply_operator("div", other, self)

    def __neg__(self) -> Operand:
        return self._apply_operator("neg", self)

    def _apply_operator(self, name: str, *operands: Operand | float) -> Operand:
        """Apply an operator; its method, which supports all ways of calling, would take longer."""
        return self.builder.apply(ops.method(name), operands, {})

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
    _places: dict[str, list[int]] = field(
        init=False, repr=False, compare=False, default_factory=dict[str, list[int]]
    )

    def nodes(self) -> Sequence[Node]:
        """Return every node that an output depends on, operands before users."""
        if not self._nodes:
            self._nodes.append(dependencies(self.outputs.values()))
        return self._nodes[0]

    def _operators(self) -> Mapping[str, list[int]]:
        """Return the indices of the operators among the nodes, by name."""
        if not self._places:
            indices = self._places
            for index, node in enumerate(self.nodes()):
                if isinstance(node, OperatorNode):
                    name = node.operator.name
                    if name in indices:
                        indices[name].append(index)
                    else:
                        indices[name] = [index]
        return self._places

    def uses(self, names: Collection[str]) -> bool:
        """Return whether an operator of one of these names is among the nodes."""
        return not self._operators().keys().isdisjoint(names)

    def names(self, chosen: Callable[[AnyOperator], bool]) -> list[str]:
        """Return the names of the operators among the nodes that are chosen."""
        nodes = self.nodes()
        first = {name: nodes[places[0]] for name, places in self._operators().items()}
        return [
            name
            for name, node in first.items()
            if isinstance(node, OperatorNode) and chosen(node.operator)
        ]

    def places(self, names: Collection[str]) -> list[int]:
        """Return the indices of the operators of these names among the nodes, in order."""
        lists = [places for name, places in self._operators().items() if name in names]
        return lists[0] if len(lists) == 1 else sorted(chain.from_iterable(lists))


def dependencies(roots: Iterable[Operand], stop: Container[int] = ()) -> list[Node]:
    """Return the nodes of the roots and all that they depend on, once each, operands before users.

    The dependencies of nodes whose numbers are in `stop` are left out.
    """
    pending: list[Operand | None] = list(roots)
    nodes: dict[int, Node] = {}
    while pending:
        operand = pending.pop()
        if operand is None or (number := operand.number) in nodes:
            continue
        node = nodes[number] = operand.builder.nodes[number]
        if isinstance(node, OperatorNode) and number not in stop:
            pending += node.operands
    return [nodes[number] for number in sorted(nodes)]
