"""Graphs of one token after a past of fixed length, of which only the first tokens count.

Files of decoders take keys and values of as many tokens as came before, and many derive from their
number the position of the new token, and which distances it sees. A graph of WebNN has fixed sizes:
its past has room for a number of tokens, and the number that count is an operand. What a file
computes from the size of its past has to follow that operand instead.

What that is shows when the same file is imported for a past that is one token shorter. Sizes that
differ run along the past. Values that differ by one are positions. Tables whose sizes differ are
functions of positions, if the smaller is the beginning of the larger, or of distances from the new
token, if it is the end. Softmax along the past leaves out what does not count. A graph that uses
the past in another way is not understood, and is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

from webnnm.core.arrays import HostArray
from webnnm.core.shapes import Shape, count
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import ConstantNode, Graph, InputNode, Node, Operand, OperatorNode
from webnnm.graph.transforms.rewrite import Results, move_node
from webnnm.ops.declare.attention import MASKED

Axes = frozenset[int]
NO_AXES: Axes = frozenset()


class UnknownUse(Exception):
    """A graph uses its past in a way that is not understood."""


class Table(NamedTuple):
    """A value with entries for the tokens of the past, along some axes.

    `of_positions` tells that they depend on positions; otherwise they do on distances.
    """

    axes: Axes
    of_positions: bool


@dataclass(frozen=True, kw_only=True)
class PaddedPast:
    """What a graph computes otherwise if only the first tokens of its past count.

    `size` is the number of tokens of the past. By the numbers of nodes: constants that are
    `positions`, `tables`, slices that start at a position along an axis, `starts`, and the
    `softmaxes` along the past.
    """

    size: int
    positions: set[int] = field(default_factory=set[int])
    tables: dict[int, Table] = field(default_factory=dict[int, Table])
    starts: dict[int, int] = field(default_factory=dict[int, int])
    softmaxes: set[int] = field(default_factory=set[int])

    @property
    def needs_equal_lengths(self) -> bool:
        """Whether the same number of tokens has to count in all rows."""
        return bool(self.positions or self.tables or self.starts)

    def apply(
        self, b: GraphBuilder, graph: Graph, inputs: Mapping[str, Operand], lengths: Any
    ) -> dict[str, Operand]:
        """Return the outputs of the graph for inputs; `lengths` are the tokens that count.

        They are int32 `[batch, 1]`.
        """
        results: Results = {}
        past = _Length(b, self.size, lengths)
        for node in graph.nodes():
            if isinstance(node, InputNode):
                results[node.number] = (inputs[node.name],)
                continue
            moved = move_node(node, b, results)
            value = self._replace(b, node.number, moved, past)
            results[node.number] = b.adopt(moved) if value is None else (value,)
        return {name: results[o.number][o.index] for name, o in graph.outputs.items()}

    def _replace(self, b: GraphBuilder, number: int, node: Node, past: _Length) -> Any:
        """Return the value of a node that follows the number of tokens, None for any other."""
        if number in self.positions and isinstance(node, ConstantNode):
            return b.constant(node.array) + b.cast(past.excess, type=node.array.dtype)
        if number in self.softmaxes and isinstance(node, OperatorNode):
            scores = past.mask(node.operands[0], node.options["axis"])
            return b.apply(node.operator, [scores], node.options)
        value: Any = None
        if number in self.starts and isinstance(node, OperatorNode):
            value = _slice_from(b, node, self.starts[number], past)
        if number in self.tables:
            value = b.adopt(node)[0] if value is None else value
            for axis in sorted(self.tables[number].axes):
                indices = past.indices(value.shape[axis], self.tables[number])
                value = b.gather(value, indices, axis=axis)
        return value


class _Length:
    """The number of tokens of a past that count, as operands."""

    def __init__(self, b: GraphBuilder, size: int, lengths: Any) -> None:
        self._b, self._size, self._lengths = b, size, lengths

    @property
    def first(self) -> Any:
        """That of the first row, `[1]`."""
        row = self._b.slice(self._lengths, starts=(0, 0), sizes=(1, 1))
        return self._b.reshape(row, new_shape=(1,))

    @property
    def excess(self) -> Any:
        """The number that count, minus the size of the past: a scalar."""
        difference = self.first - self._b.constant(self._size, "int32")
        return self._b.reshape(difference, new_shape=())

    def indices(self, size: int, table: Table) -> Any:
        """Return which entries of a table the tokens have, those of the past and the new one."""
        b, past = self._b, self._size
        slots = b.constant([*range(past)], "int32")
        if not table.of_positions:
            slots = b.min(slots - self.excess, b.constant(past - 1, "int32"))
        if size == past:
            return slots
        last = self.first if table.of_positions else b.constant([past], "int32")
        return b.concat([slots, last], axis=0)

    def mask(self, scores: Any, axis: int) -> Any:
        """Return scores in which those of tokens that do not count are the least."""
        b, size = self._b, scores.shape[axis]
        rows = self._lengths.shape[0]
        slots = b.constant([*range(self._size), *([-1] * (size - self._size))], "int32", [1, size])
        hidden: Any = b.greater_or_equal(slots, self._lengths)
        times = scores.shape[0] // rows
        if times > 1:  # rows of heads
            order = [row for row in range(rows) for _ in range(times)]
            hidden = b.gather(hidden, b.constant(order, "int32", [len(order)]), axis=0)
        shape = [1] * len(scores.shape)
        shape[0], shape[axis] = scores.shape[0], size
        least = b.constant(MASKED[scores.dtype], scores.dtype)
        return b.where(b.reshape(hidden, new_shape=tuple(shape)), least, scores)


def _slice_from(b: GraphBuilder, node: OperatorNode, axis: int, past: _Length) -> Any:
    """Return a slice that begins at the position of the new token along an axis."""
    starts, sizes = [*node.options["starts"]], [*node.options["sizes"]]
    index = past.first + b.constant(starts[axis] - past._size, "int32")
    row: Any = b.gather(node.operands[0], index, axis=axis)
    starts[axis] = 0
    return b.slice(row, starts=tuple(starts), sizes=tuple(sizes))


def find_padded_past(graph: Graph, shorter: Graph, size: int, batch: int) -> PaddedPast | None:
    """Return what a graph for a past of some size computes otherwise if fewer tokens count.

    `shorter` is the graph for a past of one token less. None if the graph uses the past in a way
    that is not understood.
    """
    try:
        return _Analysis(graph, shorter, size, batch).past
    except UnknownUse:
        return None


class _Analysis:
    """Compares a graph with that for a shorter past, node by node."""

    def __init__(self, graph: Graph, shorter: Graph, size: int, batch: int) -> None:
        self.past = PaddedPast(size=size)
        self._batch = batch
        self._zero: dict[int, Axes] = {}
        """Axes of the past along which a value is 0 for tokens that do not count."""
        self._pairs = _pair(graph, shorter)
        for node in graph.nodes():
            other = self._pairs[node.number]
            if isinstance(node, OperatorNode) and isinstance(other, OperatorNode):
                self._operator(node, other)
            elif isinstance(node, ConstantNode) and isinstance(other, ConstantNode):
                self._constant(node, other)

    def _past_axes(self, node: Node) -> Axes:
        """Return the axes of a node's result that run along the past."""
        (type, *more), (shorter, *_) = node.types, self._pairs[node.number].types
        if more:
            if node.types != self._pairs[node.number].types:
                raise UnknownUse
            return NO_AXES
        if len(type.shape) != len(shorter.shape):
            raise UnknownUse
        pairs = [*zip(type.shape, shorter.shape, strict=True)]
        axes = frozenset(axis for axis, (one, other) in enumerate(pairs) if one != other)
        sizes = (self.past.size, self.past.size + 1)
        if any(
            pairs[axis][0] not in sizes or pairs[axis][1] != pairs[axis][0] - 1 for axis in axes
        ):
            raise UnknownUse
        return axes

    def _constant(self, node: ConstantNode, other: ConstantNode) -> None:
        axes = self._past_axes(node)
        if not axes:
            if node.digest == other.digest:
                return
            pairs = zip(node.array.values(), other.array.values(), strict=True)
            if any(one - another != 1 for one, another in pairs):
                raise UnknownUse
            self.past.positions.add(node.number)
            return
        ends = [_part(node.array, axes, other.array.shape, start) for start in (0, 1)]
        values = [*other.array.values()]
        if values not in ends:
            raise UnknownUse
        if ends != [values, values] or not _is_constant_along(node.array, axes):
            self.past.tables[node.number] = Table(axes, of_positions=ends[0] == values)

    def _operator(self, node: OperatorNode, other: OperatorNode) -> None:
        axes = self._past_axes(node)
        operands = [operand for operand in node.operands if operand is not None]
        of_operands = [self._past_axes(operand.node) for operand in operands]
        name = node.operator.name
        if name == "slice":
            return self._slice(node, other, of_operands[0], axes)
        options = [{k: v for k, v in n.options.items() if k != "new_shape"} for n in (node, other)]
        if options[0] != options[1]:
            raise UnknownUse
        if not axes and not any(of_operands):
            return None
        rule = RULES.get(name)
        if rule is not None:
            self._zero[node.number] = rule(self, node, of_operands, axes)
        elif not node.operator.elementwise:
            raise UnknownUse
        return None

    def _zeros(self, operand: Operand) -> Axes:
        return self._zero.get(operand.number, NO_AXES)

    def _slice(self, node: OperatorNode, other: OperatorNode, before: Axes, after: Axes) -> None:
        if node.options["strides"] != other.options["strides"]:
            raise UnknownUse
        (operand,) = node.operands
        assert operand is not None
        columns = [n.options[name] for n in (node, other) for name in ("starts", "sizes")]
        table: set[int] = set()
        for axis, (start, size, other_start, other_size) in enumerate(zip(*columns, strict=True)):
            moves, grows = start - other_start, size - other_size
            is_whole = (start, moves, grows) == (0, 0, 1)
            is_new = (moves, grows, size, start) == (1, 0, 1, self.past.size)
            if axis in before:
                if not is_whole and not (is_new and operand.shape[axis] == start + 1):
                    raise UnknownUse
            elif (moves, grows) == (0, 1):
                table.add(axis)
            elif (moves, grows, size) == (1, 0, 1):
                if node.number in self.past.starts or node.options["strides"][axis] != 1:
                    raise UnknownUse
                self.past.starts[node.number] = axis
            elif (moves, grows) != (0, 0):
                raise UnknownUse
        if table:
            self.past.tables[node.number] = Table(frozenset(table), of_positions=True)
        self._zero[node.number] = self._zeros(operand) & after

    # Rules return the axes of the past along which a result is 0 for tokens that do not count.

    def _product(self, node: OperatorNode, of_operands: Sequence[Axes], _axes: Axes) -> Axes:
        first, second = (operand for operand in node.operands if operand is not None)
        row, column = first.rank - 1, second.rank - 2
        sums = row in of_operands[0] or column in of_operands[1]
        if sums and row not in self._zeros(first) and column not in self._zeros(second):
            raise UnknownUse
        return NO_AXES

    def _softmax(self, node: OperatorNode, _of_operands: Sequence[Axes], axes: Axes) -> Axes:
        axis = node.options["axis"]
        if axis not in axes:
            return NO_AXES
        if node.types[0].shape[0] % self._batch:
            raise UnknownUse
        self.past.softmaxes.add(node.number)
        return frozenset({axis})

    def _transpose(self, node: OperatorNode, _of_operands: Sequence[Axes], _axes: Axes) -> Axes:
        (operand,) = node.operands
        assert operand is not None
        zeros = self._zeros(operand)
        permutation = node.options["permutation"]
        return frozenset(axis for axis, source in enumerate(permutation) if source in zeros)

    def _reshape(self, node: OperatorNode, of_operands: Sequence[Axes], axes: Axes) -> Axes:
        (operand,) = node.operands
        assert operand is not None
        before, after = sorted(of_operands[0]), sorted(axes)
        shape = node.types[0].shape
        if [_cells(operand.shape, axis) for axis in before] != [
            _cells(shape, axis) for axis in after
        ]:
            raise UnknownUse
        zeros = self._zeros(operand)
        pairs = zip(before, after, strict=True)
        return frozenset(axis for source, axis in pairs if source in zeros)

    def _concat(self, node: OperatorNode, of_operands: Sequence[Axes], axes: Axes) -> Axes:
        axis = node.options["axis"]
        if axis in axes:
            lengths = [operand.shape[axis] for operand in node.operands if operand is not None]
            runs_along = [axis in operand_axes for operand_axes in of_operands]
            if lengths[:1] != [self.past.size] or runs_along != [
                True,
                *([False] * (len(lengths) - 1)),
            ]:
                raise UnknownUse
        return NO_AXES

    def _gather(self, node: OperatorNode, of_operands: Sequence[Axes], _axes: Axes) -> Axes:
        if node.options["axis"] in of_operands[0]:
            raise UnknownUse
        return NO_AXES

    def _scale(self, _node: OperatorNode, of_operands: Sequence[Axes], _axes: Axes) -> Axes:
        if any(of_operands[1:]):  # scales
            raise UnknownUse
        return NO_AXES

    def _sum(self, node: OperatorNode, of_operands: Sequence[Axes], _axes: Axes) -> Axes:
        (operand,) = node.operands
        assert operand is not None
        summed = of_operands[0] & {*node.options["axes"]}
        if not summed <= self._zeros(operand):
            raise UnknownUse
        return NO_AXES

    def _broadcast(self, node: OperatorNode, _of_operands: Sequence[Axes], _axes: Axes) -> Axes:
        """The result is 0 where an operand is, such as one factor of a product."""
        rank = len(node.types[0].shape)
        return frozenset(
            axis + rank - operand.rank
            for operand in node.operands
            if operand is not None
            for axis in self._zeros(operand)
        )


