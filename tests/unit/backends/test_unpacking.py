"""What only constants determine, some of them in few bits, is computed when a graph is built."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm.backends.reference import ReferenceBackend
from webnnm.backends.unpacking import split
from webnnm.core.arrays import HostArray
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Operand, OperatorNode
from webnnm.ops.declare.tensors import TensorType

SCALE = TensorType("float32", (4, 1))
USES: dict[str, Any] = {
    "transposed": lambda b, x, w: x + b.transpose(w, permutation=[1, 0]),
    "reshaped": lambda b, x, w: b.reshape(x, new_shape=[12]) * b.reshape(w, new_shape=[12]),
    "multiplied": lambda b, x, w: b.gemm(x, w),
}


def dequantise(b: GraphBuilder) -> Operand:
    """Return weights of four rows, whose numbers are in the graph and whose scales are fixed."""
    numbers = b.constant([[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]], "int8")
    return b.dequantize_linear(numbers, b.input("scale", *SCALE), b.constant([[0]] * 4, "int8"))


@pytest.mark.parametrize("use", ["transposed", "reshaped", "multiplied"])
async def test_weights_with_a_scale_per_row_leave_the_graph(use: str) -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", [3, 4])
    graph = b.build({"y": USES[use](b, x, dequantise(b))})
    rest, parts = split(graph, {"scale": SCALE})
    assert len(parts) == 1
    assert not rest.uses({"dequantizeLinear"})
    scale = HostArray.of([[0.5], [1.0], [2.0], [0.25]], "float32")
    backend = ReferenceBackend()
    executable = await backend.compile(graph, constants={"scale": scale})
    assert [*executable.inputs] == ["x"]
    data: dict[str, Any] = {"x": [[1.0] * 4] * 3}
    whole = await backend.compile(graph)
    expected = await whole.run({**data, "scale": [[0.5], [1.0], [2.0], [0.25]]})
    assert (await executable.run(data))["y"].tolist() == expected["y"].tolist()


def test_numbers_that_the_graph_itself_dequantises_stay_in_it() -> None:
    b = GraphBuilder()
    scale = b.constant([[1.0], [2.0]], "float32")
    w = b.dequantize_linear(b.constant([[1], [2]], "int8"), scale, b.constant([[0]] * 2, "int8"))
    rest, parts = split(b.build({"y": b.input("x", "float32", [2, 1]) + w}), {})
    assert not parts
    assert any(isinstance(node, OperatorNode) for node in rest.nodes())
