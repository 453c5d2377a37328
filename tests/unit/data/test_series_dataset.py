"""Windows over series: in order of time, with what is known ahead, beside simple forecasts."""

from __future__ import annotations

import math
import re
from random import Random
from typing import Any, cast

import pytest

from webnnm import DataError, SeriesDataset
from webnnm.data.series.season import find_season
from webnnm.data.series.series_encoder import encoder_from_dict, encoder_to_dict
from webnnm.data.series.steps import Steps
from webnnm.data.series.timeline import Step, show_time


def months(count: int, **columns: Any) -> dict[str, list[Any]]:
    """Return a table with a month in each row."""
    names = [f"{2000 + n // 12}-{n % 12 + 1:02}" for n in range(count)]
    return {"month": names, **columns}


def season(count: int) -> list[float]:
    """Return a series with a season of 12 steps."""
    return [50 + 10 * math.sin(n * math.pi / 6) + n % 5 for n in range(count)]


def test_no_target_is_in_two_parts_and_none_before_training() -> None:
    data = SeriesDataset([*range(100)], window=5, horizon=4, split=(0.6, 0.2, 0.2))
    targets = {part: data._outputs["model"].rows(data.rows(part)) for part in PARTS}
    undo = data.target_standardization["model"].undo
    values = {part: {round(v) for v in undo(rows).values()} for part, rows in targets.items()}
    assert values["training"] == {*range(5, 60)}
    assert values["validation"] == {*range(60, 80)}
    assert values["testing"] == {*range(80, 100)}


PARTS = ("training", "validation", "testing")


def test_rows_are_sorted_by_time_and_channels_scaled_alike() -> None:
    rows = [{"day": f"2024-01-{d:02}", "sold": d} for d in range(20, 0, -1)]
    data = SeriesDataset(rows, window=3, split=(1, 0, 0), calendar=False)
    (inputs,), (outputs,) = (side.values() for side in data.arrays("training"))
    assert inputs.shape == (17, 3, 1)
    assert outputs.values()[0] == inputs.values()[3 + 2]  # the next window ends with it
    assert data.series.step == Step("day", 1)


def test_what_is_known_ahead_is_that_of_the_steps_to_predict() -> None:
    table = {"price": [*range(10)], "sold": [*range(100, 110)]}
    data = SeriesDataset(
        table, window=3, horizon=2, future=["price"], standardize=False, split=(1, 0, 0)
    )
    inputs, outputs = data.arrays("training")
    assert inputs["model"].rows([0]).tolist() == [[[100, 2], [101, 3], [102, 4]]]
    assert outputs["model"].rows([0]).tolist() == [[103, 104]]
    assert data.series.features == ("sold", "price")


def test_parts_of_dates_are_channels_where_they_vary_with_the_steps() -> None:
    data = SeriesDataset(months(48, sold=season(48)), window=12)
    assert data.series.features == ("sold", "month season sin", "month season cos")
    assert data.season == 12
    daily = {"day": [f"2024-{m:02}-{d:02}" for m in (1, 3, 5) for d in range(1, 32)]}
    daily["sold"] = [*map(str, range(93))]
    data = SeriesDataset(daily, window=7, missing="ignore")
    assert [name for name in data.series.features if "=" in name][:2] == ["day=Mon", "day=Tue"]


def test_missing_steps_are_told_filled_or_ignored() -> None:
    table = months(24, sold=[float(n) if n != 5 else None for n in range(24)])
    for column in table.values():
        del column[10:12]
    with pytest.raises(DataError, match="lacks 2 steps of 1 month, the first 2 after 2000-10-01"):
        SeriesDataset(table, window=3)
    data = SeriesDataset(table, window=3, missing="fill", standardize=False, split=(1, 0, 0))
    assert (data.inserted, data.filled) == (2, 1)
    known = [4 if n == 5 else 9 if n in (10, 11) else n for n in range(24)]
    assert [*data.steps[""].past[0]] == known
    assert {row[0] for row in data.arrays("training")[1]["model"].tolist()} == (
        {*range(3, 24)} - {5, 10, 11}
    )
    data = SeriesDataset(table, window=3, missing="ignore")
    assert (data.inserted, data.steps[""].known) == (0, 22)
    with pytest.raises(DataError, match='"sold" is missing in 1 of 10 steps, first at 2000-06-01'):
        SeriesDataset({name: cells[:10] for name, cells in table.items()}, window=3)


