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

PartialGradients = dict[tuple[int, int], list[Operand]]
"""The gradients that each result has received so far, by node number and index."""


GRADIENT_PREFIX = "gradient of "
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
    constant = y.builder.constant
    return [
        y.builder.expand(constant(0, x.dtype), new_shape=x.shape) if gradient is None else gradient
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
    received: PartialGradients = {}
    for y, seed in seeds:
        _add_gradient(received, y, seed)
    nodes = dependencies([y for y, _ in seeds])
    _walk(seeds[0][0].builder, nodes, received, _find_dependents(nodes, {x.number for x in xs}))
    return [_total(received, x) for x in xs]


def _find_dependents(nodes: Sequence[Node], leaves: set[int]) -> set[int]:
    """Return the leaves and the nodes that depend on them; `nodes` are in topological order."""
    needed = set(leaves)
    for node in nodes:
        if isinstance(node, OperatorNode) and any(
            operand is not None and operand.number in needed for operand in node.operands
        ):
            needed.add(node.number)
    return needed


def _walk(
    builder: Nodes, nodes: Sequence[Node], received: PartialGradients, needed: set[int]
) -> None:
    """Propagate gradients from nodes, given in topological order, to their operands."""
    with builder.place(""):
        for node in reversed(nodes):
            if not isinstance(node, OperatorNode) or node.number not in needed:
                continue
            results = builder.results[node.number]
            if all((node.number, index) not in received for index in range(len(results))):
                continue
            builder.locate(f"{GRADIENT_PREFIX}{node.label}" if node.label else "", node.span)
            incoming = [_total(received, result) for result in results]
            for operand, gradient in _differentiate_node(node, results, incoming, needed):
                _add_gradient(received, operand, gradient)


def _add_gradient(received: PartialGradients, operand: Operand, gradient: Operand) -> None:
    received.setdefault((operand.number, operand.index), []).append(gradient)


def _total(received: PartialGradients, operand: Operand) -> Operand | None:
    """Return the sum of the gradients that an operand has received, None if there are none."""
    contributions: Sequence[Operand] = received.get((operand.number, operand.index), ())
    node = contributions[1].node if len(contributions) > 1 else None
    if isinstance(node, OperatorNode) and node.operator.name == "matmul":
        from webnnm.graph.transforms.shared_weights import merge_shared_products

        contributions = merge_shared_products(contributions)
    return reduce(add, contributions) if contributions else None


def _differentiate_node(
    node: OperatorNode,
    results: tuple[Operand, ...],
    incoming: list[Operand | None],
    needed: set[int],
) -> list[tuple[Operand, Operand]]:
    """Return (operand, gradient) for the operands of a node that are needed and have a gradient."""
    builder = results[0].builder
    if node.operator.gradient is None:
        return _differentiate_decomposition(builder, node, incoming, needed)
    if len(results) == 1:
        g, y = incoming[0], results[0]
    else:  # unused results have received nothing
        g = tuple(
            builder.expand(builder.constant(0, result.dtype), new_shape=result.shape)
            if gradient is None
            else gradient
            for result, gradient in zip(results, incoming, strict=True)
        )
        y = results
    grads = node.operator.gradient(builder, g, y, *node.operands, **node.options)
    return [
        (operand, _unbroadcast(gradient, operand))
        for operand, gradient in zip(node.operands, grads, strict=True)
        if operand is not None
        and gradient is not None
        and operand.number in needed
        and _carries_gradient(operand)
    ]


def _carries_gradient(operand: Operand) -> bool:
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
    received: PartialGradients = {}
    for root, gradient in zip(roots, incoming, strict=True):
        if gradient is not None:
            _add_gradient(received, root, gradient)
    leaves = {operand.number for operand in node.operands if operand is not None}
    nodes = dependencies(roots, leaves)
    inner = [node for node in nodes if node.number not in leaves]
    leaves &= needed
    _walk(builder, inner, received, _find_dependents(inner, leaves))
    return [
        (builder.results[number][index], gradient)
        for (number, index), contributions in received.items()
        if number in leaves
        for gradient in contributions
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
