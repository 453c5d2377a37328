"""Forecasts of models of series: from rows or the end of the dataset, also after reopening."""

from __future__ import annotations

import json
import math
from random import Random
from typing import Any

import pytest

from webnnm import DataError, Forecast, NNModel, SeriesDataset, suggest_series_model
from webnnm.model.serving import answer, signature

QUIET: dict[str, Any] = {"backend": "numpy", "log": lambda _: None}
DAYS = [f"2024-{month:02}-{day:02}" for month in (1, 3) for day in range(1, 32)]
SOLD = [100 + n + 10 * math.sin(n * math.pi / 4) for n in range(31)]
COLUMN = (
    "m:input shape=[{0}, {1}]; m:output shape=[{2}]; m:layers reshape([{3}]), matmul(w), add(b);"
)
LAST_AND_MORE = (  # the last value, each level a little more
    "m:input shape=[4, 1]; m:output shape=[2, {0}]; m:loss QUL; m:alpha {1}; m:layers "
    "slice(starts=[3, 0], sizes=[1, 1]), expand([2, {0}]), add(b, shape=[2, {0}], init=zeros);"
)
LAST = (  # the forecast of the last value
    "m:input shape=[4, 1]; m:output shape=[2]; m:layers slice(starts=[3, 0], sizes=[1, 1]), "
    "reshape([1]), matmul(w, shape=[2], init=ones);"
)


async def create(source: str, dataset: Any, **settings: Any) -> NNModel:
    return await NNModel.create(source=source, dataset=dataset, **QUIET, **settings)


async def test_the_suggested_model_begins_as_the_last_value_and_beats_simple_forecasts() -> None:
    values = [n / 10 + 5 * math.sin(n * math.pi / 6) + n % 3 for n in range(240)]
    data = SeriesDataset(values, horizon=3)
    async with await create(suggest_series_model(data), data) as model:
        report = (await model.test()).outputs["model"]
        assert report.own.mae == pytest.approx(report.simple["last value"].mae, rel=1e-4)
        await model.train(epochs=60, progress="off")
        result = await model.test()
        assert result.mase < 0.7 * min(result.simple[name].mase for name in ("last value",))
        assert "linear" in str(result) and "MASE" in str(result)
        assert json.loads(json.dumps(result.to_dict()))["outputs"]["model"]["simple"]


async def test_forecasts_have_dates_and_come_in_the_units_of_the_data() -> None:
    data = SeriesDataset(
        {"day": DAYS[:31], "sold": SOLD}, window=4, horizon=2, calendar=False, split=(1, 0, 0)
    )
    async with await create(LAST, data) as model:
        ahead = await model.predict(5)
        assert isinstance(ahead, Forecast)
        assert ahead.times == ["2024-02-01", "2024-02-02", "2024-02-03", "2024-02-04", "2024-02-05"]
        assert ahead.tolist() == pytest.approx([SOLD[-1]] * 5, rel=1e-5)
        rows = {"day": DAYS[31:36], "sold": [7, 8, 9, 10, 11]}
        assert (await model.predict(rows)).times == ["2024-03-06", "2024-03-07"]
        assert (await model.predict(rows, steps=3)).tolist() == pytest.approx([11, 11, 11], 1e-5)
        cells = list(zip(*rows.values(), strict=True))
        assert (await model.predict(cells)).tolist() == pytest.approx([11, 11], rel=1e-5)
        windows = await model.predict([[[91], [92], [93], [94]], [[92], [93], [94], [95]]])
        assert [[*row] for row in windows] == [pytest.approx([94, 94]), pytest.approx([95, 95])]
        again = await NNModel.load(await model.save(), **QUIET)
        assert (await again.predict(5)).times == ahead.times
        assert (await again.predict(rows)).tolist() == pytest.approx([11, 11], rel=1e-5)
        again.close()


async def test_each_series_is_continued() -> None:
    rows = [
        {"shop": shop, "sold": scale * n % 7, "hour": n} for n in range(30) for shop, scale in SHOPS
    ]
    data = SeriesDataset(rows, "sold", time="hour", id="shop", window=4, horizon=2)
    async with await create(COLUMN.format(4, 1, 2, 4), data) as model:
        ahead = await model.predict(3)
        assert {shop: forecast.times for shop, forecast in ahead.items()} == {
            "north": [30, 31, 32],
            "south": [30, 31, 32],
        }
        assert json.loads(await answer(model, 3))["m"]["series"]["north"]["times"] == [30, 31, 32]