def test_steps_without_a_target_at_the_ends_do_not_count() -> None:
    data = SeriesDataset([None, 1, 2, 3, 4, 5, None, None], window=2, split=(1, 0, 0))
    assert data.steps[""].known == 5


def test_two_rows_at_one_time_are_refused() -> None:
    with pytest.raises(DataError, match="two rows at 2024-01-02") as caught:
        SeriesDataset({"day": ["2024-01-01", "2024-01-02", "2024-01-02"], "sold": [1, 2, 3]})
    assert "id=" in str(caught.value)


def test_several_series_are_split_at_the_same_times_and_count_alike() -> None:
    rows = [
        {"shop": shop, "hour": hour, "sold": scale * (hour % 6)}
        for hour in range(60)
        for shop, scale in (("big", 100), ("small", 1))
    ]
    data = SeriesDataset(
        rows, time="hour", id="shop", window=6, split=(0.5, 0, 0.5), scale="standard"
    )
    assert {data._get_time(row) for row in data.rows("training")} == {*range(6, 30)}
    assert {data._get_time(row) for row in data.rows("testing")} == {*range(30, 60)}
    assert data.sample_weight is not None
    weights = {*data.sample_weight.values()}
    assert max(weights) == pytest.approx(1e4 * min(weights), rel=0.01)
    assert set(data.series.recent) == {"big", "small"}


def test_backtests_train_on_what_was_before() -> None:
    data = SeriesDataset(season(100), window=12, horizon=3)
    for fold in data.folds(4):
        ends = [data._get_time(row) + 2 for row in fold.rows("training")]
        assert max(ends) < min(data._get_time(row) for row in fold.rows("testing"))
    assert len([*data.folds(4)]) == 4
    held = data.held_back(0.25)
    last = max(data._get_time(row) + 2 for row in held.rows("training"))
    assert last < min(data._get_time(row) for row in held.rows("validation"))


def test_simple_forecasts_and_scaled_errors() -> None:
    values = [float(n % 4) for n in range(60)]
    data = SeriesDataset(values, window=4, horizon=2)
    forecasts = data.forecasts("testing")
    assert list(forecasts) == ["last value", "last season (4)", "linear"]
    truth = [value for row in data.rows("testing") for value in (row % 4, (row + 1) % 4)]
    assert forecasts["last season (4)"].values().tolist() == truth
    assert forecasts["linear"].values().tolist() == pytest.approx(truth, abs=0.15)
    assert {*data.error_scales("testing")} == {0.0}
    assert {*SeriesDataset([*range(60)], window=4).error_scales("testing")} == {1.0}


@pytest.mark.parametrize("count", [5, 30, 200])
def test_a_trend_or_noise_is_no_season(count: int) -> None:
    assert find_season([float(n) for n in range(count)]) is None
    assert find_season([float(n * n) for n in range(count)]) is None


