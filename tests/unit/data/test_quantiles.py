"""Numbers that are scaled to a normal distribution by their quantiles."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webnnm import DataError, Dataset, NNModel, TableDataset
from webnnm.core.arrays import HostArray
from webnnm.data.preparation.quantiles import (
    MAX_KNOTS,
    QuantileMap,
    maps_from_lists,
    maps_to_lists,
)
from webnnm.data.preparation.standardize import Standardization

ALL: dict[str, Any] = {"split": (1, 0, 0)}
CUBES = [float(number) ** 3 for number in range(1001)]
FINITE = st.floats(-1e6, 1e6).map(lambda number: round(number, 3))


def test_scores_are_those_of_scikit_learn() -> None:
    # QuantileTransformer(n_quantiles=1001, output_distribution="normal"), scikit-learn 1.9.1
    expected = [-1.28155157, 0, 1.28155157, -0.67292029, -2.05374891]
    numbers = [100.0**3, 500.0**3, 900.0**3, 250.5**3, 20.0**3]
    assert list(QuantileMap.fit(CUBES).transform(numbers)) == pytest.approx(expected, abs=0.02)


def test_equal_numbers_share_the_middle_of_their_quantiles() -> None:
    numbers = [0.0] * 30 + [5.0] * 20 + [*range(10, 60)]
    scores = QuantileMap.fit(numbers).transform([0, 5])
    assert list(scores) == pytest.approx([-1.0364334, -0.2533471])  # Φ⁻¹ of 0.15 and 0.4


def test_few_knots_stand_for_many_numbers() -> None:
    one = QuantileMap.fit(CUBES)
    assert len(one.numbers) == MAX_KNOTS
    assert (one.numbers[0], one.numbers[-1]) == (0, 1e9)
    assert list(one.transform(one.numbers)) == list(one.scores)
    assert list(one.invert(one.scores)) == list(one.numbers)


@given(st.lists(FINITE, min_size=1, max_size=40), st.lists(FINITE, min_size=2, max_size=8))
def test_maps_ascend_and_have_an_inverse_everywhere(fitted: Any, numbers: Any) -> None:
    one = QuantileMap.fit(fitted)
    ordered = sorted({*numbers})
    scores = list(one.transform(ordered))
    assert all(a < b for a, b in itertools.pairwise(scores))
    slack = 1e-9 * (1 + max(map(abs, (*ordered, *fitted))))
    assert list(one.invert(scores)) == pytest.approx(ordered, abs=slack)
    assert maps_from_lists(maps_to_lists([one, None])) == (one, None)


@pytest.mark.parametrize(
    "knots", [[[1.0], []], [[], []], [[1.0, 1.0], [0.0, 1.0]], [[1.0, math.nan], [0.0, 1.0]], [[1]]]
)
def test_impossible_knots_are_refused(knots: Any) -> None:
    with pytest.raises(ValueError, match="impossible"):
        maps_from_lists([knots])


def test_not_a_number_stays_what_it_is() -> None:
    assert math.isnan(QuantileMap.fit([1, 2, 3]).invert([math.nan])[0])


# In datasets.


def make_table(**options: Any) -> TableDataset:
    """Return heights that crowd near the ground, and targets that crowd even more."""
    rows = {
        "height": [0] * 20 + [n**3 for n in range(20)],
        "age": [*range(40)],
        "price": [float(n) ** 5 for n in range(40)],
    }
    return TableDataset(rows, task="regression", standardize=True, **ALL, **options)


def test_single_features_are_scaled_by_quantiles() -> None:
    data = make_table(input_scale={"height": "quantiles"})
    fitted = data.standardization["model"]
    assert [one is not None for one in fitted.quantiles] == [True, False]
    rows = data.arrays("full")[0]["model"].tolist()
    assert rows[0][0] == pytest.approx(-0.62, abs=0.05)  # a half of the rows, and one
    assert fitted.mean == (0, 19.5)
    assert fitted.undo(HostArray.of(rows)).tolist()[30] == pytest.approx([1000, 30], rel=1e-5)


def test_all_features_may_be_scaled_by_quantiles() -> None:
    fitted = make_table(input_scale="quantiles").standardization["model"]
    assert all(fitted.quantiles) and len(fitted.quantiles) == 2


def test_features_without_a_map_are_left_as_they_are() -> None:
    maps = (None, QuantileMap((0.0, 10.0), (-1.0, 1.0)))
    scale = Standardization((1.0, 0.0), (2.0, 1.0), quantiles=maps)
    assert scale.apply(HostArray.of([[3.0, 5.0]])).tolist() == [[1.0, 0.0]]
    assert [scale.undo_feature(0, 1.0), scale.undo_feature(1, 0.0)] == [3, 5]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"input_scale": {"height": "minmax"}}, "the scale of \"height\" is 'minmax'"),
        ({"input_scale": {"hight": "quantiles"}}, '"hight" has a scale, but is not scaled'),
        ({"input_scale": "quantile"}, 'unknown scale "quantile"'),
    ],
)
def test_impossible_scales_are_refused(options: Any, words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        make_table(**options)
    assert caught.value.code == "NNM704"


def test_a_scale_of_inputs_that_are_not_scaled_is_refused() -> None:
    with pytest.raises(DataError, match="no input is scaled"):
        Dataset([[1.0], [2.0]], [1.0, 2.0], input_scale="quantiles", **ALL)


async def test_a_model_of_quantiles_is_tested_and_saved_in_the_units_of_the_data() -> None:
    rows = [float(number) for number in range(60)]
    data = Dataset(
        [[row**4] for row in rows],
        [row**6 for row in rows],
        standardize=True,
        standardize_targets=True,
        scale="quantiles",
    )
    text = "m:input shape=[1]; m:output shape=[1]; m:loss MSE; m:layers matmul(w), add(b);"
    new = [[30.0**4], [90.0**4], [-5.0]]
    async with await NNModel.create(source=text, dataset=data, log=lambda line: None) as model:
        await model.train(epochs=200, lr=0.05, progress="off", seeds=0)
        result = await model.test()
        expected = (await model.predict(new)).tolist()
        saved = await model.save()
    assert result.r2 > 0.9
    assert expected[0][0] == pytest.approx(30.0**6, rel=0.2)
    async with await NNModel.load(saved, log=lambda line: None) as loaded:
        actual = (await loaded.predict(new)).tolist()
    assert actual == [pytest.approx(row, rel=1e-5) for row in expected]