SHOPS = (("north", 1), ("south", 3))


@pytest.mark.parametrize("scale", ["series", "window"])
async def test_forecasts_of_scaled_series_come_in_the_units_of_the_data(scale: Any) -> None:
    rows = [
        {"shop": shop, "sold": size * (10 + n % 4), "hour": n}
        for n in range(40)
        for shop, size in (("large", 1000.0), ("small", 1.0))
    ]
    parts = {"time": "hour", "id": "shop", "window": 4, "horizon": 2, "scale": scale}
    async with await create(LAST, SeriesDataset(rows, "sold", **parts)) as model:
        report = await model.test()
        assert report.own.mae == pytest.approx(report.simple["last value"].mae, rel=1e-4)
        ahead = await model.predict(3)
        assert ahead["large"].tolist() == pytest.approx([13000] * 3, rel=1e-5)
        assert ahead["small"].tolist() == pytest.approx([13] * 3, rel=1e-5)
        fresh = [{"shop": "new", "sold": 7e6 + n, "hour": n} for n in range(4)]
        assert (await model.predict(fresh))["new"].tolist() == pytest.approx([7e6 + 3] * 2)
        windows = [[[5.0], [6.0], [7.0], [9.0]]]
        if scale == "window":
            assert [*(await model.predict(windows))[0]] == pytest.approx([9, 9])
        else:  # which series they are of decides how they are scaled
            with pytest.raises(DataError, match=r"1 windows do not say .*: large, small") as caught:
                await model.predict(windows)
            assert 'column "shop"' in caught.value.hint
        again = await NNModel.load(await model.save(), **QUIET)
        for name, one in (await again.predict(3)).items():
            assert one.tolist() == pytest.approx(ahead[name].tolist(), rel=1e-6)
        again.close()


async def test_what_is_known_ahead_has_to_be_told() -> None:
    table = {"price": [*range(30)], "sold": [*map(float, range(30))]}
    data = SeriesDataset(table, window=4, horizon=2, future=["price"], split=(1, 0, 0))
    async with await create(COLUMN.format(4, 2, 2, 8), data) as model:
        with pytest.raises(DataError, match="price: known in advance, but not given"):
            await model.predict(2)
        rows = {"price": [1, 2, 3, 4, 5, 6], "sold": [1, 2, 3, 4, None, None]}
        assert (await model.predict(rows)).times == [1, 2]
        with pytest.raises(DataError, match="known in advance"):
            await model.predict(rows, steps=3)
        inputs = json.loads(signature(model))["m"]
        assert inputs == {"kind": "series", "columns": ["price", "sold"], "window": 4}


async def test_backtests_are_cross_validations() -> None:
    from webnnm import cross_validate

    data = SeriesDataset([n % 5 for n in range(60)], window=5, horizon=1)
    async with await create(suggest_series_model(data), data) as model:
        result = await cross_validate(model, 2, epochs=2)
        assert [len(one.simple) for one in result.results] == [3, 3]


@pytest.mark.parametrize(("data", "steps"), [(0, None), (-1, None), (3, 2), ([1, 2, 3, 4], 0)])
async def test_impossible_steps_are_refused(data: Any, steps: Any) -> None:
    async with await create(LAST, SeriesDataset([*range(20)], window=4, horizon=2)) as model:
        with pytest.raises(DataError, match="NNM704"):
            await model.predict(data, steps=steps)


async def test_other_models_take_no_steps() -> None:
    from webnnm import Dataset

    text = "m:input shape=[2]; m:output shape=[1]; m:layers matmul(w), add(b);"
    async with await create(text, Dataset([[1.0, 2.0], [2.0, 3.0]], [1.0, 2.0])) as model:
        with pytest.raises(DataError, match="rows are no series"):
            await model.predict([[1, 2]], steps=3)


async def test_quantiles_are_an_interval_whose_coverage_is_tested() -> None:
    values = [50 + n % 12 + (n * 7919 % 101) / 20 for n in range(300)]
    data = SeriesDataset(values, horizon=2, season=12, quantiles=[0.1, 0.5, 0.9])
    async with await create(suggest_series_model(data), data) as model:
        await model.train(epochs=80, progress="off")
        result = await model.test()
        actual, expected = result.coverage
        assert expected == pytest.approx(0.8)
        assert 0.6 < actual < 0.95
        assert "of the targets lie in the interval of 80%" in str(result)
        ahead = await model.predict(5)
        low, middle, high = ahead.quantiles.values()
        assert ahead.tolist() == middle
        assert all(a < b < c for a, b, c in zip(low, middle, high, strict=True))
        assert ahead.to_dict()["quantiles"].keys() == {"0.1", "0.5", "0.9"}