@pytest.mark.parametrize("options", [{}, {"future": ["price"]}, {"id": "shop"}])
def test_encoders_survive_json(options: dict[str, Any]) -> None:
    table = months(30, shop=["a"] * 30, price=[*range(30)], sold=season(30))
    series = SeriesDataset(table, window=3, **options).series
    again = encoder_from_dict(encoder_to_dict(series))
    assert again == series
    assert isinstance(again.recent["a" if options.get("id") else ""], Steps)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"window": 0}, "window is 0"),
        ({"horizon": 2.5}, "horizon is 2.5"),
        ({"missing": "drop"}, 'missing="drop"'),
        ({"window": 40}, "too few for a window of 40"),
        ({"future": ["price"], "window": 2, "horizon": 3}, "window is 2, shorter than the 3 steps"),
        ({"target": "price", "features": ["price"]}, '"price" is used twice'),
        ({"target": "cost"}, 'no column "cost"'),
        ({"split": (0.1, 0, 0.9), "window": 10}, "lies in training"),
        ({"split": 5}, "split is 5"),
        ({"quantiles": 0.5}, "quantiles are 0.5"),
        ({"quantiles": ["a"]}, "quantiles are ['a']"),
        ({"target_scale": "log1p"}, "no option target_scale="),
        ({"standardize_targets": False}, "no option standardize_targets="),
        ({"batchsize": 5}, 'did you mean "batch_size"'),
    ],
)
def test_what_cannot_be_is_told(options: dict[str, Any], words: str) -> None:
    table = {"price": [*range(30)], "sold": season(30)}
    with pytest.raises(DataError) as caught:
        SeriesDataset(table, **options)
    assert words in str(caught.value)


def test_a_target_that_is_filled_in_is_not_scored_nor_told_to_the_window_before() -> None:
    values: list[Any] = [float(n) for n in range(40)]
    values[31] = None
    data = SeriesDataset(
        {"t": [*range(40)], "v": values},
        time="t",
        window=2,
        horizon=2,
        missing="fill",
        standardize=False,
        split=(0.5, 0, 0.5),
    )
    inputs, outputs = data.arrays("testing")
    assert 31 not in {n for row in outputs["model"].tolist() for n in row}
    assert [[30], [30]] in inputs["model"].tolist()


def test_an_almost_constant_series_does_not_outweigh_the_others() -> None:
    rows = [
        {"id": name, "t": t, "v": scale * (t % 5)}
        for name, scale in (("a", 1.0), ("b", 2.0), ("c", 1.5), ("still", 1e-6))
        for t in range(40)
    ]
    data = SeriesDataset(rows, time="t", id="id", window=4, scale="standard")
    assert data.sample_weight is not None
    weights = data.sample_weight.values()
    assert max(weights) / min(weights) < 500


def make_shops(scale: str | None, **options: Any) -> SeriesDataset:
    """Return two series that differ in size alone; the large one has a jump after training."""
    rows = [
        {"shop": shop, "hour": hour, "sold": size * (10 + hour % 6), "staff": size * (hour % 4)}
        for hour in range(60)
        for shop, size in (("big", 1000.0), ("small", 1.0))
    ]
    rows[100]["sold"] *= 50
    options = {"window": 6, "split": (0.5, 0, 0.5), **options}
    return SeriesDataset(rows, "sold", time="hour", id="shop", scale=scale, **options)


@pytest.mark.parametrize("scale", [None, "series", "window"])
def test_series_of_different_sizes_look_alike(scale: str | None) -> None:
    data = make_shops(scale)
    inputs, outputs = data.arrays("training")
    half = len(inputs["model"]) // 2
    for values in (inputs["model"], outputs["model"]):
        numbers = values.values()
        size = len(numbers) // 2
        assert numbers[:size] == pytest.approx([*numbers[size:]], abs=1e-5)
    targets = data.to_units(data.target_standardization["model"].undo(outputs["model"]), "training")
    actual = data.actual("training")
    assert [*targets.values()] == pytest.approx([*actual.values()], rel=1e-5)
    assert half == 24 and actual.values()[0] == 1000 * actual.values()[half]


def test_levels_are_those_of_the_training_part_also_in_backtests() -> None:
    data = make_shops("series")
    (mean, _), (staff, _) = data.series.levels["big"]
    assert (mean, staff) == pytest.approx((12500, 1500), rel=0.05)
    first, second = data.folds(2)
    assert first.series.levels["big"][0][0] == pytest.approx(12500, rel=0.05)
    assert second.series.levels["small"][0][0] == pytest.approx(12.5, rel=0.05)
    assert first.rows("training") and max(first.arrays("training")[0]["model"].values()) < 3


