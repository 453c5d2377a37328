"""Windows that share the memory of their steps: the same rows as windows in memory of their own."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm import SeriesDataset
from webnnm.core.arrays import HostArray, concatenate
from webnnm.data.dataset import Dataset
from webnnm.data.series.series_encoder import stack_windows
from webnnm.data.series.sliding import SlidingWindows


def make_shops(**options: Any) -> SeriesDataset:
    """Return three series of different lengths, with what is known ahead and a gap."""
    rows = [
        {"shop": shop, "day": day, "price": day % 3, "seen": day % 7, "sold": size * (day % 5)}
        for shop, size, first in (("a", 1.0, 0), ("b", 30.0, 4), ("c", 500.0, 2))
        for day in range(first, 30)
        if (shop, day) != ("b", 12)
    ]
    parts = {"time": "day", "id": "shop", "future": ["price"], "missing": "fill", **options}
    return SeriesDataset(rows, "sold", window=4, horizon=2, **parts)


@pytest.mark.parametrize("scale", ["standard", "minmax", "series"])
def test_rows_are_the_windows_of_their_steps(scale: Any) -> None:
    data = make_shops(scale=scale)
    inputs, _ = data.arrays("full")
    own = [stack_windows(data.series, data.steps[key], [end]) for key, end in data._ends]
    scaled, _ = data.series.scale(concatenate(own), [key for key, _ in data._ends])
    expected = data.standardization["model"].apply(scaled)
    assert inputs["model"].shape == expected.shape
    assert [*inputs["model"].values()] == pytest.approx([*expected.values()], abs=1e-5)


def test_channels_are_scaled_by_the_steps_of_training() -> None:
    data = SeriesDataset([1.0, 3.0, 1.0, 3.0, 5.0, 90.0, 90.0], window=2, split=(5, 0, 2))
    assert data.standardization["model"].mean == (2,)  # the last step is only a target
    assert data.standardization["model"].std == (1,)


def test_rows_are_copied_when_they_are_read() -> None:
    steps = HostArray.of([[float(n), -n] for n in range(6)], "float64")
    windows = SlidingWindows(steps, [0, 3, 2], 3)
    assert windows.rows([2, 0]).tolist()[0] == [[2, -2], [3, -3], [4, -4]]
    assert windows.part(1, 2).tolist() == [[[3, -3], [4, -4], [5, -5]]]
    assert windows.shape == (3, 3, 2) and windows.values()[0] == 0
    assert windows.list_steps([1, 2]) == [2, 3, 4, 5]
    assert windows.map_steps(lambda x: HostArray.of(x, "float32")).dtype == "float32"


def test_unscaled_windows_are_rows_of_any_dataset() -> None:
    windows = SlidingWindows(HostArray.of([[1.0], [2.0], [4.0]], "float64"), [0, 1], 2)
    data = Dataset(windows, [0.5, 1.5], split=(1, 0, 0))
    assert data.arrays("training")[0]["model"].tolist() == [[[1], [2]], [[2], [4]]]


def test_a_table_is_tested_with_the_scales_of_the_training() -> None:
    data = make_shops(scale="series")
    rows = [
        {"shop": shop, "day": day, "price": 1, "seen": 2, "sold": day * 10.0}
        for shop in ("a", "new")
        for day in range(40, 70)
    ]
    scales = data.standardization["model"], data.target_standardization["model"]
    tested = SeriesDataset.from_encoder(rows, data.series, *scales)
    assert tested.series.levels == data.series.levels
    assert tested.standardization["model"] == scales[0]
    (mean, deviation), *_ = data.series.levels["a"]
    window = scales[0].apply(
        data.series.scale(stack_windows(data.series, tested.steps["a"], [3]), "a")[0]
    )
    assert [*tested.arrays("full")[0]["model"].rows([0]).values()] == pytest.approx(
        [*window.values()]
    )
    targets = tested.to_units(scales[1].undo(tested.arrays("testing")[1]["model"]), "testing")
    assert [*targets.values()] == pytest.approx([*tested.actual("testing").values()])
    assert (400 - mean) / deviation > 3, "far from what was seen in training"
    plain = SeriesDataset.from_encoder(
        [1.0, 2.0, 4.0, 8.0], SeriesDataset([*range(9)], window=2).series
    )
    assert plain.arrays("training")[0]["model"].tolist()[0] == [[1], [2]]
