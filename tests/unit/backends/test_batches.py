"""Which values of a graph have the rows of a batch along their first axis."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.backends.cloud import BATCH, MODELS, create
from webnnm.backends.batches import find_batch_nodes
from webnnm.backends.kernels import computable
from webnnm.backends.reference import ReferenceBackend
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph, InputNode

pytest.importorskip("numpy")


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Graph]:
    """The graphs that were compiled."""
    seen: list[Graph] = []
    compile = ReferenceBackend.compile

    async def noting(self: ReferenceBackend, graph: Graph, **given: Any) -> Any:
        seen.append(computable(graph))
        return await compile(self, graph, **given)

    monkeypatch.setattr(ReferenceBackend, "compile", noting)
    return seen


def rows(graph: Graph) -> list[int]:
    """Return the first sizes of what is shared."""
    shared = find_batch_nodes(graph)
    return [node.types[0].shape[0] for node in graph.nodes() if node.number in shared]


@pytest.mark.parametrize("name", MODELS)
async def test_a_training_step_shares_the_picked_rows_alone(
    name: str, compiled: list[Graph]
) -> None:
    model = await create(name, "numpy")
    del compiled[:]
    await model.train(epochs=1, seeds=0)
    (step,) = (graph for graph in compiled if "order" in graph.inputs)
    assert rows(step) == [BATCH, BATCH], "data and targets"
    model.close()


async def test_an_evaluation_shares_its_data(compiled: list[Graph]) -> None:
    model = await create("mlp", "numpy")
    del compiled[:]
    await model.test("validation")
    (graph,) = compiled
    shared = find_batch_nodes(graph)
    names = {n.name for n in graph.nodes() if isinstance(n, InputNode) and n.number in shared}
    assert names == {"m", "target/m"}
    model.close()


def test_positions_and_parameters_are_not_rows() -> None:
    b = GraphBuilder()
    table, w = b.input("table", "float32", [9, 2]), b.input("param/w", "float32", [9, 2])
    same, picked = b.constant([0, 1, 2], "int32"), b.input("picked", "int32", [3])
    one = b.input("one", "int32", [])
    for y in (
        b.gather(table, same),
        b.gather(table, one),
        b.gather(table, b.constant([1, 0], "int32"), axis=1),
        b.gather(w, b.reshape(same, new_shape=[1, 3])),
    ):
        assert find_batch_nodes(b.build({"y": y})) == frozenset()
    assert find_batch_nodes(b.build({"y": b.gather(table, picked, axis=1)})) == frozenset()


def test_inputs_of_several_sizes_are_not_a_batch() -> None:
    b = GraphBuilder()
    x, y = b.input("x", "float32", [4, 2]), b.input("y", "float32", [2])
    w = b.input("param/w", "float32", [2])
    assert find_batch_nodes(b.build({"z": x * w})) == {x.number}
    assert find_batch_nodes(b.build({"z": x * w + y})) == frozenset()
