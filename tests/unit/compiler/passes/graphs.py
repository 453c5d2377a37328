"""Graphs for the tests of passes, and the comparison of what they compute before and after."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tests.unit.ops.cases import np
from webnnm.backends.reference import evaluate
from webnnm.graph.builder import GraphBuilder, result_types
from webnnm.graph.node import Graph, Operand, OperatorNode


def names(graph: Graph) -> list[str]:
    """Return the operators of a graph in order."""
    return [node.operator.name for node in graph.nodes() if isinstance(node, OperatorNode)]


def same(
    change: Callable[[Graph], Graph], graph: Graph, values: dict[str, Any] | None = None
) -> Graph:
    """Return the graph after a pass; its types are right, and it computes what it did before."""
    found = change(graph)
    assert found.inputs.keys() == graph.inputs.keys()
    if values is None:
        draw = np.random.default_rng(7)
        values = {n: draw.uniform(-1, 1, o.shape).astype(o.dtype) for n, o in graph.inputs.items()}
    before, after = evaluate(graph, values, wide=True), evaluate(found, values, wide=True)
    for name, array in before.items():
        assert found.outputs[name].type == graph.outputs[name].type
        np.testing.assert_allclose(after[name], array, rtol=1e-6, atol=1e-6, strict=True)
    for node in found.nodes():
        if isinstance(node, OperatorNode):
            given = [operand and operand.type for operand in node.operands]
            assert node.types == result_types(node.operator, given, node.options), node
    return found


def random_graph(seed: int) -> Graph:
    """Return a graph of operators in both layouts, with transposes and branches."""
    draw = random.Random(seed)
    b = GraphBuilder()
    n, c, h, w = 2, 3, 6, 5
    pool: list[Operand] = [
        b.input("x", "float32", [n, c, h, w]),
        b.input("z", "float32", [n, h, w, c]),
    ]
    made = 0

    def parameter(*shape: int) -> Operand:
        nonlocal made
        made += 1
        if draw.random() < 0.3:
            flat = [draw.uniform(-1, 1) for _ in range(int(np.prod(shape)))]
            return b.constant(flat, "float32", shape)
        return b.input(f"p{made}", "float32", shape)

    for _ in range(draw.randint(4, 14)):
        x = draw.choice(pool)
        kind = draw.randrange(12)
        layout = draw.choice(("nchw", "nhwc"))
        if kind == 0 and x.rank == 4:
            p = list(range(4))
            draw.shuffle(p)
            y = b.transpose(x, permutation=p)
        elif kind == 1 and x.rank == 4:
            channels = x.shape[layout.index("c")]
            y = b.conv2d(
                x,
                parameter(4, channels, 2, 2),
                padding=(1, 0, 1, 0),
                input_layout=layout,
                bias=draw.choice((None, parameter(4))),
            )
        elif kind == 2 and x.rank == 4:
            channels = x.shape[layout.index("c")]
            y = b.conv_transpose2d(x, parameter(channels, 2, 2, 1), input_layout=layout)
        elif kind == 3 and x.rank == 4:
            y = b.max_pool2d(x, window_dimensions=(2, 2), padding=(1, 0, 1, 0), layout=layout)
        elif kind == 4:
            others = [z for z in pool if z.shape == x.shape]
            y = b.add(x, draw.choice(others))
        elif kind == 5:
            y = b.mul(
                x, parameter(*(draw.choice((1, size)) for size in x.shape[draw.randint(0, 2) :]))
            )
        elif kind == 6:
            axes = sorted(draw.sample(range(x.rank), draw.randint(1, x.rank)))
            keep = draw.random() < 0.7
            y = b.reduce_sum(x, axes=axes, keep_dimensions=keep)
            y = b.sub(x, y) if keep else y
        elif kind == 7:
            y = b.concat([x, b.relu(x)], axis=draw.randrange(x.rank)) if x.rank else b.relu(x)
        elif kind == 8 and x.rank:
            sizes = [draw.randint(1, size) for size in x.shape]
            starts = [draw.randint(0, a - s) for a, s in zip(x.shape, sizes, strict=True)]
            y = b.slice(x, starts=starts, sizes=sizes)
        elif kind == 9 and x.rank > 1:
            y = b.reshape(x, new_shape=(x.shape[0] * x.shape[1], *x.shape[2:]))
        elif kind == 10 and x.rank:
            y = b.softmax(x, axis=draw.randrange(x.rank))
        else:
            y = b.where(b.greater(x, 0.2), x, b.tanh(x))
        pool.append(y)
    outputs = {f"y{k}": y for k, y in enumerate(pool[-4:]) if isinstance(y.node, OperatorNode)}
    return b.build(outputs)
