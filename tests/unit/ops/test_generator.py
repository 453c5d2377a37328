"""Random numbers in a graph: the same integers as Wichmann and Hill's, exact in float32."""

from __future__ import annotations

import pytest

from webnnm import GraphBuilder
from webnnm.backends.reference import evaluate
from webnnm.ops.declare.generator import MODULI, MULTIPLIERS, advance
from webnnm.training.initialisation import build_generator_graph, draw_generator_bytes

np = pytest.importorskip("numpy")

STATES = ("x", "y", "z")


def test_states_are_exact_over_many_steps() -> None:
    b = GraphBuilder()
    after, numbers = advance(b, [b.input(name, "float32", [3]) for name in STATES])
    graph = b.build({**dict(zip(STATES, after, strict=True)), "u": numbers})
    integers = {
        name: [1, modulus // 2, modulus - 1] for name, modulus in zip(STATES, MODULI, strict=True)
    }
    state = {name: np.asarray(values, "float32") for name, values in integers.items()}
    for _ in range(200):
        found = evaluate(graph, state)
        for name, multiplier, modulus in zip(STATES, MULTIPLIERS, MODULI, strict=True):
            integers[name] = [value * multiplier % modulus for value in integers[name]]
            assert found[name].tolist() == integers[name]
        shares = zip(*integers.values(), strict=True)
        expected = [sum(v / m for v, m in zip(s, MODULI, strict=True)) % 1 for s in shares]
        np.testing.assert_allclose(found["u"], expected, atol=1e-6)
        state = {name: found[name] for name in STATES}


def test_numbers_are_uniform() -> None:
    b = GraphBuilder()
    shapes = dict.fromkeys(STATES, (40, 50))
    generators = {"dropout1": STATES}
    drawn = draw_generator_bytes(3, generators, shapes)
    start = evaluate(
        build_generator_graph(generators, shapes),
        {name: array.values() for name, array in drawn.items()},
    )
    for name, modulus in zip(STATES, MODULI, strict=True):
        assert start[name].min() >= 1
        assert start[name].max() < modulus
        assert np.array_equal(start[name], np.floor(start[name]))
    _, numbers = advance(b, [b.input(name, "float32", (40, 50)) for name in STATES])
    u = evaluate(b.build({"u": numbers}), start)["u"]
    assert 0 <= u.min() < u.max() < 1
    # Standard deviations of the mean and of a tenth's share of 2,000 draws, times five.
    assert abs(u.mean() - 0.5) < 5 * (1 / 12 / 2000) ** 0.5
    for tenth in range(10):
        share = ((u >= tenth / 10) & (u < (tenth + 1) / 10)).mean()
        assert abs(share - 0.1) < 5 * (0.09 / 2000) ** 0.5


def test_layers_and_seeds_have_streams_of_their_own() -> None:
    shapes = {"a/0": (4,), "b/0": (4,)}
    one = draw_generator_bytes(0, {"a": ("a/0",), "b": ("b/0",)}, shapes)
    two = draw_generator_bytes(1, {"a": ("a/0",)}, shapes)
    assert one["a/0"].tolist() != one["b/0"].tolist()
    assert one["a/0"].tolist() != two["a/0"].tolist()
