"""A range test measures the loss at rising rates, and leaves its model as it is."""

from __future__ import annotations

import pytest

from tests.unit.training.trained import classes, create
from webnnm import find_lr
from webnnm.core.errors import DataError
from webnnm.evaluation.rate_range import RateRange, smooth, valley

pytest.importorskip("numpy")

TEXT = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), add(b), softmax();"


async def test_rates_rise_by_one_factor_and_the_model_is_left_alone() -> None:
    model = await create(TEXT, classes(60))
    before = model.state.parameters.value("w1").data
    found = await find_lr(model, low=1e-4, high=1.0, steps=40)
    factors = [b / a for a, b in zip(found.rates[1:], found.rates[2:], strict=False)]
    assert factors == pytest.approx([factors[0]] * len(factors), rel=1e-3)
    assert found.rates[0] == pytest.approx(1e-4) and found.rates[-1] <= 1.0 + 1e-6
    assert len(found.rates) == len(found.losses) >= 30
    assert found.rates[0] <= found.suggestion <= found.rates[-1] * 1.1
    assert model.state.parameters.value("w1").data == before and not model.state.trained
    again = await find_lr(model, low=1e-4, high=1.0, steps=40)
    assert again == found
    model.close()


async def test_the_test_ends_where_the_loss_has_left() -> None:
    model = await create(TEXT.replace("softmax()", "mul(1)").replace("[3]", "[2]"), _numbers())
    found = await find_lr(model, high=1e6, steps=100, optimizer="sgdm")
    assert len(found.rates) < 100 and found.rates[-1] < 1e6
    assert max(smooth(found.losses)) > 3 * min(smooth(found.losses))
    assert found.suggestion < found.rates[-1]
    model.close()


def _numbers():  # type: ignore[no-untyped-def]
    from tests.unit.training.trained import np
    from webnnm import Dataset

    draw = np.random.default_rng(0)
    x = draw.normal(size=(60, 4))
    return Dataset(x, x[:, :2] + 0.1 * draw.normal(size=(60, 2)))


async def test_bounds_are_checked() -> None:
    model = await create(TEXT, classes(60))
    for bounds in ({"low": 1.0, "high": 0.1}, {"steps": 5}):
        with pytest.raises(DataError, match="NNM704: find_lr from"):
            await find_lr(model, **bounds)
    model.close()


def test_the_middle_of_the_longest_fall_is_suggested() -> None:
    rates = [10.0**power for power in range(-6, 1)]
    assert valley(rates, [1, 1, 1, 0.2, 0.1, 0.05, 50]) == pytest.approx(1e-3)
    assert valley(rates, [1, 2, 3, 4, 5, 6, 7]) == 1e-6


def test_noise_at_the_start_is_not_a_fall() -> None:
    rates = [1e-6 * 1.2**step for step in range(100)]
    falling = [1 - 0.9 * max(0, min(1, (step - 50) / 30)) for step in range(90)]
    noisy = [loss + 0.2 * (step * 37 % 11 - 5) / 5 for step, loss in enumerate(falling)]
    assert rates[45] < valley(rates, [*noisy, *[3.0] * 10]) < rates[80]


def test_the_plot_marks_the_suggestion() -> None:
    found = RateRange((0.001, 0.01, 0.1, 1.0), (1.0, 0.99, 0.5, 2.0))
    drawn = found.plot()
    assert drawn.startswith("<svg") and "lr 0.01 suggested" in drawn and "<circle" in drawn
    assert found.to_dict()["suggestion"] == 0.01
