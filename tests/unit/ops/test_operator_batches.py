"""Operators applied to batches at once give what they give for each example, by their samples."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from tests.unit.ops.cases import CASES, Case, build, draw, np
from webnnm.backends.reference import evaluate
from webnnm.core.dtypes import is_float
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import OperatorNode
from webnnm.graph.transforms.batching import vectorize_graph

SIZE = 3


def examples(case: Case, names: Collection[str]) -> list[dict[str, Any]]:
    """Return feeds for several examples; of the values that a sample fixes integers change places.

    Matrices stay definite, and lists sorted.
    """
    found = []
    for seed in range(SIZE):
        values = dict(zip(names, draw(case, seed), strict=True))
        for name, value in values.items():
            if case.fixed(int(name[1:])) is None:
                continue
            if is_float(case.dtype(int(name[1:]))):
                values[name] = value * (1 + seed / 8)
            else:
                values[name] = np.reshape(np.roll(np.reshape(value, (-1,)), seed), value.shape)
        found.append(values)
    return found


@pytest.mark.alike  # rules of shapes over kernels that other tests compare
@pytest.mark.parametrize("case", [c for c in CASES if build(c).operands], ids=str)
def test_batch_is_the_stack_of_its_examples(case: Case) -> None:
    built = build(case)
    graph = built.builder.build({f"y{i}": y for i, y in enumerate(built.results)})
    names = list(graph.inputs)
    feeds = examples(case, names)
    stacks = {name: np.stack([values[name] for values in feeds]) for name in names}
    for mapped in [{name} for name in names] + [set(names)] * (len(names) > 1):
        b = GraphBuilder()
        given = {
            name: b.input(name, x.dtype, (*(SIZE,) * (name in mapped), *x.shape))
            for name, x in graph.inputs.items()
        }
        found = vectorize_graph(b, graph, given, mapped, SIZE)
        assert all(is_batch for _, is_batch in found.values())
        whole = b.build({name: y for name, (y, _) in found.items()})
        used = [node.operator for node in whole.nodes() if isinstance(node, OperatorNode)]
        assert used.count(case.operator) <= 1, "without batch=… it is applied example by example"
        fed = {name: stacks[name] if name in mapped else feeds[0][name] for name in names}
        together = evaluate(whole, fed, wide=True)
        for number in range(SIZE):
            own = {name: feeds[number if name in mapped else 0][name] for name in names}
            for name, value in evaluate(graph, own, wide=True).items():
                assert found[name][0].dtype == graph.outputs[name].dtype
                np.testing.assert_allclose(
                    together[name][number], value, rtol=1e-9, atol=1e-9, strict=True
                )
