"""Scaling to 0 … 1, and the choice between it and standardising."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.data import Dataset, Field, Standardization
from webnnm.data.preparation.standardize import compute_min_and_range, fit


def table(**options: Any) -> Dataset:
    return Dataset(
        {"x": [[0.0, 5.0], [4.0, 5.0], [8.0, 7.0]]},
        {"y": [10.0, 30.0, 70.0]},
        split=([0, 1], [], [2]),
        features={"x": ["width", "height"]},
        **options,
    )


def test_training_rows_go_to_0_and_1() -> None:
    data = table(standardize=True, scale="minmax")
    assert data.arrays("full")[0]["x"].tolist() == [[0, 0], [1, 0], [2, 2]]
    assert data.standardization["x"] == Standardization((0.0, 5.0), (4.0, 1.0), 1, "minmax")
    assert data.standardization["x"].undo(HostArray.of([2.0, 2.0])).tolist() == [8, 7]


def test_targets_and_single_features() -> None:
    data = table(standardize=["height"], standardize_targets=True, scale="minmax")
    assert data.arrays("full")[0]["x"].tolist() == [[0, 0], [4, 0], [8, 2]]
    assert data.arrays("full")[1]["y"].tolist() == [0, 1, 3]
    assert data.decode("y", [0.0, 0.5]) == [10, 20]


def test_what_is_constant_goes_to_0() -> None:
    fitted = fit(HostArray.of([[5.0], [5.0]]), Field((1,), "float32"), scale="minmax")
    assert fitted == Standardization((5.0,), (1.0,), 1, "minmax")


def test_images_are_scaled_per_channel() -> None:
    images = HostArray.of([[[[0, 10]], [[128, 30]]], [[[255, 20]], [[1, 12]]]], "uint8")
    field = Field((2, 1, 2), "uint8", names=("height", "width", "channels"))
    fitted = fit(images, field, scale="minmax")
    assert (fitted.mean, fitted.std) == ((0.0, 10.0), (255.0, 20.0))


def test_extent() -> None:
    assert compute_min_and_range([3, -1, 2]) == (-1.0, 4.0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"standardize": True, "scale": "minmx"}, 'unknown scale "minmx"'),
        ({"scale": "minmx"}, 'unknown scale "minmx"'),
        ({"scale": "minmax"}, 'scale="minmax", but nothing is scaled'),
    ],
)
def test_impossible_choices_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        table(**options)
    assert caught.value.code == "NNM704"