QUANTILES = (
    "m:input shape=[4, 1]; m:output shape=[2, 3]; m:loss QUL;"
    "m:layers reshape([4]), matmul(w, shape=[6], init=zeros), add(b), reshape([2, 3]);"
)


async def test_quantiles_are_calibrated_on_the_validation_rows_and_saved_with_the_model() -> None:
    noise = Random(0)
    values = [n % 5 + noise.uniform(0, 5) for n in range(900)]
    data = SeriesDataset(values, window=4, horizon=2, quantiles=[0.1, 0.5, 0.9])
    async with await create(QUANTILES, data) as model:
        assert (await model.test()).uncalibrated is None
        await model.train(epochs=1, lr=1e-6, progress="off", review=False)
        validated = await model.test("validation")
        assert validated.uncalibrated < 0.1  # all quantiles are near 0
        assert 0.8 <= validated.coverage[0] < 0.9
        tested = await model.test()
        assert abs(tested.coverage[0] - 0.8) < 0.1
        assert "before calibration" in str(tested) and "width" in str(tested)
        assert all(0.6 < one.coverage < 1 and one.width for one in tested.simple.values())
        for low, middle, high in (await model.predict([[[one] for one in values[:4]]]))[0]:
            assert low + 1 < middle < high - 1
        again = await NNModel.load(await model.save(), **QUIET)
        assert (await again.predict(3)).to_dict() == (await model.predict(3)).to_dict()
        again.close()
        await model.train(epochs=1, progress="off", review=False)
        model.set_dataset(SeriesDataset(values, window=4, horizon=2, quantiles=[0.1, 0.5, 0.9]))
        assert (await model.test()).uncalibrated is not None


async def test_without_validation_rows_the_training_says_that_intervals_are_not_calibrated() -> (
    None
):
    parts = {"window": 4, "horizon": 2, "quantiles": [0.1, 0.5, 0.9]}
    data = SeriesDataset([n * 7 % 10 for n in range(90)], split=(0.8, 0, 0.2), **parts)
    async with await create(QUANTILES, data) as model:
        history = await model.train(epochs=1, progress="off", review=False)
        assert "validation_split=0.1" in history.warnings[0]
        result = await model.test()
        assert "(not calibrated)" in str(result) and result.uncalibrated is None
        await model.train(epochs=1, validation_split=0.2, progress="off", review=False)
        assert (await model.test()).uncalibrated is not None
        await model.train(epochs=1, progress="off", review=False)  # forgets the margins
        assert (await model.test()).uncalibrated is None


@pytest.mark.parametrize("quantiles", [[0.9, 0.1], [0, 0.5], [0.5, 0.5], [50]])
def test_levels_are_checked(quantiles: list[float]) -> None:
    with pytest.raises(DataError, match="levels in ascending order"):
        SeriesDataset([*range(30)], window=3, quantiles=quantiles)


async def test_large_numbers_keep_their_digits() -> None:
    data = SeriesDataset([1e9 + 100 * (n % 5) for n in range(60)], window=4, horizon=2)
    async with await create(LAST, data) as model:
        rows = [1e9 + 7, 1e9 + 9, 1e9 + 8, 1e9 + 203]
        assert (await model.predict(rows)).tolist() == pytest.approx([1e9 + 203] * 2, abs=0.5)


async def test_thousands_of_minutes_ahead_have_exact_times() -> None:
    when = [f"2024-01-01 {n // 60:02}:{n % 60:02}" for n in range(60)]
    data = SeriesDataset(
        {"when": when, "sold": [*range(60)]}, window=4, horizon=2, calendar=False, split=(1, 0, 0)
    )
    async with await create(LAST, data) as model:
        ahead = await model.predict(2000)
        assert ahead.times[60] == "2024-01-01 02:00"
        assert ahead.times[-1] == "2024-01-02 10:19"
        assert ahead.tolist() == pytest.approx([59] * 2000, rel=1e-4)
        assert ahead.id is None


