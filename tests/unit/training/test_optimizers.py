"""Optimizers against their formulas in float64 over several steps (spec E.2)."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from tests.unit.training.trained import PLAIN, SLOPE, build, create, points, run, values
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph
from webnnm.training.optimizers import OPTIMIZERS, Numbers, Optimizer
from webnnm.training.schedules import Schedule

STEPS, SIZE = 8, 6
NAMES = ("lion", "rlion", "nesterov", "sgdm", "adam", "adamw", "sgd")
"""Optimizers that change each number by itself; for adafactor see below."""
DEFAULTS: dict[str, dict[str, float]] = {
    "lion": {"beta1": 0.9, "beta2": 0.99},
    "rlion": {"beta1": 0.9, "beta2": 0.99, "alpha": 10},
    "nesterov": {"momentum_factor": 0.9},
    "sgdm": {"momentum_factor": 0.9},
    "adam": {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8},
    "adamw": {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8},
    "sgd": {},
}
OTHERS: dict[str, dict[str, float]] = {
    "lion": {"beta1": 0.5, "beta2": 0.8},
    "rlion": {"beta1": 0.6, "beta2": 0.7, "alpha": 2.5},
    "nesterov": {"momentum_factor": 0.5},
    "sgdm": {"momentum_factor": 0.0},
    "adam": {"beta1": 0.5, "beta2": 0.75, "epsilon": 0.1},
    "adamw": {"beta1": 0.0, "beta2": 0.9, "epsilon": 1e-3},
    "sgd": {},
}
RECORDS = tuple({optimizer.name: optimizer for optimizer in OPTIMIZERS.values()}.values())
SLOTS = {name: {"adam": 2, "adamw": 2, "sgd": 0}.get(name, 1) for name in NAMES}


def step(
    name: str,
    w: float,
    g: float,
    state: tuple[float, ...],
    t: int,
    rate: float,
    decay: float,
    n: dict[str, float],
) -> tuple[float, tuple[float, ...]]:
    """One row of the table of E.2 for one number."""
    if name in ("lion", "rlion"):
        (v,) = state
        c = n["beta1"] * v + (1 - n["beta1"]) * g
        if name == "lion":
            u = math.copysign(1, c) if c else 0.0
        else:
            u = n["alpha"] * c / (1 + abs(n["alpha"] * c))
        return w - rate * (u + decay * w), (n["beta2"] * v + (1 - n["beta2"]) * g,)
    if name == "sgd":
        return w - rate * (g + decay * w), ()
    if name in ("nesterov", "sgdm"):
        mu = n["momentum_factor"]
        slope = g + decay * w
        v = mu * state[0] + slope
        return w - rate * (slope + mu * v if name == "nesterov" else v), (v,)
    slope = g + decay * w if name == "adam" else g
    m = n["beta1"] * state[0] + (1 - n["beta1"]) * slope
    v = n["beta2"] * state[1] + (1 - n["beta2"]) * slope**2
    change = m / (1 - n["beta1"] ** t) / (math.sqrt(v / (1 - n["beta2"] ** t)) + n["epsilon"])
    if name == "adamw":
        change += decay * w
    return w - rate * change, (m, v)


def graph_of(name: str, decay: float, settings: dict[str, float], size: int = SIZE) -> Graph:
    optimizer = OPTIMIZERS[name]

    def make(b: GraphBuilder) -> dict[str, Any]:
        w, g = b.input("w", "float32", [size]), b.input("g", "float32", [size])
        state = {
            slot: b.input(f"s{k}", "float32", [size]) for k, slot in enumerate(optimizer.slots)
        }
        numbers = Numbers(
            rate=b.input("rate", "float32", []),
            decay=decay,
            settings=settings,
            clocks={clock: b.input(clock, "float32", []) for clock in optimizer.clocks},
        )
        new, moved = optimizer.update(b, w, g, state, numbers)
        return {"w": new} | {f"s{k}": moved[slot] for k, slot in enumerate(optimizer.slots)}

    return build(make)


@pytest.mark.parametrize("decay", [0.0, 0.05], ids=["no decay", "decay"])
@pytest.mark.parametrize("settings", [DEFAULTS, OTHERS], ids=["defaults", "others"])
@pytest.mark.parametrize("name", NAMES)
def test_several_steps(name: str, settings: dict[str, dict[str, float]], decay: float) -> None:
    numbers = settings[name]
    graph = graph_of(name, decay, numbers)
    draw = random.Random(name)
    weights = [draw.uniform(-1, 1) for _ in range(SIZE)]
    states: list[tuple[float, ...]] = [(0.0,) * SLOTS[name]] * SIZE
    found: dict[str, Any] = {"w": weights} | {f"s{k}": [0.0] * SIZE for k in range(SLOTS[name])}
    for t in range(1, STEPS + 1):
        rate = 0.1 / t
        # The last element has no gradient at all.
        slopes = [draw.uniform(-1, 1) for _ in range(SIZE - 1)] + [0.0]
        betas = {k: 1 - v**t for k, v in numbers.items() if k.startswith("beta")}
        found = run(graph, {**found, "g": slopes, "rate": rate, **betas})
        pairs = [
            step(name, w, g, state, t, rate, decay, numbers)
            for w, g, state in zip(weights, slopes, states, strict=True)
        ]
        weights, states = [w for w, _ in pairs], [state for _, state in pairs]
        assert found["w"] == pytest.approx(weights, abs=2e-6)
        for k in range(SLOTS[name]):
            assert found[f"s{k}"] == pytest.approx([s[k] for s in states], abs=2e-6)


@pytest.mark.parametrize("name", NAMES)
async def test_training_takes_the_steps_of_the_formula(name: str) -> None:
    """The step counts t over epochs, and decays and rates reach the update, times lrm."""
    xs, ys = [0.5, -1.0, 1.5, 0.25, -0.75], [1.0, -1.5, 2.5, 0.75, -1.0]
    model = await create(SLOPE.format(", init=constant(0.25), lrm=0.5"), points(xs, ys))
    numbers = OTHERS[name]
    settings = {**PLAIN, **numbers, "schedule": "linear", "optimizer": name}
    await model.train(settings, epochs=4, batch_size=2, lr=0.1, weight_decay=0.05)
    schedule = Schedule(kind="linear", rate=0.1, epochs=4, batches=3)
    w, state, t = 0.25, (0.0,) * SLOTS[name], 0
    for _ in range(4):
        for first in (0, 2, 4):
            t += 1
            rows = list(zip(xs, ys, strict=True))[first : first + 2]
            g = sum(2 * x * (w * x - y) for x, y in rows) / len(rows)
            w, state = step(name, w, g, state, t, schedule.at(t) * 0.5, 0.05, numbers)
    assert values(model)["w1"].item() == pytest.approx(w, abs=1e-5)
    model.close()


@pytest.mark.parametrize("name", ["lion", "rlion"])
def test_steps_are_bounded_whatever_the_gradient(name: str) -> None:
    graph = graph_of(name, 0.0, DEFAULTS[name], size=3)
    zeros = [0.0] * 3
    found = run(graph, {"w": zeros, "g": [1e6, -1e6, 0.0], "s0": zeros, "rate": 0.1})
    assert found["w"] == pytest.approx([-0.1, 0.1, 0.0], abs=1e-5)


def test_first_step_of_adam_has_the_length_of_the_rate() -> None:
    """The corrections undo that the moments start at 0 (Kingma & Ba 2015, section 3)."""
    graph = graph_of("adam", 0.0, DEFAULTS["adam"], size=3)
    zeros = [0.0] * 3
    feeds = {"w": zeros, "g": [1e-3, -5.0, 40.0], "s0": zeros, "s1": zeros, "rate": 0.01}
    found = run(graph, {**feeds, "beta1": 0.1, "beta2": 0.001})
    assert found["w"] == pytest.approx([-0.01, 0.01, -0.01], rel=1e-3)


def adafactor_step(
    w: Any, g: Any, state: dict[str, Any], t: int, rate: float, decay: float, epsilon: float
) -> tuple[Any, dict[str, Any]]:
    """Algorithms 4 and 5 of Shazeer & Stern 2018 with d = 1, plain steps and decoupled decay."""
    np = pytest.importorskip("numpy")
    beta2 = 1 - t**-0.8
    square = g**2 + epsilon
    if g.ndim < 2:
        v = beta2 * state["v"] + (1 - beta2) * square
        state = {"v": v}
    else:
        row = beta2 * state["row"] + (1 - beta2) * square.mean(-1)
        column = beta2 * state["column"] + (1 - beta2) * square.mean(-2)
        v = row[..., None] * column[..., None, :] / row.mean(-1)[..., None, None]
        state = {"row": row, "column": column}
    u = g / np.sqrt(v)
    u = u / max(1.0, np.sqrt(np.mean(u**2)))
    return w - rate * (u + decay * w), state


@pytest.mark.parametrize("decay", [0.0, 0.05], ids=["no decay", "decay"])
@pytest.mark.parametrize("epsilon", [1e-30, 1e-3])
@pytest.mark.parametrize("shape", [(), (5,), (4, 3), (1, 6), (2, 3, 4), (5, 2, 3, 3)], ids=str)
def test_several_steps_of_adafactor(shape: tuple[int, ...], epsilon: float, decay: float) -> None:
    np = pytest.importorskip("numpy")
    adafactor = OPTIMIZERS["adafactor"]
    shapes = adafactor.slot_shapes(shape)

    def make(b: GraphBuilder) -> dict[str, Any]:
        numbers = Numbers(
            rate=b.input("rate", "float32", []),
            decay=decay,
            settings={"epsilon": epsilon},
            clocks={"t": b.input("t", "float32", [])},
        )
        w, g = b.input("w", "float32", shape), b.input("g", "float32", shape)
        slots = {slot: b.input(slot, "float32", own) for slot, own in shapes.items()}
        new, after = adafactor.update(b, w, g, slots, numbers)
        return {"w": new, **after}

    graph = build(make)
    rng = np.random.default_rng(0)
    w = rng.normal(size=shape)
    state = {slot: np.zeros(own) for slot, own in shapes.items()}
    results: dict[str, Any] = {"w": w, **state}
    for t in range(1, STEPS + 1):
        g = rng.normal(size=shape) * 10.0 ** rng.uniform(-4, 4)
        w, state = adafactor_step(w, g, state, t, 0.1 / t, decay, epsilon)
        feeds = {name: np.asarray(x, "float32") for name, x in {**results, "g": g}.items()}
        results = run(graph, {**feeds, "rate": 0.1 / t, "t": t})
        np.testing.assert_allclose(results["w"], w, atol=1e-5)
        for slot, expected in state.items():
            np.testing.assert_allclose(results[slot], expected, rtol=1e-5)


def test_adafactor_stands_rows_without_gradients() -> None:
    """Whether others are 0 as well, or large: of dead units, and of words that a batch has not."""
    np = pytest.importorskip("numpy")
    adafactor = OPTIMIZERS["adafactor"]

    def make(b: GraphBuilder) -> dict[str, Any]:
        numbers = Numbers(
            rate=b.constant(0.1),
            decay=0.0,
            settings=adafactor.defaults,
            clocks={"t": b.constant(1.0)},
        )
        w, g = b.input("w", "float32", (2, 3)), b.input("g", "float32", (2, 3))
        slots = {"row": b.constant([0.0] * 2), "column": b.constant([0.0] * 3)}
        return {"w": adafactor.update(b, w, g, slots, numbers)[0]}

    graph, zeros = build(make), np.zeros((2, 3), "float32")
    for size in (0.0, 1.0, 1e10, 1e19):
        g = np.asarray([[0, 0, 0], [size, -size, 0]], "float32")
        after = np.reshape(run(graph, {"w": zeros, "g": g})["w"], (2, 3))
        assert np.all(np.isfinite(after))
        assert not np.any(after[0])
        if size:
            assert after[1, 0] < -0.01 and after[1, 1] > 0.01


@pytest.mark.parametrize("optimizer", RECORDS, ids=lambda record: record.name)
def test_elementwise_optimizers_have_slots_of_the_shape_of_their_parameter(
    optimizer: Optimizer,
) -> None:
    """Small parameters are updated as one vector, which gives the same numbers then."""
    for shape in ((), (5,), (2, 3), (2, 3, 4)):
        if optimizer.elementwise:
            assert optimizer.slot_shapes(shape) == dict.fromkeys(optimizer.slots, shape)
    assert optimizer.rate > 0


@pytest.mark.parametrize("name", sorted(o.name for o in RECORDS if o.elementwise))
def test_elementwise_optimizers_move_a_number_as_if_it_were_alone(name: str) -> None:
    optimizer = OPTIMIZERS[name]
    draw = random.Random(name)
    feeds: dict[str, Any] = {
        key: [draw.uniform(-1, 1) for _ in range(4)] for key in ("w", "g", *"01")
    }
    feeds = {"w": feeds["w"], "g": feeds["g"]} | {
        f"s{k}": [abs(x) for x in feeds[str(k)]] for k in range(len(optimizer.slots))
    }
    shared = {"rate": 0.1, **dict.fromkeys(optimizer.clocks, 0.5)}
    together = run(graph_of(name, 0.01, dict(optimizer.defaults), 4), {**feeds, **shared})["w"]
    alone = graph_of(name, 0.01, dict(optimizer.defaults), 1)
    for at, expected in enumerate(together):
        own = {key: [values[at]] for key, values in feeds.items()}
        assert run(alone, {**own, **shared})["w"] == pytest.approx([expected], rel=1e-6)


def test_defaults_of_the_specification() -> None:
    assert {o.name for o in OPTIMIZERS.values()} == {*NAMES, "adafactor"}
    assert {name: dict(OPTIMIZERS[name].defaults) for name in NAMES} == DEFAULTS
    decays = {"lion": 0.01, "rlion": 0.01, "nesterov": 1e-4, "sgdm": 1e-4, "adam": 0, "adamw": 0.25}
    decays |= {"sgd": 1e-4}
    assert {name: OPTIMIZERS[name].weight_decay for name in NAMES} == decays
    assert all(OPTIMIZERS[name].rate > 0 for name in NAMES)
    assert OPTIMIZERS["nag"] is OPTIMIZERS["nesterov"]


def test_what_optimizers_tell_of_themselves() -> None:
    """E.7 leaves automatic L2 out where the decay is not a part of the gradient."""
    assert {n for n in NAMES if OPTIMIZERS[n].decoupled} == {"lion", "rlion", "adamw"}
    assert {n for n in NAMES if OPTIMIZERS[n].clocks} == {"adam", "adamw"}
    assert {n: len(OPTIMIZERS[n].slots) for n in NAMES} == SLOTS
