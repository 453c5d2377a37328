"""Gates of biases by distance: each query says in each head how much they count."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.graph.texts import fails, model
from tests.unit.ops.cases import np
from tests.unit.ops.test_attention import formula
from webnnm import GraphBuilder
from webnnm.backends.reference import evaluate
from webnnm.ops.declare.relative import relative_bias

SIZES = {"x0": (2, 3, 4), "x1": (2, 3, 4), "x2": (2, 3, 4), "table": (4, 2)}


def attend(gates: Any, *, wide: bool = True, **tensors: Any) -> Any:
    b = GraphBuilder()
    xs = {name: b.input(name, "float32", value.shape) for name, value in tensors.items()}
    gate = b.input("gates", "float32", gates.shape)
    y = b.attend(
        *(xs[f"x{n}"] for n in range(3)),
        relative_bias=xs["table"],
        relative_gates=gate,
        heads=2,
        max_distance=3,
    )
    biases = relative_bias(b, xs["table"], 2, 3, 3, False, 3)
    graph = b.build({"y": y, "biases": biases})
    return evaluate(graph, {**tensors, "gates": gates}, wide=wide)


@pytest.mark.parametrize("shape", [(2, 3, 2), (3, 2), (1, 2)])
def test_gates_multiply_biases(shape: tuple[int, ...]) -> None:
    random = np.random.default_rng(3)
    tensors = {name: random.normal(size=size).astype("float32") for name, size in SIZES.items()}
    gates = random.normal(size=shape).astype("float32")
    found = attend(gates, **tensors)
    every = np.broadcast_to(gates, (2, 3, 2))
    q, k, v = (tensors[f"x{n}"] for n in range(3))
    parts = []
    for head in range(2):
        own = slice(2 * head, 2 * head + 2)
        addend = every[..., head][..., None] * found["biases"][head]
        parts.append(formula(q[..., own], k[..., own], v[..., own], addend=addend))
    np.testing.assert_allclose(found["y"], np.concatenate(parts, -1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("code", "layer", "says"),
    [
        ("NNM302", "attend(q, k, v, heads=2, ¦relativeGates=g)", "but there is none"),
        (
            "NNM404",
            "attend(q, k, v, heads=4, relativeBias=four, ¦relativeGates=g)",
            "not a number for each of 4 heads",
        ),
        (
            "NNM404",
            "attend(q, k, v, heads=2, relativeBias=t, ¦relativeGates=other)",
            "not a number for each of 2 heads",
        ),
    ],
)
def test_errors(code: str, layer: str, says: str) -> None:
    tables = "m:param t shape=[4, 2], four shape=[4, 4], g shape=[6, 2], other shape=[5, 2];"
    source = model(layer, tables, input="shape=[6, 4]", output="shape=[6, 4]")
    fails(code, source, says=says)


def test_gates_are_those_of_the_tokens() -> None:
    source = """
        webnnm 1.0;
        x:input shape=[4] sequence=tokens;
        z:input shape=[2] sequence=others;
        y:output shape=[4] sequence=tokens;
        y:param t shape=[4, 2];
        y:layers
          identity(node=x),
          attend(q, k, v, heads=2, relativeBias=t, ¦relativeGates=z);
    """
    fails("NNM411", source, says='gates along "others", tokens along "tokens"')
