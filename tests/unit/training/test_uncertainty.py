"""Several outputs: fixed weights, and weights by uncertainty (spec E.8)."""

from __future__ import annotations

import math
import sys

import pytest

from tests.unit.training.trained import PLAIN, create, values
from tests.work import seeds
from webnnm.core.errors import DataError
from webnnm.data.dataset import Dataset
from webnnm.training.optimizers import OPTIMIZERS

np = pytest.importorskip("numpy")

TWO = """
a:input shape=[1]; a:output shape=[1]; a:loss MSE; a:layers matmul(w, init=constant(0.5));
c:input shape=[1]; c:output shape=[1]; c:loss MSE; c:layers matmul(w, init=constant(-0.5));
"""
A = [(1.0, 2.0), (0.5, 1.5), (-1.0, -1.0)]
C = [(2.0, 1.0), (1.0, 30.0), (0.5, -20.0)]


def pairs() -> Dataset:
    return Dataset(
        {"a": [[x] for x, _ in A], "c": [[x] for x, _ in C]},
        {"a": [[y] for _, y in A], "c": [[y] for _, y in C]},
        split=(1, 0, 0),
        batch_size=3,
    )


def loss_and_slope(w: float, rows: list[tuple[float, float]]) -> tuple[float, float]:
    loss = sum((w * x - y) ** 2 for x, y in rows) / len(rows)
    return loss, sum(2 * x * (w * x - y) for x, y in rows) / len(rows)


async def test_training_follows_the_gradients_of_the_specification() -> None:
    """e^(−s)/2 for the loss of a task, ½(1 − L·e^(−s)) for its s; s has momentum, no decay."""
    model = await create(TWO, pairs())
    settings = {**PLAIN, "momentum_factor": 0.5, "weight_decay": 0.1, "loss_weights": "auto"}
    history = await model.train(settings, epochs=6, lr=0.02, warmup_epochs=1)
    w, s = {"a": 0.5, "c": -0.5}, {"a": 0.0, "c": 0.0}
    v, u = dict.fromkeys("ac", 0.0), dict.fromkeys("ac", 0.0)
    losses: list[dict[str, float]] = []
    for _ in range(6):
        losses.append({})
        for name, rows in (("a", A), ("c", C)):
            losses[-1][name], slope = loss_and_slope(w[name], rows)
            weight = math.exp(-s[name])
            v[name] = 0.5 * v[name] + slope * weight / 2 + 0.1 * w[name]
            u[name] = 0.5 * u[name] + 0.5 * (1 - losses[-1][name] * weight)
            w[name] -= 0.02 * v[name]
            s[name] -= 0.02 * u[name]
    for record, expected in zip(history.epochs, losses, strict=True):
        assert record.losses == pytest.approx(expected, rel=1e-4)
        assert record.loss == pytest.approx(sum(expected.values()), rel=1e-4)
    found = values(model)
    assert [float(v.item()) for v in found.values()] == pytest.approx(list(w.values()), rel=1e-4)
    learned = {name: history.loss_settings[name]["s"] for name in "ac"}
    assert learned == pytest.approx(s, rel=1e-4)
    assert s["c"] > 1 > s["a"]
    model.close()


async def test_uncertainties_have_no_share_in_clipping() -> None:
    model = await create(TWO, pairs())
    history = await model.train(
        {**PLAIN, "gradient_clipping": "global"}, epochs=1, lr=1e-6, warmup_epochs=0
    )
    slopes = [loss_and_slope(0.5, A)[1] / 2, loss_and_slope(-0.5, C)[1] / 2]
    assert history.epochs[0].grad_norm == pytest.approx(math.hypot(*slopes), rel=1e-5)
    model.close()


@pytest.mark.parametrize(
    ("weights", "expected"),
    [({"a": 3.0, "c": 0.25}, (3.0, 0.25)), ({"c": 2.0}, (1.0, 2.0)), ({}, (1.0, 1.0))],
)
async def test_fixed_weights(weights: dict[str, float], expected: tuple[float, float]) -> None:
    model = await create(TWO, pairs())
    history = await model.train({**PLAIN, "loss_weights": weights}, epochs=1, lr=0.01)
    (loss_a, slope_a), (loss_c, slope_c) = loss_and_slope(0.5, A), loss_and_slope(-0.5, C)
    found = [float(value.item()) for value in values(model).values()]
    moved = [0.5 - 0.01 * expected[0] * slope_a, -0.5 - 0.01 * expected[1] * slope_c]
    assert found == pytest.approx(moved, rel=1e-5)
    assert history.epochs[0].loss == pytest.approx(loss_a + loss_c, rel=1e-5)
    assert history.best_loss == pytest.approx(expected[0] * loss_a + expected[1] * loss_c, rel=1e-5)
    model.close()