RULES: Mapping[str, Callable[[_Analysis, OperatorNode, Sequence[Axes], Axes], Axes]] = {
    "matmul": _Analysis._product,
    "softmax": _Analysis._softmax,
    "transpose": _Analysis._transpose,
    "reshape": _Analysis._reshape,
    "concat": _Analysis._concat,
    "gather": _Analysis._gather,
    "reduceSum": _Analysis._sum,
    "dequantizeLinear": _Analysis._scale,
    "quantizeLinear": _Analysis._scale,
    "mul": _Analysis._broadcast,
    "cast": _Analysis._broadcast,
    "identity": _Analysis._broadcast,
    "expand": _Analysis._broadcast,
}
"""What is known of operators on values that run along the past, besides elementwise ones."""


def _pair(graph: Graph, shorter: Graph) -> dict[int, Node]:
    """Return for each node the one that computes the same in the other graph."""
    if graph.outputs.keys() != shorter.outputs.keys():
        raise UnknownUse
    pairs: dict[int, Node] = {}
    pending = [(operand, shorter.outputs[name]) for name, operand in graph.outputs.items()]
    while pending:
        one, other = pending.pop()
        node, same = one.node, other.node
        if node.number in pairs:
            if pairs[node.number] is not same or one.index != other.index:
                raise UnknownUse
            continue
        if type(node) is not type(same) or one.index != other.index:
            raise UnknownUse
        pairs[node.number] = same
        if isinstance(node, InputNode) and isinstance(same, InputNode) and node.name != same.name:
            raise UnknownUse
        if isinstance(node, OperatorNode) and isinstance(same, OperatorNode):
            absent = [[operand is None for operand in n.operands] for n in (node, same)]
            if node.operator is not same.operator or absent[0] != absent[1]:
                raise UnknownUse
            operands = zip(node.operands, same.operands, strict=True)
            pending += [(x, y) for x, y in operands if x is not None and y is not None]
    return pairs


