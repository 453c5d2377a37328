"""Learning rates against numbers computed by hand (spec E.3)."""

from __future__ import annotations

import math

import pytest

from webnnm.training.schedules import Schedule


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        # B = 5, T = 20, W = 5: a ramp of 0.2 per step, then half a cosine over 15 steps.
        (
            {"kind": "cosine", "warmup_epochs": 1},
            {
                1: 0.2,
                4: 0.8,
                5: 1.0,
                10: 0.75,
                12: 0.5 * (1 + math.cos(7 / 15 * math.pi)),
                15: 0.25,
                20: 0.0,
            },
        ),
        (
            {"kind": "cosine", "warmup_epochs": 1, "min_rate": 0.1},
            {1: 0.2, 5: 1.0, 10: 0.775, 20: 0.1},
        ),
        ({"kind": "constant", "warmup_epochs": 2}, {1: 0.1, 10: 1.0, 11: 1.0, 20: 1.0}),
        # Automatic warm-up: 5 % of the epochs, at least one.
        ({"kind": "constant"}, {1: 0.2, 5: 1.0, 6: 1.0}),
        ({"kind": "constant", "epochs": 60}, {1: 1 / 15, 14: 14 / 15, 15: 1.0, 16: 1.0}),
        # No warm-up in a single epoch.
        ({"kind": "constant", "epochs": 1}, {1: 1.0, 5: 1.0}),
        ({"kind": "cosine", "epochs": 1}, {1: 0.5 * (1 + math.cos(math.pi / 5)), 5: 0.0}),
    ],
    ids=str,
)
def test_rates(settings: dict[str, object], expected: dict[int, float]) -> None:
    schedule = Schedule(**{"rate": 1.0, "epochs": 4, "batches": 5, **settings})  # type: ignore[arg-type]
    found = {step: schedule.at(step) for step in expected}
    assert found == pytest.approx(expected, abs=1e-12)


def test_rate_scales_the_curve() -> None:
    one = Schedule(kind="cosine", rate=1.0, epochs=6, batches=3)
    many = Schedule(kind="cosine", rate=0.02, epochs=6, batches=3)
    rates = [one.at(t) for t in range(1, 19)]
    assert [many.at(t) for t in range(1, 19)] == pytest.approx([0.02 * r for r in rates])


def test_one_batch_per_epoch() -> None:
    schedule = Schedule(kind="cosine", rate=1.0, epochs=3, batches=1)
    assert [schedule.at(t) for t in (1, 2, 3)] == pytest.approx([1.0, 0.5, 0.0])