async def test_steps_without_a_common_distance_are_counted() -> None:
    days = ["2024-01-01", "2024-01-02", "2024-01-09", "2024-02-20", "2024-02-21", "2024-05-05"]
    rows = [{"id": name, "day": day, "v": n} for name in "ab" for n, day in enumerate(days)]
    data = SeriesDataset(
        rows, time="day", id="id", window=4, horizon=2, calendar=False, split=(1, 0, 0)
    )
    async with await create(LAST, data) as model:
        ahead = (await model.predict(3))["b"]
        assert (ahead.times, ahead.id) == ([1, 2, 3], "b")


async def test_too_many_steps_are_refused() -> None:
    data = SeriesDataset([*range(20)], window=4, horizon=2, split=(1, 0, 0))
    async with await create(LAST, data) as model:
        with pytest.raises(DataError, match="at most 100000 steps"):
            await model.predict(3_000_000)


async def test_windows_of_the_only_series_are_scaled_by_its_level() -> None:
    values = [10.0 + n % 4 for n in range(40)]
    data = SeriesDataset(values, window=4, horizon=2, scale="series", split=(30, 0, 10))
    text = LAST.replace("init=ones", "init=zeros")
    async with await create(text, data) as model:  # the mean in training, whatever the window
        predicted = await model.predict([[[5.0], [6.0], [7.0], [9.0]]])
        assert [*predicted[0]] == pytest.approx([11.5, 11.5])


async def test_margins_are_forgotten_with_the_parameters_that_they_are_of() -> None:
    data = SeriesDataset([n * n % 17 for n in range(90)], window=4, quantiles=[0.1, 0.5, 0.9])
    async with await create(suggest_series_model(data), data) as model:
        other = await create(suggest_series_model(data), data)
        await model.train(epochs=1, progress="off")
        assert (await model.test()).uncalibrated is not None
        await model.load_params(other)
        assert (await model.test()).uncalibrated is None
        assert str(await model.test()) == str(await other.test())
        other.close()


async def test_the_forecast_of_quantiles_without_a_median_lies_between_them() -> None:
    data = SeriesDataset(SOLD, window=4, horizon=2, quantiles=[0.1, 0.9], split=(0.6, 0, 0.4))
    async with await create(LAST_AND_MORE.format(2, [0.1, 0.9]), data) as model:
        await model.load_params({"b1": [[0.0, 2.0], [0.0, 2.0]]})
        ahead = await model.predict(3)
        low, high = ahead.quantiles.values()
        assert ahead.tolist() == pytest.approx(
            [(a + b) / 2 for a, b in zip(low, high, strict=True)]
        )
        assert low[0] < high[0]


async def test_a_single_quantile_covers_what_lies_below_it() -> None:
    data = SeriesDataset(SOLD, window=4, horizon=2, quantiles=[0.9])
    async with await create(LAST_AND_MORE.format(1, [0.9]), data) as model:
        result = await model.test()
        assert result.coverage[1] == 0.9
        actual = [*data.actual("testing").values()]
        forecast = [SOLD[row + 3] for row in data.rows("testing") for _ in range(2)]
        below = sum(y <= x + 1e-3 for x, y in zip(forecast, actual, strict=True)) / len(actual)
        assert result.coverage[0] == pytest.approx(below)
        assert "of the targets lie below the quantile 0.9 (not calibrated)" in str(result)
        assert "width" not in str(result) and "is better" not in str(result)


async def test_a_simple_forecast_that_is_better_is_named() -> None:
    data = SeriesDataset(SOLD, window=4, horizon=2)
    async with await create(LAST.replace("init=ones", "init=zeros"), data) as model:
        assert "\nlinear is better: MASE 0." in str(await model.test())
    async with await create(LAST, SeriesDataset([*range(30)], window=4, horizon=2)) as model:
        result = await model.test()
        best = min(result.simple, key=lambda name: result.simple[name].mase)
        assert (f"{best} is better" in str(result)) == (best != "last value")


@pytest.mark.parametrize("scale", ["series", "window"])
async def test_other_scales_are_advised_where_several_series_are_forecast_badly(scale: Any) -> None:
    rows = [
        {"shop": shop, "sold": size * (n + n % 4), "hour": n}
        for n in range(40)
        for shop, size in (("large", 1000.0), ("small", 1.0))
    ]
    parts = {"time": "hour", "id": "shop", "window": 4, "horizon": 2, "scale": scale}
    text = LAST.replace("init=ones", "init=zeros")
    async with await create(text, SeriesDataset(rows, "sold", **parts)) as model:
        shown = str(await model.test())
        assert "is better: MASE" in shown
        assert ('→ try scale="window"' in shown) == (scale == "series")
