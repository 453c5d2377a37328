"""Optimizers against plain Python over several steps (spec E.2)."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from webnnm.graph.builder import GraphBuilder
from webnnm.training.optimizers import OPTIMIZERS, RLION, SGDM, Optimizer

pytest.importorskip("numpy")

STEPS, SIZE = 6, 5
Step = Callable[[float, float, float, float, float], tuple[float, float]]


def rlion(w: float, g: float, v: float, rate: float, decay: float) -> tuple[float, float]:
    steep = 10 * (0.9 * v + 0.1 * g)
    u = steep / (1 + abs(steep))
    return w - rate * (u + decay * w), 0.99 * v + 0.01 * g


def sgdm(w: float, g: float, v: float, rate: float, decay: float) -> tuple[float, float]:
    v = 0.9 * v + (g + decay * w)
    return w - rate * v, v


@pytest.mark.parametrize("decay", [0.0, 0.05])
@pytest.mark.parametrize(
    ("optimizer", "step"), [(RLION, rlion), (SGDM, sgdm)], ids=["rlion", "sgdm"]
)
def test_several_steps(optimizer: Optimizer, step: Step, decay: float) -> None:
    from webnnm.backends.reference import evaluate

    b = GraphBuilder()
    w, g, v = (b.input(name, "float32", [SIZE]) for name in "wgv")
    new, (moved,) = optimizer.update(
        b, w, g, [v], b.input("rate", "float32", []), decay, optimizer.defaults
    )
    graph = b.build({"w": new, "v": moved})
    draw = random.Random(0)
    weights = [draw.uniform(-1, 1) for _ in range(SIZE)]
    state = [0.0] * SIZE
    found: dict[str, object] = {"w": weights, "v": state}
    for t in range(STEPS):
        rate = 0.1 / (t + 1)
        slope = [draw.uniform(-1, 1) for _ in range(SIZE)]
        found = evaluate(graph, {**found, "g": slope, "rate": rate})
        pairs = [step(*values, rate, decay) for values in zip(weights, slope, state, strict=True)]
        weights, state = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    assert found["w"].tolist() == pytest.approx(weights, abs=1e-6)  # type: ignore[attr-defined]
    assert found["v"].tolist() == pytest.approx(state, abs=1e-6)  # type: ignore[attr-defined]


def test_steps_of_rlion_are_bounded() -> None:
    from webnnm.backends.reference import evaluate

    b = GraphBuilder()
    w, g, v = (b.input(name, "float32", [2]) for name in "wgv")
    new, _ = RLION.update(b, w, g, [v], b.constant(0.1, "float32"), 0.0, RLION.defaults)
    found = evaluate(b.build({"w": new}), {"w": [0, 0], "g": [1e6, -1e6], "v": [0, 0]})["w"]
    assert found.tolist() == pytest.approx([-0.1, 0.1], abs=1e-5)


def test_defaults_of_the_specification() -> None:
    assert RLION.defaults == {"beta1": 0.9, "beta2": 0.99, "alpha": 10}
    assert (RLION.weight_decay, SGDM.weight_decay) == (0.01, 1e-4)
    assert SGDM.defaults == {"momentum_factor": 0.9}
    assert set(OPTIMIZERS) >= {"rlion", "sgdm"}