def test_windows_that_vary_little_count_as_little_as_before_their_scaling() -> None:
    values = [float(n % 5) if n < 40 else n % 5 / 10 for n in range(80)]
    data = SeriesDataset(values, window=5, season=5, split=(1, 0, 0), scale="window")
    assert data.sample_weight is not None
    weights = data.sample_weight.values()
    assert weights[0] == pytest.approx(100 * weights[-1])
    levels = SeriesDataset(
        values, window=5, season=5, split=(1, 0, 0), scale="window", quantiles=[0.1, 0.9]
    ).sample_weight
    assert levels is not None
    assert levels.values()[0] == pytest.approx(10 * levels.values()[-1])


def test_a_constant_window_is_scaled_by_a_share_of_its_series() -> None:
    values = [0.0] * 20 + [float(n % 3) for n in range(40)]
    data = SeriesDataset(values, window=4, split=(1, 0, 0), scale="window", standardize=False)
    numbers = data.arrays("training")[1]["model"].values()
    assert all(map(math.isfinite, numbers)) and max(map(abs, numbers)) < 300


def test_other_scales_are_refused() -> None:
    with pytest.raises(DataError, match='scale="serie"') as caught:
        SeriesDataset([*range(20)], window=3, scale=cast("Any", "serie"))
    assert "series" in str(caught.value)


def test_rows_without_an_id_are_refused() -> None:
    rows = [{"shop": shop, "v": n} for n in range(20) for shop in ("a", "b")]
    rows[7]["shop"] = " "
    with pytest.raises(DataError, match=r"row 7.*has no id"):
        SeriesDataset(rows, id="shop", window=2)


def test_a_time_far_from_the_others_is_refused_not_filled() -> None:
    times = [0, *range(1_700_000_000, 1_700_000_050)]
    with pytest.raises(DataError, match="lacks 1699999999 steps"):
        SeriesDataset({"t": times, "v": times}, time="t", window=2, missing="fill")


def test_series_of_one_step_at_different_times_lack_nothing() -> None:
    rows = [
        {"id": name, "when": f"2024-01-01 {hour:02}:{minute}", "v": hour}
        for name, minute in (("a", "00"), ("b", "30"))
        for hour in range(24)
    ]
    data = SeriesDataset(rows, "v", time="when", id="id", window=3)
    assert data.series.step == Step("day", 1 / 24)


@pytest.mark.parametrize(
    "absurd",
    [
        {"step": []},
        {"step": ["month", 1e6]},
        {"step": ["month", 1.5]},
        {"step": ["day", 1e308]},
        {"step": ["day", 1e-12]},
        {"step": ["number", math.nan]},
        {"step": ["day", "1"]},
        {"horizon": 10**9},
        {"window": "4"},
        {"window": True},
        {"window": 5},
        {"quantiles": [math.nan]},
        {"quantiles": [0.9, 0.1]},
    ],
)
def test_absurd_records_are_refused(absurd: dict[str, Any]) -> None:
    table = {"day": [f"2024-01-{d:02}" for d in range(1, 31)], "v": [*range(30)]}
    record = encoder_to_dict(SeriesDataset(table, window=4, calendar=False).series)
    assert encoder_from_dict(record).window == 4
    with pytest.raises(ValueError, match=r"step|window|quantiles"):
        encoder_from_dict(record | absurd)


def test_series_shorter_than_a_window_are_not_continued() -> None:
    rows = [{"id": name, "v": n} for name, count in (("a", 20), ("b", 2)) for n in range(count)]
    series = SeriesDataset(rows, id="id", window=4).series
    assert [*encoder_from_dict(encoder_to_dict(series)).recent] == ["a"]


def test_lists_of_cells_have_the_order_of_the_table() -> None:
    table = {"v": [*range(9)], "day": [f"2024-01-0{d}" for d in range(1, 10)], "w": [*range(9)]}
    series = SeriesDataset(table, "v", window=2, calendar=False, split=(1, 0, 0)).series
    again = encoder_from_dict(encoder_to_dict(series))
    rows = list(zip(*table.values(), strict=True))
    assert (again.columns, again.read(rows)) == (["v", "day", "w"], series.read(table))


