"""Scaling to 0 … 1, and the choice between it and standardising."""

from __future__ import annotations

import math
from typing import Any

import pytest

from webnnm import NNModel
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


# Logarithms of targets.


def test_logarithms_of_targets_are_standardised_and_taken_back() -> None:
    data = table(standardize_targets=True, target_scale="log1p")
    scale = data.target_standardization["y"]
    logs = [math.log1p(10), math.log1p(30)]
    assert scale.mean == (pytest.approx(sum(logs) / 2),)
    assert scale.std == (pytest.approx((logs[1] - logs[0]) / 2),)
    assert data.arrays("full")[1]["y"].tolist()[:2] == [pytest.approx(-1), pytest.approx(1)]
    assert data.decode("y", [-1.0, 1.0]) == [pytest.approx(10), pytest.approx(30)]
    assert data.arrays("full")[0]["x"].tolist()[2] == [8, 7], "inputs are not scaled"


def test_the_largest_predictions_are_those_that_float32_holds() -> None:
    scale = Standardization((0.0,), (1.0,), 1, "log1p")
    assert scale.undo(HostArray.of([1e9])).tolist()[0] == pytest.approx(math.exp(88), rel=1e-6)


@pytest.mark.parametrize("rows", [([0, 1], [], [2]), ([2, 1], [], [0])])
def test_negative_targets_have_no_logarithm(rows: Any) -> None:
    with pytest.raises(DataError) as caught:
        Dataset([[1.0], [2.0], [3.0]], [-0.5, 2.5, 3.5], split=rows, standardize_targets=True,
                target_scale="log1p")  # fmt: skip
    assert caught.value.message == "the logarithm of a target of -0.5"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"standardize": True, "scale": "log1p"}, 'unknown scale "log1p"'),
        ({"standardize_targets": True, "target_scale": "log"}, 'unknown scale "log"'),
        ({"target_scale": "log1p"}, "no target is scaled"),
    ],
)
def test_inputs_have_no_logarithms(options: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError, match=words):
        table(**options)


async def test_a_model_of_logarithms_is_tested_and_saved_in_the_units_of_the_data() -> None:
    rows = [float(number) for number in range(60)]
    targets = [math.expm1(number / 20) for number in rows]
    data = Dataset(
        [[row] for row in rows], targets, standardize=True, standardize_targets=True,
        target_scale="log1p",
    )  # fmt: skip
    text = "m:input shape=[1]; m:output shape=[1]; m:loss MSE; m:layers matmul(w), add(b);"
    async with await NNModel.create(source=text, dataset=data, log=lambda line: None) as model:
        await model.train(epochs=200, lr=0.05, progress="off", seeds=0)
        result = await model.test()
        expected = (await model.predict([[30.0]])).tolist()
        saved = await model.save()
    assert result.r2 > 0.9
    assert expected[0][0] == pytest.approx(math.expm1(1.5), rel=0.1)
    async with await NNModel.load(saved, log=lambda line: None) as loaded:
        assert (await loaded.predict([[30.0]])).tolist() == [pytest.approx(expected[0], rel=1e-5)]
