"""Dynamic scaling of gradients (spec E.5)."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.unit.training.trained import PLAIN, SLOPE, build, create, points, run, values
from webnnm.backends.budget import Budget
from webnnm.core.errors import DataError
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Graph
from webnnm.training.scaling import SCALE_STATE, all_finite, next_scale

np = pytest.importorskip("numpy")

INF, NAN = math.inf, math.nan
BIG = 3e38
"""Twice as much is beyond float32, and so is the gradient."""


def scaler(growth_interval: int) -> Graph:
    def make(b: GraphBuilder) -> dict[str, Any]:
        state = {name: b.input(name, "float32", []) for name in SCALE_STATE}
        clean = b.equal(b.input("clean", "float32", []), b.constant(1, "float32"))
        return next_scale(b, state, clean, growth_interval)

    return build(make)


def course(start: float, batches: str, growth_interval: int = 3) -> list[tuple[float, ...]]:
    """Return S, clean batches and overflows in a row after every batch: "." clean, "x" not."""
    graph = scaler(growth_interval)
    state = dict(zip(SCALE_STATE, (start, 0.0, 0.0), strict=True))
    found: list[tuple[float, ...]] = []
    for batch in batches:
        state = run(graph, {**state, "clean": float(batch == ".")})
        found.append(tuple(state[name] for name in SCALE_STATE))
    return found


def test_doubles_after_so_many_clean_batches() -> None:
    scales = [scale for scale, _, _ in course(1000, "........")]
    assert scales == [1000, 1000, 2000, 2000, 2000, 4000, 4000, 4000]


def test_halves_and_counts_from_the_start_after_an_overflow() -> None:
    assert course(1000, "..x..." + "x") == [
        (1000, 1, 0),
        (1000, 2, 0),
        (500, 0, 1),
        (500, 1, 0),
        (500, 2, 0),
        (1000, 0, 0),
        (500, 0, 1),
    ]


def test_floor_and_ceiling() -> None:
    assert [s for s, _, _ in course(3, "xxxx")] == [1.5, 1, 1, 1]
    assert [s for s, _, _ in course(2.0**23, "......")][2::3] == [2**24, 2**24]
    assert course(2.0**23 + 2**22, "...")[-1][0] == 2**24


def test_overflows_in_a_row() -> None:
    assert [streak for _, _, streak in course(1e6, "xx.xxx")] == [1, 2, 0, 1, 2, 3]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, -2.0, 0.0], 1),
        ([0.0, 0.0, 0.0], 1),
        ([1e38, -1e-38, 1e37], 1),
        ([1.0, INF, 0.0], 0),
        ([1.0, -INF, INF], 0),
        ([NAN, 0.0, 0.0], 0),
    ],
)
def test_what_is_an_overflow(values: list[float], expected: int) -> None:
    def make(b: GraphBuilder) -> dict[str, Any]:
        operands = [b.input("a", "float32", [3]), b.input("b", "float32", [])]
        return {"clean": all_finite(b, operands)}

    graph = build(make)
    assert run(graph, {"a": values, "b": 1.0})["clean"] == expected
    assert run(graph, {"a": [1.0, 2.0, 3.0], "b": values[1]})["clean"] == math.isfinite(values[1])


SETTINGS: dict[str, Any] = {**PLAIN, "gradient_scaling": "on", "epochs": 1, "lr": 0.01}


@pytest.mark.parametrize("accumulate", [1, 2])
@pytest.mark.parametrize("clipping", ["off", "global", "agc"])
@pytest.mark.parametrize("optimizer", ["rlion", "nesterov", "adam"])
async def test_a_batch_that_overflows_changes_nothing(
    optimizer: str, clipping: str, accumulate: int
) -> None:
    """Neither parameters, moments, t, statistics of clipping nor running statistics move."""
    text = "m:input shape=[1]; m:output shape=[1]; m:loss MSE;"
    text += "m:layers matmul(w, shape=[3]), batchNormalization(mean, var), tanh(), matmul(w);"
    draw = np.random.default_rng(1)
    xs = draw.normal(size=24).tolist()
    ys = [2 * x + 1 for x in xs]
    settings = {
        **SETTINGS,
        "optimizer": optimizer,
        "gradient_clipping": clipping,
        "scale": 1024,
        "weight_decay": 0.01,
        "accumulate": accumulate,
        "momentum_factor": 0.9,
    }
    found: list[dict[str, Any]] = []
    histories: list[Any] = []
    # Eight batches of three rows; two overflow in one of the runs.
    bad = [BIG, -BIG, BIG] * accumulate
    for spoil in (False, True):
        given, wanted = list(xs), list(ys)
        if spoil:
            for at in (18, 12):
                given[at:at], wanted[at:at] = [0.1] * len(bad), bad
        model = await create(text, points(given, wanted, batch_size=3))
        histories.append(await model.train(settings))
        found.append(values(model))
        model.close()
    plain, spoilt = (history.epochs[0] for history in histories)
    assert (plain.overflows, plain.scale) == (0, 1024)
    assert (spoilt.overflows, spoilt.scale) == (2, 256)
    assert spoilt.clip_rate == plain.clip_rate
    assert (found[0]["mean1"] != 0).all()
    for name, value in found[0].items():
        assert (value == found[1][name]).all(), name
    if accumulate == 1:
        assert spoilt.loss == plain.loss
        assert spoilt.grad_norm == pytest.approx(plain.grad_norm)


@pytest.mark.alike
async def test_scaling_does_not_change_the_result() -> None:
    xs = np.random.default_rng(2).normal(size=20).tolist()
    data = points(xs, [3 * x for x in xs], batch_size=4)
    found = []
    for more in ({"gradient_scaling": "off"}, {"scale": 1}, {"scale": 4096, "growth_interval": 2}):
        model = await create(SLOPE.format(", init=zeros"), data)
        history = await model.train({**SETTINGS, **more})
        found.append((values(model)["w1"].item(), history.losses))
        model.close()
    assert found[0] == found[1] == found[2]
    assert history.epochs[0].scale == 4096 * 4


def spoilt(count: int, good: int = 5, first: int = 3) -> Any:
    """Return rows of which `count` in a row overflow, after `first` that do not."""
    ys = [0.5] * first + [BIG] * count + [0.5] * good
    return points([1.0] * len(ys), ys, batch_size=1)


@pytest.mark.parametrize("chunk", [1, 7, 256])
@pytest.mark.parametrize("good", [0, 5])
async def test_fifty_overflows_in_a_row_end_the_training(good: int, chunk: int) -> None:
    model = await create(SLOPE.format(", init=zeros"), spoilt(50, good))
    model.backend.budget = Budget(call_steps=chunk)
    with pytest.raises(DataError) as caught:
        await model.train(SETTINGS)
    assert caught.value.code == "NNM708"
    assert "epoch 1, batch 53" in caught.value.message
    assert "50" in caught.value.message
    assert math.isfinite(values(model)["w1"].item())
    assert values(model)["w1"].item() > 0
    model.close()


async def test_forty_nine_do_not() -> None:
    model = await create(SLOPE.format(", init=zeros"), spoilt(49))
    history = await model.train(SETTINGS)
    assert history.epochs[0].overflows == 49
    assert history.epochs[0].scale == 1
    assert history.stopped == "epochs"
    model.close()


async def test_overflows_are_counted_over_epochs() -> None:
    """25 at the end of an epoch and 25 at the start of the next are 50 in a row."""
    ys = [BIG] * 25 + [0.5] * 3 + [BIG] * 25
    model = await create(SLOPE.format(", init=zeros"), points([1.0] * 53, ys, batch_size=1))
    with pytest.raises(DataError, match="epoch 2, batch 25") as caught:
        await model.train({**SETTINGS, "epochs": 3})
    assert caught.value.code == "NNM708"
    model.close()


async def test_the_scale_of_every_epoch_is_recorded() -> None:
    model = await create(SLOPE.format(", init=zeros"), points([1.0] * 4, [1.0] * 4, batch_size=1))
    more = {"epochs": 4, "growth_interval": 6, "scale": 8}
    history = await model.train({**SETTINGS, **more})
    assert [record.scale for record in history.epochs] == [8, 16, 32, 32]
    history = await model.train({**SETTINGS, "gradient_scaling": "off"})
    assert history.epochs[0].scale is None
    model.close()


async def test_batches_that_overflow_are_not_counted_as_clipped() -> None:
    text = "m:input shape=[1]; m:output shape=[1]; m:loss MSE;"
    text += "m:layers matmul(w, shape=[2], init=ones), matmul(w, init=ones);"
    model = await create(text, points([1.0, 1.0, 1.0], [9.0, BIG, 9.0], batch_size=1))
    history = await model.train({**SETTINGS, "gradient_clipping": "agc"})
    assert history.epochs[0].overflows == 1
    assert history.epochs[0].clip_rate == 1
    model.close()
