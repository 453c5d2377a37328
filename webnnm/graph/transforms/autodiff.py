"""Reverse-mode differentiation: one walk from a result back to what it depends on."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import cast

from webnnm.core.dtypes import is_float
from webnnm.core.errors import DataError
from webnnm.core.garbage import pause_garbage_collection
from webnnm.core.shapes import broadcast_axes, show
from webnnm.graph.node import Node, Nodes, Operand, OperatorNode, dependencies
from webnnm.ops.declare.operator import Composite

Arrived = dict[tuple[int, int], list[Operand]]
"""The gradients that have arrived at each result so far, by node number and index."""


GRADIENT = "gradient of "
"""The prefix of the labels of nodes that compute the gradient of a labelled node."""


def gradients(y: Operand, xs: Sequence[Operand], seed: Operand | None = None) -> list[Operand]:
    """Return the gradients of `y` with respect to each of `xs`, as new nodes of the graph.

    >>> from webnnm import GraphBuilder, gradients
    >>> b = GraphBuilder()
    >>> x = b.input("x", "float32", [2, 3])
    >>> (dx,) = gradients((x * x).reduce_sum(), [x])
    >>> dx
    float32[2, 3]

    `y` has to be a scalar unless `seed` gives the gradient with respect to `y`, of the same type
    and shape. Gradients add up over all uses of an operand; operands that `y` does not depend on
    have gradient zero. The results can be differentiated again.

    Raises `DataError` NNM702 if `y` is not a scalar and there is no seed, or if the seed has
    another type or shape.
    """
    zero = y.builder.constant
    return [
        y.builder.expand(zero(0, x.dtype), new_shape=x.shape) if gradient is None else gradient
        for x, gradient in zip(xs, backward(y, xs, seed), strict=True)
    ]


def backward(
    y: Operand, xs: Sequence[Operand], seed: Operand | None = None
) -> list[Operand | None]:
    """Return gradients like `gradients`, but None if no differentiable path leads to `y`."""
    builder = y.builder
    if seed is None:
        if y.shape:
            hint = "sum it or give a seed"
            raise DataError("NNM702", f"{show(y.shape)} is not a scalar", hint=hint)
        seed = cast("Operand", builder.constant(1, y.dtype))
    elif seed.type != y.type:
        raise DataError("NNM702", f"the seed is {seed.type}, but the result {y.type}")
    if not is_float(y.dtype):
        raise DataError("NNM501", f"{y.dtype} results have no gradient")
    return pullback([(y, seed)], xs)


@pause_garbage_collection()
def pullback(
    seeds: Sequence[tuple[Operand, Operand]], xs: Sequence[Operand]
) -> list[Operand | None]:
    """Return for each x the sum of g · ∂y/∂x over pairs of a result y and a gradient g for it.

    As with `backward`, it is None if no differentiable path leads to any y.
    """
    arrived: Arrived = {}
    for y, seed in seeds:
        _arrive(arrived, y, seed)
    nodes = dependencies([y for y, _ in seeds])
    _walk(seeds[0][0].builder, nodes, arrived, _leading_to(nodes, {x.number for x in xs}))
    return [_total(arrived, x) for x in xs]


def _leading_to(nodes: Sequence[Node], leaves: set[int]) -> set[int]:
    """Return the leaves, and those of these nodes, operands before users, that depend on them."""
    needed = set(leaves)
    for node in nodes:
        if isinstance(node, OperatorNode) and any(
            operand is not None and operand.number in needed for operand in node.operands
        ):
            needed.add(node.number)
    return needed


def _walk(builder: Nodes, nodes: Sequence[Node], arrived: Arrived, needed: set[int]) -> None:
    """Propagate what has arrived at the nodes, operands before users, to their operands."""
    with builder.place(""):
        for node in reversed(nodes):
            if not isinstance(node, OperatorNode) or node.number not in needed:
                continue
            results = builder.results[node.number]
            if all((node.number, index) not in arrived for index in range(len(results))):
                continue
            builder.locate(f"{GRADIENT}{node.label}" if node.label else "", node.span)
            incoming = [_total(arrived, result) for result in results]
            for operand, gradient in _apply(node, results, incoming, needed):
                _arrive(arrived, operand, gradient)


def _arrive(arrived: Arrived, operand: Operand, gradient: Operand) -> None:
    arrived.setdefault((operand.number, operand.index), []).append(gradient)


def _total(arrived: Arrived, operand: Operand) -> Operand | None:
    """Return the sum of the gradients that have arrived at an operand, None if none have."""
    several: Sequence[Operand] = arrived.get((operand.number, operand.index), ())
    node = several[1].node if len(several) > 1 else None
    if isinstance(node, OperatorNode) and node.operator.name == "matmul":
        from webnnm.graph.transforms.shared_weights import merge_shared_products

        several = merge_shared_products(several)
    return reduce(add, several) if several else None


def _apply(
    node: OperatorNode,
    results: tuple[Operand, ...],
    incoming: list[Operand | None],
    needed: set[int],
) -> list[tuple[Operand, Operand]]:
    """Return (operand, gradient) for those operands of a node that are needed and receive one."""
    builder = results[0].builder
    if node.operator.gradient is None:
        return _differentiate_decomposition(builder, node, incoming, needed)
    if len(results) == 1:
        g, y = incoming[0], results[0]
    else:  # unused results have received nothing
        g = tuple(
            builder.expand(builder.constant(0, result.dtype), new_shape=result.shape)
            if arrived is None
            else arrived
            for result, arrived in zip(results, incoming, strict=True)
        )
        y = results
    grads = node.operator.gradient(builder, g, y, *node.operands, **node.options)
    return [
        (operand, _unbroadcast(gradient, operand))
        for operand, gradient in zip(node.operands, grads, strict=True)
        if operand is not None
        and gradient is not None
        and operand.number in needed
        and _carries(operand)
    ]


def _carries(operand: Operand) -> bool:
    """Return whether gradients flow through a value: floats, and straight-through rounding."""
    if is_float(operand.type.dtype):
        return True
    node = operand.node
    return isinstance(node, OperatorNode) and getattr(node.operator, "straight_through", False)


def _differentiate_decomposition(
    builder: Nodes, node: OperatorNode, incoming: list[Operand | None], needed: set[int]
) -> list[tuple[Operand, Operand]]:
    """Return the gradients of a composite for its operands, by way of its decomposition."""
    assert isinstance(node.operator, Composite)
    result: Operand | tuple[Operand, ...] = node.operator.decompose(
        builder, *node.operands, **node.options
    )
    roots = result if isinstance(result, tuple) else (result,)
    arrived: Arrived = {}
    for root, gradient in zip(roots, incoming, strict=True):
        if gradient is not None:
            _arrive(arrived, root, gradient)
    leaves = {operand.number for operand in node.operands if operand is not None}
    nodes = dependencies(roots, leaves)
    inner = [step for step in nodes if step.number not in leaves]
    leaves &= needed
    _walk(builder, inner, arrived, _leading_to(inner, leaves))
    return [
        (builder.results[number][index], gradient)
        for (number, index), several in arrived.items()
        if number in leaves
        for gradient in several
    ]


def _unbroadcast(gradient: Operand, operand: Operand) -> Operand:
    """Sum a gradient over the dimensions along which its operand was repeated."""
    if gradient.type.shape == operand.type.shape:
        return gradient
    axes = broadcast_axes(operand.shape, gradient.shape)
    total = gradient.builder.reduce_sum(gradient, axes=axes) if axes else gradient
    if total.shape == operand.shape:
        return total
    return gradient.builder.reshape(total, new_shape=operand.shape)
