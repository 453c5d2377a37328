"""Margins of quantiles: what they cover, by step, and what is no margin."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webnnm.core.arrays import HostArray
from webnnm.data.series.intervals import (
    MIN_STEP_ROWS,
    Intervals,
    conformal_quantile,
    find_median,
    fit_intervals,
    intervals_from_dict,
)

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40), st.floats(0.05, 0.95))
def test_a_further_score_is_within_the_quantile_with_the_probability_asked_for(
    scores: list[float], share: float
) -> None:
    rows = len(scores)
    within = sum(score <= conformal_quantile(scores, share, rows) for score in scores)
    assert within >= min(rows, math.ceil((rows + 1) * share - 1e-9))


def test_each_interval_holds_its_share_of_the_rows_it_was_fitted_to() -> None:
    targets = [float(n * 37 % 101) for n in range(60)]
    forecasts = [value for _ in targets for value in (50.0, 50.0, 50.0, 50.0, 50.0)]
    fitted = fit_intervals(forecasts, targets, LEVELS, 1)
    rows = fitted.apply(HostArray.of(forecasts, "float64", (60, 1, 5))).tolist()
    for low, high, share in ((0, 4, 0.9), (1, 3, 0.5)):
        inside = [row[low] <= y <= row[high] for [row], y in zip(rows, targets, strict=True)]
        assert share <= sum(inside) / 60 < share + 0.05
    assert all(row[2] == 50 for [row] in rows)


def test_steps_have_their_own_margins_if_there_are_rows_enough() -> None:
    def fit(rows: int) -> Intervals:
        targets = [value for n in range(rows) for value in (n % 10, 100.0 * (n % 10))]
        return fit_intervals([0.0] * 4 * rows, targets, (0.1, 0.9), 2)

    assert [step[1] for step in fit(MIN_STEP_ROWS).margins] == [8, 800]
    near, far = fit(MIN_STEP_ROWS - 1).margins
    assert near == far


def test_intervals_that_are_too_wide_shrink_without_crossing() -> None:
    fitted = fit_intervals([-9.0, 0.0, 9.0] * 20, [0.0] * 20, (0.1, 0.5, 0.9), 1)
    assert fitted.margins == ((9.0, 0.0, -9.0),)
    crossed = fitted.apply(HostArray.of([[[-1.0, 0.0, 1.0]]], "float64")).tolist()
    assert crossed == [[[-8.0, 0.0, 8.0]]]


@pytest.mark.parametrize(
    "margins", [[], [[1.0]], [[0.0, math.inf]], [[0.0, 1.0], [0.0]], [["x", 1.0]]]
)
def test_other_records_are_refused(margins: Any) -> None:
    with pytest.raises(ValueError, match=r"margins|could not convert"):
        intervals_from_dict({"levels": [0.1, 0.9], "margins": margins})


def test_only_levels_around_the_median_are_paired() -> None:
    targets = [float(n) for n in range(100)]
    levels = (0.1, 0.5, 0.75, 0.9)
    fitted = fit_intervals([50.0] * 400, targets, levels, 1)
    ((low, middle, upper, high),) = fitted.margins
    assert middle == 0 and low == -high
    assert sum(target <= 50 + upper for target in targets) == 76  # ⌈101 · 0.75⌉
    assert sum(50 + low <= target <= 50 + high for target in targets) >= 80


@pytest.mark.parametrize("levels", [(0.5, 0.9), (0.1, 0.5), (0.1, 0.2, 0.3 + 0.2), (0.5,)])
def test_the_median_has_no_margin_and_others_hold_their_own_share(levels: Any) -> None:
    targets = [float(n) for n in range(200)]
    ((*margins,),) = fit_intervals([100.0] * 200 * len(levels), targets, levels, 1).margins
    for level, margin in zip(levels, margins, strict=True):
        below = sum(target <= 100 + margin for target in targets) / 200
        assert margin == 0 if abs(level - 0.5) < 1e-9 else below == pytest.approx(level, abs=0.01)


def test_the_median_is_interpolated_between_levels() -> None:
    assert find_median((0.25, 0.5, 0.75), (1.0, 2.0, 4.0)) == 2
    assert find_median((0.1, 0.4 + 0.1, 0.9), (1.0, 2.0, 4.0)) == 2
    assert find_median((0.2, 0.6), (0.0, 4.0)) == pytest.approx(3)
    assert find_median((0.6, 0.9), (1.0, 2.0)) == 1
    assert find_median((0.1, 0.2), (1.0, 2.0)) == 2
