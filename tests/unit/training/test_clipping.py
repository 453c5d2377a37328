"""Clipping against spec E.6 written out in Python, and the units of weights."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from tests.unit.training.trained import (
    PLAIN,
    SLOPE,
    build,
    create,
    points,
    regression,
    run,
    values,
)
from tests.work import seeds
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph
from webnnm.training.clipping import CLIP_STATE, clip_globally, clip_units, global_norm

START = dict.fromkeys(CLIP_STATE, 0.0)


class Rolling:
    """Global clipping of one norm after the other, from the text of E.6."""

    def __init__(self, alpha: float = 0.95, epsilon: float = 1e-6) -> None:
        self.alpha, self.epsilon = alpha, epsilon
        self.batch, self.mean, self.spread = 0, 0.0, 0.0

    def move(self, norm: float) -> tuple[float, float]:
        mean = self.alpha * self.mean + (1 - self.alpha) * norm
        return mean, self.alpha * self.spread + (1 - self.alpha) * abs(norm - mean)

    def factor(self, norm: float) -> float:
        """Return by what the gradients of the next batch are multiplied."""
        self.batch += 1
        if self.batch == 1:
            self.mean, self.spread = norm, 0.0
            return 1.0
        mean, spread = self.move(norm)
        threshold = mean + (4 if self.batch <= 15 else 2) * spread
        if norm > threshold:
            self.mean, self.spread = self.move(threshold)
            return threshold / (norm + self.epsilon)
        self.mean, self.spread = mean, spread
        return 1.0


def clipper(alpha: float = 0.95, epsilon: float = 1e-6) -> Graph:
    def make(b: GraphBuilder) -> dict[str, Any]:
        state = {name: b.input(name, "float32", []) for name in CLIP_STATE}
        found = clip_globally(b, b.input("norm", "float32", []), state, alpha, epsilon)
        more = {"factor": found.factor, "above": found.clipped, "threshold": found.threshold}
        return found.state | more

    return build(make)


def norms(count: int, seed: int) -> list[float]:
    """Norms that fall, with noise and now and then a burst."""
    draw = random.Random(seed)
    return [
        5 * 0.97**k * draw.uniform(0.7, 1.3) * (40 if draw.random() < 0.15 else 1)
        for k in range(count)
    ]


@pytest.mark.parametrize("alpha", [0.95, 0.5, 0.0])
@pytest.mark.parametrize("seed", seeds(range(3)))
def test_forty_batches(seed: int, alpha: float) -> None:
    graph, written, state = clipper(alpha), Rolling(alpha), START
    clipped = 0
    for norm in norms(40, seed):
        found = run(graph, {"norm": norm, **state})
        factor = written.factor(norm)
        clipped += factor < 1
        assert found["factor"] == pytest.approx(factor, rel=1e-4)
        assert found["above"] == (factor < 1)
        state = {name: found[name] for name in CLIP_STATE}
        stored = (written.mean, written.spread, written.batch)
        assert tuple(state.values()) == pytest.approx(stored, rel=1e-4, abs=1e-6)
    assert clipped > 1 or alpha < 0.9


def test_the_first_batch_is_never_clipped() -> None:
    found = run(clipper(), {"norm": 1e6, **START})
    assert (found["factor"], found["above"]) == (1, 0)
    assert [found[name] for name in CLIP_STATE] == [1e6, 0, 1]


@pytest.mark.parametrize(("batch", "width"), [(2, 4), (14, 4), (15, 4), (16, 2), (17, 2), (900, 2)])
def test_the_threshold_is_closer_after_fifteen_batches(batch: int, width: int) -> None:
    state = dict(zip(CLIP_STATE, (10.0, 1.0, batch - 1.0), strict=True))
    found = run(clipper(), {"norm": 100.0, **state})
    mean = 0.95 * 10 + 0.05 * 100
    threshold = mean + width * (0.95 + 0.05 * (100 - mean))
    assert found["threshold"] == pytest.approx(threshold, rel=1e-6)
    assert found["factor"] == pytest.approx(threshold / 100, rel=1e-5)


def test_epsilon_stands_beside_the_norm() -> None:
    state = dict(zip(CLIP_STATE, (0.0, 0.0, 3.0), strict=True))
    found = run(clipper(0.5, 1.0), {"norm": 8.0, **state})
    # mean 4, deviation 2, threshold 12: not clipped.
    assert found["factor"] == 1
    found = run(clipper(0.9, 1.0), {"norm": 8.0, **state})
    mean = 0.8
    threshold = mean + 4 * 0.1 * (8 - mean)
    assert found["factor"] == pytest.approx(threshold / 9, rel=1e-5)


def test_norm_over_all_gradients() -> None:
    def make(b: GraphBuilder) -> dict[str, Any]:
        shapes: dict[str, list[int]] = {"a": [2, 2], "b": [3], "c": []}
        return {"norm": global_norm(b, [b.input(n, "float32", s) for n, s in shapes.items()])}

    found = run(build(make), {"a": [[1, -2], [3, 4]], "b": [0, 5, -6], "c": 7})
    assert found["norm"] == pytest.approx(math.sqrt(1 + 4 + 9 + 16 + 25 + 36 + 49))


@pytest.mark.parametrize(("size", "finite"), [(1.8e19, True), (1.9e19, False)])
def test_how_large_a_norm_can_be(size: float, finite: bool) -> None:
    def make(b: GraphBuilder) -> dict[str, Any]:
        return {"norm": global_norm(b, [b.input("a", "float32", [2])])}

    assert math.isfinite(run(build(make), {"a": [size, 0]})["norm"]) is finite


@pytest.mark.parametrize("scaling", ["off", "on"])
async def test_training_clips_as_written(scaling: str) -> None:
    """36 batches of one row; S leaves the statistics alone, since G is taken after unscaling."""
    draw = random.Random(3)
    xs = [draw.uniform(0.5, 1.5) * (6 if k in (4, 9, 14, 20, 27) else 1) for k in range(36)]
    ys = [2 * x + draw.uniform(-1, 1) for x in xs]
    model = await create(SLOPE.format(", init=zeros"), points(xs, ys))
    more = {"gradient_clipping": "on", "gradient_scaling": scaling, "growth_interval": 7}
    history = await model.train({**PLAIN, **more}, epochs=2, batch_size=1, lr=0.01)
    w, written, clipped = 0.0, Rolling(), []
    warm = [(k + 1) / 36 for k in range(36)] + [1.0] * 36
    for k in range(72):
        x, y = xs[k % 36], ys[k % 36]
        g = 2 * x * (w * x - y)
        factor = written.factor(abs(g))
        clipped.append(factor < 1)
        w -= 0.01 * warm[k] * g * factor
    assert sum(clipped) > 3
    assert values(model)["w1"].item() == pytest.approx(w, rel=1e-4)
    rates = [sum(clipped[:36]) / 36, sum(clipped[36:]) / 36]
    assert [record.clip_rate for record in history.epochs] == pytest.approx(rates)
    model.close()


async def test_the_norm_is_over_all_parameters_that_learn() -> None:
    """A frozen parameter has no share in G, which all others are divided by."""
    text = "m:input shape=[3]; m:output shape=[2]; m:loss MSE;"
    text += "m:layers matmul(w, shape=[4], lrm={}), tanh(), matmul(w), add(b);"
    for lrm in (0, 1):
        model = await create(text.format(lrm), regression(8))
        history = await model.train(
            {**PLAIN, "gradient_clipping": "global"}, epochs=1, batch_size=8, lr=1.0
        )
        assert history.epochs[0].clip_threshold == pytest.approx(history.epochs[0].grad_norm)
        start = await create(text.format(lrm), regression(8))
        before, after = values(start), values(model)
        moved = math.sqrt(sum(float(((after[n] - before[n]) ** 2).sum()) for n in after))
        assert history.epochs[0].grad_norm == pytest.approx(moved, rel=1e-4)
        assert (lrm == 0) == (before["w1"] == after["w1"]).all()


def clip_by_unit(
    w: list[Any], g: list[Any], shape: list[int], units: tuple[int, ...], share: float = 0.01
) -> dict[str, Any]:
    def make(b: GraphBuilder) -> dict[str, Any]:
        operands = (b.input(n, "float32", shape) for n in "wg")
        new, count = clip_units(b, *operands, units, share)
        return {"g": new, "count": count}

    return run(build(make), {"w": w, "g": g})


def test_columns_of_a_product() -> None:
    # Norms of the columns of w: 5, 0 and 13; limits 0.5, 1e-4 and 1.3.
    w = [[3.0, 0.0, 5.0], [4.0, 0.0, 12.0]]
    g = [[6.0, 3e-5, 0.3], [8.0, 4e-5, 0.4]]
    found = clip_by_unit(w, g, [2, 3], (1,), 0.1)
    assert found["count"] == 1
    expected = [[0.3, 3e-5, 0.3], [0.4, 4e-5, 0.4]]
    assert found["g"] == [pytest.approx(row, rel=1e-5) for row in expected]


def test_units_without_weight_may_still_move() -> None:
    found = clip_by_unit([[0.0]], [[-2.0]], [1, 1], (1,), 0.01)
    assert found["g"][0] == pytest.approx([-0.01 * 1e-3])


@pytest.mark.parametrize(("shape", "count"), [([3], 1), ([], 1)])
def test_vectors_and_scalars_are_one_unit(shape: list[int], count: int) -> None:
    w: Any = [3.0, 0.0, 4.0] if shape else -5.0
    g: Any = [0.0, 6.0, -8.0] if shape else -10.0
    found = clip_by_unit(w, g, shape, (), 0.1)
    assert found["count"] == count
    assert found["g"] == pytest.approx([0, 0.3, -0.4] if shape else -0.5)


@pytest.mark.parametrize("units", [(0,), (1,), (2,), (3,), (0, 1), (0, 2, 3)])
def test_units_along_dimensions(units: tuple[int, ...]) -> None:
    np = pytest.importorskip("numpy")
    draw = np.random.default_rng(len(units) + units[0])
    shape = [2, 3, 4, 5]
    w, g = draw.normal(size=shape), draw.normal(size=shape) * 0.02
    axes = tuple(a for a in range(4) if a not in units)
    size = np.sqrt((g**2).sum(axis=axes, keepdims=True))
    limit = 0.02 * np.maximum(np.sqrt((w**2).sum(axis=axes, keepdims=True)), 1e-3)
    found = clip_by_unit(w.tolist(), g.tolist(), shape, units, 0.02)
    assert found["count"] == (size > limit).sum()
    assert np.allclose(found["g"], np.where(size > limit, g * limit / size, g), atol=1e-7)


async def test_agc_spares_the_last_weights() -> None:
    text = "m:input shape=[3]; m:output shape=[2]; m:loss MSE;"
    text += "m:layers matmul(w, shape=[4]), add(b, init=constant(0.5)), tanh(),"
    text += "matmul(w), add(b, init=constant(0.5));"
    moved: dict[str, Any] = {}
    for clipping in ("off", "agc"):
        model = await create(text, regression(8))
        start = values(model)
        history = await model.train(
            {**PLAIN, "gradient_clipping": clipping}, epochs=1, batch_size=8, lr=1.0
        )
        moved[clipping] = {name: start[name] - new for name, new in values(model).items()}
    assert history.epochs[0].clip_rate == 1
    np = pytest.importorskip("numpy")
    plain, clipped = moved["off"], moved["agc"]
    assert (plain["w2"] == clipped["w2"]).all()
    assert (plain["b2"] == clipped["b2"]).all()
    for name in ("w1", "b1"):  # columns, and a vector as a whole
        g, w = plain[name], start[name]
        limit = 0.01 * np.maximum(np.linalg.norm(w, axis=0), 1e-3)
        size = np.linalg.norm(g, axis=0)
        assert (size > limit).any()
        assert np.allclose(clipped[name], g * np.minimum(1, limit / size), atol=1e-6)
