"""The times of series: steps, gaps, what comes next."""

from __future__ import annotations

from datetime import date

import pytest

from webnnm.core.errors import DataError
from webnnm.data.series.timeline import Step, find_gaps, find_step, show_time


def days(*texts: str) -> list[float]:
    """Return dates as days since 1970."""
    return [float((date.fromisoformat(text) - date(1970, 1, 1)).days) for text in texts]


@pytest.mark.parametrize(
    ("times", "step"),
    [
        (days("2024-01-31", "2024-02-29", "2024-03-31", "2024-04-30"), Step("month", 1)),
        (days("2024-01-01", "2024-04-01", "2024-07-01"), Step("month", 3)),
        (days("2020-01-01", "2021-01-01", "2022-01-01", "2023-01-01"), Step("month", 12)),
        (days("2024-01-01", "2024-01-08", "2024-01-15"), Step("day", 7)),
        (days(*(f"2024-01-{d:02}" for d in range(1, 32) if d % 7 not in (6, 0))), Step("weekday")),
        ([0.0, 1 / 24, 2 / 24, 5 / 24, 6 / 24, 7 / 24], Step("day", 1 / 24)),
        (days("2024-01-01", "2024-01-02", "2024-02-17", "2024-02-29"), None),
    ],
)
def test_steps_of_dates(times: list[float], step: Step | None) -> None:
    assert find_step(times, dates=True) == step


def test_months_go_on_at_their_end_and_in_leap_years() -> None:
    (end,) = days("2023-11-30")
    later = [show_time(Step("month", 1).advance(end, n), dates=True) for n in range(1, 5)]
    assert later == ["2023-12-31", "2024-01-31", "2024-02-29", "2024-03-31"]
    (early,) = days("2024-01-30")
    assert show_time(Step("month", 1).advance(early, 1), dates=True) == "2024-02-29"


def test_weekdays_leave_out_weekends() -> None:
    (friday,) = days("2024-03-01")
    later = [show_time(Step("weekday").advance(friday, n), dates=True) for n in (1, 5, 6)]
    assert later == ["2024-03-04", "2024-03-08", "2024-03-11"]
    assert find_gaps(days("2024-03-01", "2024-03-04", "2024-03-06"), Step("weekday")) == [(1, 1)]


def test_times_between_steps_are_no_gaps() -> None:
    assert find_gaps([0.0, 1.0, 2.5, 4.5], Step()) == [(2, 1)]


def test_times_of_a_day_are_shown() -> None:
    assert show_time(19_000.75, dates=True) == "2022-01-08 18:00"
    assert [show_time(2.5, dates=False), show_time(3.0, dates=False)] == [2.5, 3]


@pytest.mark.parametrize(
    ("start", "milliseconds", "last"),
    [
        ("2024-01-01", 20, "2024-01-01 00:00:41.980"),
        ("2024-01-01", 1000, "2024-01-01 00:34:59"),
        ("2024-01-01", 10_000, "2024-01-01 05:49:50"),
        ("2024-01-01", 60_000, "2024-01-02 10:59"),
        ("2024-01-01", 3_600_000, "2024-03-28 11:00"),
    ],
)
def test_steps_below_a_day_go_on_without_error(start: str, milliseconds: int, last: str) -> None:
    (first,) = days(start)
    times = [first + k * milliseconds / 86_400_000 for k in range(100)]
    step = find_step(times, dates=True)
    assert step
    assert show_time(step.advance(times[-1], 2000), dates=True) == last
    assert find_gaps([*times[:50], *times[52:]], step) == [(49, 2)]


@pytest.mark.parametrize("size", [1e-7, 0.1, 3.0, 1e6])
def test_steps_of_numbers_have_any_size(size: float) -> None:
    times = [k * size for k in range(100)]
    step = find_step(times, dates=False)
    assert step == Step("number", size)
    assert find_gaps([*times[:50], *times[52:]], step) == [(49, 2)]


def test_series_at_different_times_share_a_step() -> None:
    mondays, thursdays = [4.0, 11.0, 18.0, 25.0], [7.0, 14.0, 21.0]
    assert find_step(mondays, thursdays, dates=True) == Step("day", 7.0)
    assert find_step([0.0, 1.0, 3.5], [0.0, 7.0, 9.0], dates=True) is None


def test_dates_of_one_moment_have_no_step() -> None:
    assert find_step([1.0, 1.0 + 1e-12, 1.0 + 2e-12], dates=True) is None


def test_dates_after_the_year_9999_are_refused() -> None:
    for step, time in ((Step("month", 1), 2_932_000.0), (Step("day", 1.0), 3e6)):
        with pytest.raises(DataError, match="9999"):
            show_time(step.advance(time, 100), dates=True)
