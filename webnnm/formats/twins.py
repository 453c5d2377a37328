"""Graphs of the same text for several sizes, traversed together: differences are open sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from webnnm.core.errors import ModelError, Span
from webnnm.formats.sizes import CODE, HINT, inexpressible, size_of
from webnnm.graph.node import ConstantNode, Graph, InputNode, Node, Operand, OperatorNode
from webnnm.ops.declare.tensors import OperatorError

Key = tuple[int, ...]
"""The numbers of corresponding nodes."""
V = TypeVar("V")


@dataclass(frozen=True)
class Twins:
    """The corresponding nodes of several graphs."""

    nodes: tuple[Node, ...]

    @property
    def key(self) -> Key:
        """The numbers of the nodes."""
        return tuple(node.number for node in self.nodes)

    @property
    def types(self) -> list[Any]:
        """The types of the results, with open sizes where they differ."""
        columns = zip(*(node.types for node in self.nodes), strict=True)
        return [(types[0].dtype, merge_sizes([type.shape for type in types])) for types in columns]

    def operands(self) -> list[tuple[Twins, int] | None]:
        """Return the operands: the nodes that produce them, and which of their results they are."""
        columns = zip(*(_operands(node) for node in self.nodes), strict=True)
        return [_together(column) for column in columns]

    def options(self) -> dict[str, Any]:
        """Return the options of the operator, with open sizes where they differ."""
        rows = [node.options for node in self.nodes if isinstance(node, OperatorNode)]
        return {
            name: merge_sizes([row[name] for row in rows]) for name in (rows[0] if rows else ())
        }


def toposort(graphs: Sequence[Graph], source: str) -> list[Twins]:
    """Return the corresponding nodes of all graphs in topological order, operands before users.

    Raises `ModelError` NNM902 if the graphs differ in structure.
    """
    pending = [Twins(tuple(o.node for o in outputs)) for outputs in outputs_of(graphs).values()]
    by_key: dict[Key, Twins] = {}
    while pending:
        twins = pending.pop()
        if twins.key in by_key:
            continue
        by_key[twins.key] = twins
        _check_alike(twins, source)
        pending += [operand[0] for operand in twins.operands() if operand is not None]
    return [by_key[key] for key in sorted(by_key)]


def lower_graphs(
    graphs: Sequence[Graph],
    arguments: Mapping[str, V],
    source: str,
    *,
    constant: Callable[[Twins], V],
    apply: Callable[[Twins, Sequence[V | None]], tuple[V, ...]],
    learn: Callable[[V], None],
) -> dict[str, V]:
    """Write each node of graphs by `constant` or `apply`.

    `arguments` are the inputs by name; `learn` gets every result once. Raises `ModelError` with the
    place in the text for errors of operators.
    """
    values: dict[Key, tuple[V, ...]] = {}
    for twins in toposort(graphs, source):
        node = twins.nodes[0]
        if isinstance(node, InputNode):
            values[twins.key] = (arguments[node.name],)
            continue
        try:
            if isinstance(node, ConstantNode):
                values[twins.key] = (constant(twins),)
            else:
                operands = [o and values[o[0].key][o[1]] for o in twins.operands()]
                values[twins.key] = apply(twins, operands)
        except OperatorError as error:
            raise locate_error(error, node, source) from error
        for value in values[twins.key]:
            learn(value)
    return {
        name: values[tuple(o.number for o in outputs)][outputs[0].index]
        for name, outputs in outputs_of(graphs).items()
    }


def outputs_of(graphs: Sequence[Graph]) -> Mapping[str, tuple[Operand, ...]]:
    """Return the corresponding outputs by name."""
    return {name: tuple(g.outputs[name] for g in graphs) for name in graphs[0].outputs}


def locate_error(error: Any, node: Node, source: str) -> ModelError:
    """Return an error about a node that shows the place in the model text."""
    name = f'"{node.label}": ' if node.label else ""
    return ModelError(
        error.code,
        f"{name}{error.message}",
        hint=error.hint,
        source=source or None,
        span=node.span if isinstance(node.span, Span) else None,
    )


def merge_sizes(values: Sequence[Any]) -> Any:
    """Return one value for several: their common value, or an open size where sizes differ.

    >>> merge_sizes([(2, "a"), (3, "a"), (5, "a")])
    (Size(values=(2, 3, 5)), 'a')

    Raises `OperatorError` NNM902 for other differences.
    """
    first: Any = values[0]
    if all(value == first or (value != value and first != first) for value in values):
        return first
    if all(isinstance(value, int) for value in values):
        return size_of(values)
    if all(isinstance(value, tuple) and len(value) == len(first) for value in values):
        return tuple(merge_sizes(column) for column in zip(*values, strict=True))
    raise inexpressible(f"an option is {first} for one size and {values[1]} for another")


def _operands(node: Node) -> tuple[Operand | None, ...]:
    return node.operands if isinstance(node, OperatorNode) else ()


def _together(column: Sequence[Operand | None]) -> tuple[Twins, int] | None:
    present = [operand for operand in column if operand is not None]
    return (Twins(tuple(o.node for o in present)), present[0].index) if present else None


def _check_alike(twins: Twins, source: str) -> None:
    first = twins.nodes[0]
    for other in twins.nodes[1:]:
        if _form(first) != _form(other):
            message = "its graph differs between sizes"
            if isinstance(first, OperatorNode) and len(_form(first)) == len(_form(other)):
                amounts = dict.fromkeys([_amount(first), _amount(other)])
                if len(amounts) > 1:
                    message += f": {', then '.join(amounts)}"
            error = ModelError(CODE, message, hint=HINT)
            raise locate_error(error, first, source)


def _amount(node: Node) -> str:
    assert isinstance(node, OperatorNode)
    count = len(node.operands)
    return f"{node.operator.name} of {count} operand{'' if count == 1 else 's'}"


def _form(node: Node) -> tuple[Any, ...]:
    """Return the properties that corresponding nodes have in common."""
    dtypes = tuple((type.dtype, len(type.shape)) for type in node.types)
    if not isinstance(node, OperatorNode):
        return (type(node), dtypes, getattr(node, "name", ""))
    operands = tuple(operand and operand.index for operand in node.operands)
    return (type(node), dtypes, node.operator, operands)
