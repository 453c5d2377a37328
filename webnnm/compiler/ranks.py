"""Write operators on tensors of unsupported ranks as the same operator between reshapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from webnnm.compiler.limits import Bounds
from webnnm.compiler.refusals import refuse_rank
from webnnm.core.shapes import Shape, broadcast, count
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Operand, OperatorNode
from webnnm.graph.transforms.rewrite import Replacement, decompose_node, reapply
from webnnm.ops.declare.tensors import TensorType

Lower = Callable[[GraphBuilder, OperatorNode, int], Operand | None]


def fit_rank(
    b: GraphBuilder,
    node: OperatorNode,
    typed_bounds: Sequence[tuple[TensorType, Bounds]],
    name: str,
) -> tuple[Replacement, str]:
    """Return the results of a node with tensors of supported ranks, and why they are.

    Raises `BackendError` NNM405 if there is no way.
    """
    type, bounds = next((t, r) for t, r in typed_bounds if not r.has_rank(t))
    rank, least = len(type.shape), bounds.ranks[0]
    if rank < least:
        limit, replacement = f"at least {least}", raise_rank(b, node, least - rank)
    else:
        most = min(bounds.ranks[1] for _, bounds in typed_bounds)
        limit, replacement = f"at most {most}", lower_rank(b, node, most)
    replacement = replacement or decompose_node(b, node)
    if replacement is None:
        raise refuse_rank(name, type, limit)
    return replacement, f"computed on reshaped tensors, because it takes {limit} dimensions"


def lower_rank(b: GraphBuilder, node: OperatorNode, limit: int) -> Operand | None:
    """Return the result of a node using at most `limit` dimensions, None if there is no way."""
    operator = node.operator
    lower = _lower_elementwise if operator.elementwise else _RULES.get(operator.name)
    return lower(b, node, limit) if lower else None


def raise_rank(b: GraphBuilder, node: OperatorNode, missing: int) -> Operand | None:
    """Return the result of a node using some more dimensions, None if there is no way."""
    rule = _RAISING.get(node.operator.name)
    if rule is None:
        return None
    ones = (1,) * missing
    operands = [
        operand and _reshape(b, operand, rule(index, ones, operand.shape))
        for index, operand in enumerate(node.operands)
    ]
    return _reshape(b, reapply(b, node, *operands), node.types[0].shape)


def merge_axes(shapes: Sequence[Shape], result: Shape) -> list[list[int]]:
    """Group adjacent axes that every operand either has in full or repeats in full.

    >>> merge_axes([(2, 3, 4, 5), (4, 1)], (2, 3, 4, 5))
    [[0, 1], [2], [3]]
    """
    rank = len(result)
    aligned = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    groups: list[list[int]] = []
    previous: tuple[bool, ...] | None = None
    for axis, size in enumerate(result):
        pattern = tuple(shape[axis] == 1 for shape in aligned)
        if groups and (size == 1 or previous is None or pattern == previous):
            groups[-1].append(axis)
        else:
            groups.append([axis])
        # An axis of size 1 in all operands can join any neighbour.
        previous = previous if size == 1 else pattern
    return groups


def _lower_elementwise(b: GraphBuilder, node: OperatorNode, limit: int) -> Operand | None:
    result = node.types[0].shape
    operands = [operand for operand in node.operands if operand is not None]
    groups = merge_axes([operand.shape for operand in operands], result)
    if len(groups) > limit:
        operands = [o if o.rank == 0 else b.expand(o, new_shape=result) for o in operands]
        groups = [list(range(len(result)))]
    reshaped = [_regroup(b, operand, groups, len(result)) for operand in operands]
    return _reshape(b, reapply(b, node, *reshaped), result)


def _regroup(b: GraphBuilder, x: Operand, groups: Sequence[Sequence[int]], rank: int) -> Operand:
    if x.rank == 0:
        return x
    shape = (1,) * (rank - x.rank) + x.shape
    return _reshape(b, x, [count(shape[axis] for axis in group) for group in groups])


def _reshape(b: GraphBuilder, x: Operand | tuple[Operand, ...], shape: Sequence[int]) -> Operand:
    assert isinstance(x, Operand)
    return x if x.shape == tuple(shape) else b.reshape(x, new_shape=tuple(shape))


def _to_three_dimensions(b: GraphBuilder, x: Operand, axis: int) -> Operand:
    """Return `x` in three dimensions: all before an axis, the axis, and all after it."""
    return _reshape(b, x, [count(x.shape[:axis]), x.shape[axis], count(x.shape[axis + 1 :])])


def _lower_softmax(b: GraphBuilder, node: OperatorNode, limit: int) -> Operand | None:
    (x,) = node.operands
    if x is None or limit < 3:
        return None
    return _reshape(b, b.softmax(_to_three_dimensions(b, x, node.options["axis"]), axis=1), x.shape)


def _lower_slice(b: GraphBuilder, node: OperatorNode, limit: int) -> Operand | None:
    (x,) = node.operands
    if x is None or limit < 3:
        return None
    boxes = zip(*(node.options[name] for name in ("starts", "sizes", "strides")), strict=True)
    for axis, (start, size, stride) in enumerate(boxes):
        if (start, size, stride) == (0, x.shape[axis], 1):
            continue
        before, _, behind = _to_three_dimensions(b, x, axis).shape
        sliced = b.slice(
            _to_three_dimensions(b, x, axis),
            starts=(0, start, 0),
            sizes=(before, size, behind),
            strides=(1, stride, 1),
        )
        x = _reshape(b, sliced, (*x.shape[:axis], sliced.shape[1], *x.shape[axis + 1 :]))
    return x


def _lower_pad(b: GraphBuilder, node: OperatorNode, limit: int) -> Operand | None:
    (x,) = node.operands
    if x is None or limit < 3:
        return None
    sides = zip(node.options["beginning_padding"], node.options["ending_padding"], strict=True)
    options = {name: node.options[name] for name in ("mode", "value")}
    for axis, (before, after) in enumerate(sides):
        if before or after:
            around = {"beginning_padding": (0, before, 0), "ending_padding": (0, after, 0)}
            padded = b.pad(_to_three_dimensions(b, x, axis), **around, **options)
            x = _reshape(b, padded, (*x.shape[:axis], padded.shape[1], *x.shape[axis + 1 :]))
    return x


def _lower_transpose(b: GraphBuilder, node: OperatorNode, limit: int) -> Operand | None:
    (x,) = node.operands
    runs: list[list[int]] = []
    for axis in node.options["permutation"]:
        if runs and runs[-1][-1] + 1 == axis:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    if x is None or len(runs) > limit:
        return None
    groups = sorted(runs)
    grouped = _regroup(b, x, groups, x.rank)
    order = [groups.index(run) for run in runs]
    return _reshape(b, b.transpose(grouped, permutation=order), node.types[0].shape)


def _lower_gather(b: GraphBuilder, node: OperatorNode, limit: int) -> Operand | None:
    x, indices = node.operands
    if x is None or indices is None or limit < 3:
        return None
    cells = _to_three_dimensions(b, x, node.options["axis"])
    row = _reshape(b, indices, [count(indices.shape)])
    return _reshape(b, b.gather(cells, row, axis=1), node.types[0].shape)


def _lower_matmul(b: GraphBuilder, node: OperatorNode, limit: int) -> Operand | None:
    x, y = node.operands
    if x is None or y is None or limit < 3:
        return None
    lead = broadcast(x.shape[:-2], y.shape[:-2]) or ()

    def flatten_batch(operand: Operand) -> Operand:
        matrix = operand.shape[-2:]
        if operand.rank == 2:
            return operand
        full = operand
        if operand.shape[:-2] != lead:
            full = b.expand(operand, new_shape=(*lead, *matrix))
        return _reshape(b, full, (count(lead), *matrix))

    return _reshape(b, b.matmul(flatten_batch(x), flatten_batch(y)), node.types[0].shape)


_RULES: dict[str, Lower] = {
    "gather": _lower_gather,
    "matmul": _lower_matmul,
    "pad": _lower_pad,
    "slice": _lower_slice,
    "softmax": _lower_softmax,
    "transpose": _lower_transpose,
}

Raise = Callable[[int, Shape, Shape], Shape]

_RAISING: dict[str, Raise] = {
    # The image, which ends in more axes.
    "batchNormalization": lambda index, ones, shape: shape if index else (*shape, *ones),
    # The indices, and with them the result or the updates, which begin with more axes.
    "gather": lambda index, ones, shape: (*ones, *shape) if index else shape,
    "scatterND": lambda index, ones, shape: (*ones, *shape) if index else shape,
}
"""The shape that an operand has with some more axes, by its position."""
