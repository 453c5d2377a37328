"""Lion and rlion are their formulas in NumPy, in float64 and in float32 (spec E.2)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.parity.training.fixtures import SEED
from tests.parity.training.formulas import DIRECTIONS, NARROW, Lion
from tests.parity.training.runs import (
    BATCH,
    CLASSES,
    MLP,
    OPTIMIZERS,
    TRAININGS,
    Outcome,
    Run,
    data,
    difference,
    starts,
    train,
)
from webnnm.backends.reference import evaluate
from webnnm.graph.builder import GraphBuilder
from webnnm.training.optimizers import OPTIMIZERS as UPDATES
from webnnm.training.optimizers import Numbers

LIMIT = 1e-5
STEPS = 100

every_formula = pytest.mark.parametrize("name", sorted(DIRECTIONS))
both_types = pytest.mark.parametrize("type", [np.float64, np.float32], ids=["float64", "float32"])


def gradients(x: Any, y: Any, w: dict[str, Any]) -> tuple[float, dict[str, Any]]:
    """Return the mean cross entropy of the MLP over a batch, and its gradients by hand."""
    h = np.tanh(x @ w["w1"] + w["b1"])
    z = h @ w["w2"] + w["b2"]
    e = np.exp(z - z.max(1, keepdims=True))
    p = e / e.sum(1, keepdims=True)
    dz = (p - y) / len(x)
    dh = dz @ w["w2"].T * (1 - h * h)
    found = {"w1": x.T @ dh, "b1": dh.sum(0), "w2": h.T @ dz, "b2": dz.sum(0)}
    return float(-(y * np.log(p)).sum() / len(x)), found


def in_numpy(run: Run, type: Any) -> tuple[Outcome, float]:
    """Train the MLP; return the outcome and the margin of the signs."""
    flat_x, flat_y = data(run, SEED)
    x = np.array(flat_x, type).reshape(run.rows, *MLP.row)
    y = np.array(flat_y, type).reshape(run.rows, CLASSES)
    w = {n: np.array(v, type).reshape(MLP.parameters[n]) for n, v in starts(run, SEED).items()}
    lions = {name: Lion(run.settings["optimizer"], run.settings) for name in w}
    losses: list[float] = []
    for start in range(0, run.rows, BATCH):
        loss, found = gradients(x[start : start + BATCH], y[start : start + BATCH], w)
        losses.append(loss)
        w = {name: lions[name].step(value, found[name]) for name, value in w.items()}
    assert all(value.dtype == type for value in w.values())
    values = {name: value.ravel().tolist() for name, value in w.items()}
    return Outcome.of(run, SEED, losses, values), min(lion.margin for lion in lions.values())


@both_types
@every_formula
async def test_training_goes_as_in_numpy(name: str, type: Any) -> None:
    run = next(r for r in TRAININGS if r.network is MLP and r.settings["optimizer"] == name)
    wanted, margin = in_numpy(run, type)
    assert name == "rlion" or margin > NARROW, "signs hang on rounding errors: another seed"
    assert difference(await train(run, "numpy", SEED), wanted) <= LIMIT


@both_types
@every_formula
@pytest.mark.parametrize("shape", [(3, 4), (5,)], ids=["decayed", "not decayed"])
def test_updates_are_the_formulas(name: str, type: Any, shape: tuple[int, ...]) -> None:
    """A hundred updates with gradients of many sizes, some of them zero."""
    settings = {**OPTIMIZERS[name]}
    b = GraphBuilder()
    w, g, v = (b.input(word, "float32", shape) for word in "wgv")
    numbers = Numbers(
        rate=b.constant(settings["lr"], "float32"),
        decay=settings["weight_decay"] if len(shape) > 1 else 0.0,
        settings=settings,
    )
    new, moved = UPDATES[name].update(b, w, g, {"v": v}, numbers)
    graph = b.build({"w": new, "v": moved["v"]})
    rng = np.random.default_rng(3)
    # Multiples of 2⁻¹²: both types hold the same numbers.
    draws = np.round(rng.standard_normal((STEPS + 1, *shape)) * 4096) / 4096
    draws[1:] *= rng.choice([0, 0.0625, 1, 16], draws[1:].shape)
    expected = draws[0].astype(type)
    state = {"w": expected, "v": np.zeros(shape, type)}
    lion = Lion(name, settings)
    for gradient in draws[1:].astype(type):
        expected = lion.step(expected, gradient)
        state = evaluate(graph, {**state, "g": gradient}, wide=type is np.float64)
    assert expected.dtype == type
    apart = np.max(np.abs(state["w"] - expected)) / np.max(np.abs(expected))
    assert apart <= (1e-7 if type is np.float64 else LIMIT)