def test_ids_that_are_whole_floats_are_whole_numbers() -> None:
    rows = [{"id": id, "v": n} for n in range(20) for id in (1.0, 2.5, True)]
    assert {*SeriesDataset(rows, id="id", window=2).steps} == {"1", "2.5", "True"}


@pytest.mark.parametrize(
    ("table", "time"),
    [
        ({"when": [round(1920 + n / 12, 3) for n in range(30)], "v": [*range(30)]}, "when"),
        ({"v": [*range(30)], "Year": [*range(1930, 1900, -1)], "w": [*range(30)]}, "Year"),
        ({"when": [n**3 for n in range(30)], "v": [*range(30)]}, ""),
        ({"month": [n % 12 for n in range(30)], "v": [*range(30)]}, ""),
        ({"v": [*range(30)]}, ""),
        ([[n, 2 * n] for n in range(30)], ""),
    ],
)
def test_numbers_are_times_by_their_name_or_even_steps(table: Any, time: str) -> None:
    assert SeriesDataset(table, window=3).series.time == time


def test_months_as_shares_of_years_have_a_step() -> None:
    years = [round(1920 + n / 12, 3) for n in range(30)]
    step = SeriesDataset({"time": years, "v": years}, window=3).series.step
    assert step
    assert step.advance(years[-1], 12) == pytest.approx(years[-1] + 1, abs=0.01)


def test_series_without_times_may_alternate() -> None:
    rows = [{"id": name, "v": n} for n in range(20) for name in "ab"]
    data = SeriesDataset(rows, id="id", window=2)
    assert [*data.steps["b"].times] == [*range(20)]


def test_the_linear_forecast_of_several_series_is_fitted_to_scaled_ones() -> None:
    """Each falls back to its mean by half: of raw numbers the large one alone would be fitted."""
    random = Random(1)
    rows = []
    for shop, mean, deviation in (("large", 1e6, 1e3), ("small", 5.0, 1.0)):
        value = 0.0
        for week in range(300):
            value = 0.5 * value + random.gauss(0, 1)
            rows.append({"shop": shop, "week": week, "sold": mean + deviation * value})
    data = SeriesDataset(rows, "sold", time="week", id="shop", window=2)
    forecasts, actual = data.forecasts("testing"), [*data.actual("testing").values()]
    half = len(actual) // 2  # the small one comes second

    def error(name: str) -> float:
        values = [*forecasts[name].values()][half:]
        return sum(abs(x - y) for x, y in zip(values, actual[half:], strict=True)) / half

    assert 0.6 < error("linear") < 0.95 * error("last value")


def test_times_show_no_rounding_errors_of_their_steps() -> None:
    year = 2008.0
    for _ in range(117):
        year += 1 / 12
    assert year != 2017.75 and show_time(year, dates=False) == 2017.75
    assert show_time(1700000000000.25, dates=False) == 1700000000000.25


def test_a_trained_model_is_not_told_to_change_its_window() -> None:
    encoder = SeriesDataset([*range(40)], window=8, horizon=4).series
    with pytest.raises(DataError, match="too few") as caught:
        SeriesDataset.from_encoder([*range(10)], encoder)
    assert caught.value.hint.startswith("give 12 steps or more")


@pytest.mark.parametrize("dated", [False, True])
@pytest.mark.parametrize(("window", "horizon"), [(20, 5), (40, 11), (5, 20), (40, 99999), (1, 24)])
def test_the_lengths_that_an_error_suggests_can_be_taken(
    window: int, horizon: int, dated: bool
) -> None:
    table = months(24, sold=[*range(24)]) if dated else {"sold": [*range(24)]}
    lengths: dict[str, int] = {"window": window, "horizon": horizon}
    for _ in range(3):
        try:
            SeriesDataset(table, "sold", **lengths, split=(1, 0, 0))
            return
        except DataError as error:
            lengths |= {name: int(n) for name, n in re.findall(r"(\w+)=(\d+)", error.hint)}
    pytest.fail(f"{lengths} are refused, too")
