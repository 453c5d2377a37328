"""The scores of one answer for all rows."""

from __future__ import annotations

import pytest

from webnnm import DataError, Dataset
from webnnm.evaluation.baselines import score_constant


def test_the_most_frequent_class_of_the_training_rows_is_the_answer() -> None:
    data = Dataset([[0.0]] * 6, ["a", "b", "b", "a", "a", "b"], split=([0, 1, 2], [], [3, 4, 5]))
    assert score_constant(data) == {"accuracy": pytest.approx(1 / 3), "macro F1": 0.25}


@pytest.mark.parametrize("scaled", [False, True])
def test_a_mean_is_in_the_units_of_the_data(scaled: bool) -> None:
    data = Dataset(
        [[0.0]] * 4,
        [10.5, 20.5, 10.5, 30.5],
        split=(2, 0, 2),
        method="sequential",
        standardize_targets=scaled,
    )
    scores = score_constant(data)
    assert scores["MAE"] == pytest.approx(10)
    assert scores["RMSE"] == pytest.approx((62.5 + 50) ** 0.5, rel=0.1)
    assert scores["R²"] == pytest.approx(-0.25)


def test_there_is_no_baseline_of_several_outputs() -> None:
    with pytest.raises(DataError) as caught:
        score_constant(Dataset({"x": [[0.0], [1.0]]}, {"a": [0, 1], "b": [1, 0]}))
    assert caught.value.code == "NNM702"