async def test_best_under_auto_goes_by_losses_made_alike() -> None:
    model = await create(TWO, pairs())
    history = await model.train(PLAIN, epochs=1, lr=1e-6)
    variance = {n: np.var([y for _, y in rows]) for n, rows in (("a", A), ("c", C))}
    expected = (
        loss_and_slope(0.5, A)[0] / variance["a"] + loss_and_slope(-0.5, C)[0] / variance["c"]
    )
    assert history.best_loss == pytest.approx(expected, rel=1e-4)
    model.close()


async def test_one_output_has_weight_one() -> None:
    text = "m:input shape=[1]; m:output shape=[1]; m:loss MSE;"
    text += "m:layers matmul(w, init=constant(0.5));"
    data = Dataset([[x] for x, _ in A], [[y] for _, y in A], split=(1, 0, 0), batch_size=3)
    model = await create(text, data)
    history = await model.train(PLAIN, epochs=1, lr=0.1)
    expected = 0.5 - 0.1 * loss_and_slope(0.5, A)[1]
    assert values(model)["w1"].item() == pytest.approx(expected, rel=1e-5)
    assert "s" not in history.loss_settings["m"]


async def test_unknown_outputs_are_refused() -> None:
    model = await create(TWO, pairs())
    with pytest.raises(DataError, match='"b"') as caught:
        await model.train(loss_weights={"a": 1, "b": 2}, epochs=1)
    assert caught.value.code == "NNM710"
    model.close()


SHARED = """
m:input shape=[6]; m:layers matmul(w, shape=[6]), tanh();
small:output shape=[2]; small:loss MSE; small:layers matmul(w, node=m), add(b);
large:output shape=[2]; large:loss MSE; large:layers matmul(w, node=m), add(b);
"""


def tasks(seed: int) -> Dataset:
    """Return two tasks on the same inputs, the loss of one a thousand times the other's."""
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(60, 6))
    small = np.tanh(x @ draw.normal(size=(6, 2))) / math.sqrt(1000)
    large = np.tanh(x @ draw.normal(size=(6, 2)))
    return Dataset(
        {"m": x.tolist()},
        {"small": small.tolist(), "large": large.tolist()},
        split=(1, 0, 0),
        batch_size=60,
    )


async def relative_errors(
    data: Dataset, optimizer: str, lr: float | None, weights: str
) -> dict[str, float]:
    """Train and return the loss of every task divided by the variance of its targets."""
    model = await create(SHARED, data)
    settings = {
        name: value
        for name, value in PLAIN.items()
        if name not in ("momentum_factor", "weight_decay", "schedule")
    }
    settings |= {"optimizer": optimizer, "loss_weights": weights}
    await model.train(settings, epochs=150, lr=lr)
    result = await model.test("training")
    _, targets = data.arrays("training")
    model.close()
    return {n: result.losses[n] / np.var(np.array(v.tolist())) for n, v in targets.items()}


@pytest.mark.skipif(sys.platform == "emscripten", reason="minutes inside a page")
@pytest.mark.parametrize("seed", seeds(range(3)))
@pytest.mark.parametrize(
    ("optimizer", "lr", "share"),
    [*((name, None, 1.0) for name in OPTIMIZERS if name != "nag"), ("adam", 0.05, 0.5)],
)
async def test_uncertainty_beats_equal_weights_on_unequal_tasks(
    optimizer: str, lr: float | None, share: float, seed: int
) -> None:
    data = tasks(seed)
    equal = await relative_errors(data, optimizer, lr, "off")
    learned = await relative_errors(data, optimizer, lr, "auto")
    assert learned["small"] < share * equal["small"], (equal, learned)
    assert learned["large"] < share * equal["large"], (equal, learned)
