"""Accumulated gradients: k batches of b rows make the update of one of k·b rows."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.training.trained import PLAIN, create, points, regression, values

np = pytest.importorskip("numpy")

TEXT = """
m:input shape=[3]; m:output shape=[2]; m:loss MSE;
m:layers matmul(w, shape=[4]), tanh(), matmul(w), add(b);
"""
NUMBERS: dict[str, dict[str, Any]] = {
    "sgdm": {"momentum_factor": 0.9, "lr": 0.1, "weight_decay": 0.01},
    "adam": {"lr": 0.01},
    "rlion": {"lr": 0.01},
}


async def train(rows: int, batch: int, accumulate: int, **more: Any) -> tuple[dict[str, Any], Any]:
    model = await create(TEXT, regression(rows))
    settings = {**PLAIN, "epochs": 3, "schedule": "constant", "shuffle": True, **more}
    history = await model.train(settings, batch_size=batch, accumulate=accumulate)
    found = values(model)
    model.close()
    return found, history


@pytest.mark.alike
@pytest.mark.parametrize(
    ("rows", "batch", "accumulate"),
    [
        (12, 2, 2),
        (12, 2, 3),
        (12, 3, 4),
        # The last group has fewer batches, the last batch fewer rows, or both.
        (10, 2, 2),
        (11, 2, 2),
        (11, 4, 2),
        (13, 3, 3),
        (7, 1, 5),
        # One group takes the whole epoch and more.
        (5, 1, 9),
    ],
)
@pytest.mark.parametrize("optimizer", NUMBERS)
async def test_equals_the_large_batch(
    rows: int, batch: int, accumulate: int, optimizer: str
) -> None:
    # Without warm-up, since a group takes the rate of its last batch.
    more = {"optimizer": optimizer, "epochs": 1, **NUMBERS[optimizer]}
    small, history = await train(rows, batch, accumulate, **more)
    large, expected = await train(rows, batch * accumulate, 1, **more)
    for name, value in large.items():
        assert np.allclose(small[name], value, atol=1e-6), name
    assert history.losses == pytest.approx(expected.losses, rel=1e-6)


async def test_several_epochs() -> None:
    """Groups end with their epoch. With whole groups even the schedule is the same."""
    more = {"optimizer": "sgdm", "schedule": "cosine", "epochs": 4, **NUMBERS["sgdm"]}
    small, _ = await train(12, 2, 3, **more)
    large, _ = await train(12, 6, 1, **more)
    for name, value in large.items():
        assert np.allclose(small[name], value, atol=1e-6), name


async def test_parameters_wait_for_the_end_of_the_group() -> None:
    model = await create(
        "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w);",
        points([1.0] * 5, [1.0, 2.0, 3.0, 4.0, 5.0]),
    )
    losses: list[float] = []
    await model.train(
        {**PLAIN, "on_batch": lambda record: losses.append(record.loss)},
        epochs=1,
        batch_size=1,
        accumulate=2,
        lr=0.1,
    )
    w = float((await create_start())["w1"].item())
    expected = []
    for group in ([1.0, 2.0], [3.0, 4.0], [5.0]):
        expected += [(w - y) ** 2 for y in group]
        w -= 0.1 * sum(2 * (w - y) for y in group) / len(group)
    assert losses == pytest.approx(expected, rel=1e-5)
    assert values(model)["w1"].item() == pytest.approx(w, rel=1e-5)
    model.close()


async def create_start() -> dict[str, Any]:
    text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w);"
    return values(await create(text, points([1.0], [1.0])))


@pytest.mark.parametrize(
    "more",
    [
        {"gradient_clipping": "global", "clip_alpha": 0.5},
        {"gradient_clipping": "agc"},
        {"gradient_scaling": "on", "scale": 1024},
        {"regularization": "L1+L2", "lambda1": 0.01, "lambda2": 0.1},
    ],
    ids=lambda more: next(iter(more)),
)
async def test_with_what_else_is_done_to_gradients(more: dict[str, Any]) -> None:
    """Clipping and regularisation see the gradient of the group, once."""
    settings = {"optimizer": "sgdm", "epochs": 1, **NUMBERS["sgdm"], **more, "optimize_for": "edge"}
    small, history = await train(24, 2, 3, **settings)
    large, expected = await train(24, 6, 1, **settings)
    for name, value in large.items():
        assert np.allclose(small[name], value, atol=1e-6), name
    assert history.epochs[0].clip_rate == expected.epochs[0].clip_rate
    assert history.epochs[0].clip_threshold == pytest.approx(expected.epochs[0].clip_threshold)
    assert history.epochs[0].penalty == pytest.approx(expected.epochs[0].penalty)


async def test_the_scale_counts_updates() -> None:
    _, history = await train(
        12, 1, 3, optimizer="sgdm", lr=0.01, gradient_scaling="on", scale=8, growth_interval=4
    )
    assert [record.scale for record in history.epochs] == [16, 32, 64]
