"""Whole numbers are classes or quantities by what the model gives for a row."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm import DataError, Dataset, NNModel
from webnnm.evaluation.regression_report import RegressionReport

LINE = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w), add(b);"
SCORES = "m:input shape=[1]; m:output shape=[4]; m:layers matmul(w), add(b), softmax();"
ROWS = [[float(n % 4) / 2] for n in range(40)]
STARS = [n % 4 for n in range(40)]


async def train(text: str, **options: Any) -> NNModel:
    """Return a model that was trained for whole numbers from 0 to 3."""
    model = await NNModel.create(source=text, dataset=Dataset(ROWS, STARS, **options))
    await model.train(epochs=80, lr=0.2, progress="off")
    return model


@pytest.mark.parametrize("loss", ["", " m:loss MSE;", " m:loss HUL;"])
@pytest.mark.parametrize("options", [{}, {"standardize_targets": True}], ids=["plain", "scaled"])
async def test_one_number_for_a_row_takes_whole_numbers_as_quantities(
    loss: str, options: dict[str, Any]
) -> None:
    lines: list[str] = []
    async with await NNModel.create(
        source=LINE + loss, dataset=Dataset(ROWS, STARS, **options), log=lines.append
    ) as model:
        await model.train(epochs=80, lr=0.2, progress="off")
        report = (await model.test()).outputs["m"]
        assert isinstance(report, RegressionReport)
        assert report.mae < 0.3
        assert (await model.predict([[1.0]])).tolist()[0][0] == pytest.approx(2, abs=0.5)
        saved = await model.save()
    assert not [line for line in lines if "could not be measured" in line]
    async with await NNModel.load(saved) as again:
        assert (await again.predict([[1.0]])).tolist()[0][0] == pytest.approx(2, abs=0.5)


async def test_one_score_for_each_takes_them_as_classes() -> None:
    async with await train(SCORES) as model:
        assert (await model.predict([[1.0]])).classes == [2]


@pytest.mark.parametrize(
    "options", [{"kinds": {"model": "classes"}}, {"labels": ["bad", "poor", "good", "best"]}]
)
async def test_declared_classes_need_a_score_for_each(options: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="4 classes, and the model has one score") as caught:
        await train(LINE, **options)
    assert caught.value.code == "NNM706"
    assert "write shape=[4]" in caught.value.hint
    assert 'kinds={"model": "continuous"}' in caught.value.hint


def test_other_outputs_and_the_split_stay_as_they_are() -> None:
    prices = [float(n) for n in range(40)]
    data = Dataset(ROWS, {"stars": STARS, "price": prices}, standardize_targets=True)
    same = data.as_quantities(["stars"])
    assert [field.kind for field in same.outputs.values()] == ["continuous", "continuous"]
    assert same.rows("training") == data.rows("training")
    assert same.target_standardization["price"] == data.target_standardization["price"]
    scaled = same.arrays("training")[1]["stars"].values()
    assert sum(scaled) / len(scaled) == pytest.approx(0, abs=1e-5)
    assert data.outputs["stars"].kind == "classes"
    fold = next(same.folds(4))
    assert fold.outputs["stars"].kind == "continuous"
    assert fold.target_standardization.keys() == {"stars", "price"}
