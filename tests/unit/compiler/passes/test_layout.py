"""Images with their channels last: the same numbers, fewer transposes."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.unit.compiler.passes.graphs import names, random_graph, same
from tests.unit.ops.cases import CASES, Case, build, np
from tests.work import draws
from webnnm import GraphBuilder
from webnnm.compiler.passes.layout import is_source, takes_any_order, use_channels_last
from webnnm.compiler.passes.pending_transposes import inverse
from webnnm.graph.node import Operand

TURNING = [
    case
    for case in CASES
    if (
        takes_any_order(case.operator)
        or is_source(case.operator)
        or case.operator.name == "reshape"
    )
    and case.sample.shapes[0]
    and len(case.sample.shapes[0]) > 1
]


@pytest.mark.parametrize("case", TURNING, ids=str)
def test_operators_compute_the_same_on_transposed_operands(case: Case) -> None:
    """op(x) with operands that were transposed there and back, so that the pass has to carry."""
    built = build(case)
    b = GraphBuilder()
    order = random.Random(str(case))
    operands: list[Operand | None] = []
    values: dict[str, Any] = {}
    for x in built.given:
        if x is None:
            operands.append(None)
            continue
        name = x.node.label
        p = list(range(x.rank))
        order.shuffle(p)
        stored = b.input(name, x.dtype, [x.shape[k] for k in inverse(p)])
        values[name] = np.transpose(np.asarray(built.feeds[name]), inverse(p)).astype(x.dtype)
        operands.append(b.transpose(stored, permutation=p) if x.rank > 1 else stored)
    made = b.apply(
        case.operator,
        [operands] if case.operator.operands[0].variadic else operands,
        case.sample.options,
    )
    results = made if isinstance(made, tuple) else (made,)
    outputs = {f"y{k}": y for k, y in enumerate(results)}
    # A transpose behind makes it worth while to stay in the other order.
    outputs |= {f"z{k}": b.transpose(y) for k, y in enumerate(results) if y.rank > 1}
    same(use_channels_last, b.build(outputs), values)


@pytest.mark.parametrize("seed", draws(range(150)))
def test_random_graphs_compute_the_same(seed: int) -> None:
    same(use_channels_last, random_graph(seed))


def test_what_is_only_summed_up_is_not_transposed() -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [2, 1, 5, 5])  # of one channel: a reshape
    y = b.conv2d(x, b.constant([[[[1.0, 2.0], [3.0, 4.0]]], [[[0.5, -1.0], [1.0, 0.0]]]]))
    apart = y - b.reduce_mean(y, axes=[0, 2, 3], keep_dimensions=True)
    variance = b.reduce_mean(apart * apart, axes=[0, 2, 3])
    found = same(use_channels_last, b.build({"variance": variance}))
    assert "transpose" not in names(found)


def test_transposes_meet_their_inverses_across_operators() -> None:
    b = GraphBuilder()
    x, z = b.input("x", "float32", [2, 3, 4]), b.input("z", "float32", [2, 3, 4])
    there = [b.transpose(t, permutation=[1, 2, 0]) for t in (x, z)]
    y = b.concat([b.tanh(there[0]) * there[1], there[0]], axis=2)
    back = b.transpose(b.softmax(y, axis=1), permutation=[2, 0, 1])
    found = same(use_channels_last, b.build({"y": back}))
    assert names(found) == ["tanh", "mul", "concat", "softmax"]


def test_updates_of_a_filter_transpose_its_gradient_alone() -> None:
    b = GraphBuilder()
    g, w, v = (b.input(name, "float32", [3, 2, 4]) for name in ("g", "w", "v"))
    gradient = b.transpose(b.reshape(g, new_shape=[2, 4, 3]), permutation=[2, 0, 1]) * 0.5
    moved = v * 0.9 + gradient
    norm = b.reduce_sum_square(gradient)
    found = same(use_channels_last, b.build({"v": moved, "w": w - moved, "norm": norm}))
    assert names(found).count("transpose") == 1