def _cells(shape: Shape, axis: int) -> int:
    """Return the number of cells in front of an axis."""
    return count(shape[:axis])


def _part(array: HostArray, axes: Axes, shape: Shape, start: int) -> list[Any]:
    """Return the values of a part of an array, of this shape, that begins at `start` along axes."""
    values, steps = array.values(), _strides(array.shape)
    first = sum(steps[axis] * start for axis in axes)
    return [
        values[first + sum(i * n for i, n in zip(index, steps, strict=True))]
        for index in _indices(shape)
    ]


def _is_constant_along(array: HostArray, axes: Axes) -> bool:
    """Return whether the values of an array are the same along axes."""
    shape = tuple(1 if axis in axes else size for axis, size in enumerate(array.shape))
    values, steps = array.values(), _strides(array.shape)
    rows = [sum(i * n for i, n in zip(index, steps, strict=True)) for index in _indices(shape)]
    shape = tuple(size if axis in axes else 1 for axis, size in enumerate(array.shape))
    starts = [sum(i * n for i, n in zip(index, steps, strict=True)) for index in _indices(shape)]
    return all(values[row + start] == values[row] for row in rows for start in starts)


def _strides(shape: Shape) -> list[int]:
    return [count(shape[axis + 1 :]) for axis in range(len(shape))]


def _indices(shape: Shape) -> Iterator[tuple[int, ...]]:
    return product(*map(range, shape))
