"""Reviews by the public function: of a text, a tree or a model, with and without data."""

from __future__ import annotations

import pytest

from webnnm import DataError, IrisDataset, ModelError, NNModel, parse, review

TEXT = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), add(b), softmax();"


def ids(found) -> set[str]:
    return {finding.id for finding in found.findings}


async def test_a_text_needs_no_backend_and_no_data() -> None:
    bare = review(TEXT)
    assert "E101" in ids(bare) and not [id for id in ids(bare) if id.startswith("E6")]
    assert bare.settings["m:loss"] == "CCE"
    iris = await IrisDataset.create()
    found = review(TEXT, iris, epochs=100)
    assert {"E603", "E607"} <= ids(found)
    assert (found.settings["batch_size"], found.origins["batch_size"]) == (
        20,
        "default of the dataset",
    )
    assert ids(review(parse(TEXT), iris, {"epochs": 100})) == ids(found)
    assert "E603" not in ids(review(TEXT, iris, silence="E603"))
    assert "E603" not in ids(review(TEXT, await IrisDataset.create(standardize=True)))


def test_float16_is_looked_at_once_more() -> None:
    half = review(TEXT.replace("add(b)", "exp()"), compute_type="float16")
    assert {"E201", "E203"} <= ids(half)
    assert half.settings["gradient_scaling"] == "on"


async def test_a_model_is_reviewed_with_what_it_has() -> None:
    pytest.importorskip("numpy")
    iris = await IrisDataset.create()
    model = await NNModel.create(
        source=TEXT, dataset=iris, batch_size=200, backend="numpy", log=lambda _: None
    )
    found = review(model, epochs=100)
    assert found.origins["batch_size"] == "E609", "200 rows are more than there are"
    assert found.settings["batch_size"] == 105
    assert list(found.findings) == model.review(epochs=100)
    other = review(model, await IrisDataset.create(standardize=True))
    assert "E603" in ids(found) and "E603" not in ids(other)
    model.close()


@pytest.mark.parametrize(
    ("keywords", "code"),
    [({"lt": 1}, "NNM703"), ({"lr": 0}, "NNM704"), ({"silence": "E0"}, "NNM703")],
)
def test_wrong_hyperparameters_are_errors(keywords: dict[str, object], code: str) -> None:
    with pytest.raises(DataError) as caught:
        review(TEXT, **keywords)
    assert caught.value.code == code


async def test_wrong_texts_and_data_are_errors() -> None:
    with pytest.raises(ModelError) as caught:
        review(TEXT.replace("softmax", "sofmax"))
    assert caught.value.code == "NNM204"
    with pytest.raises(DataError) as refused:
        review(TEXT.replace("[4]", "[5]"), await IrisDataset.create())
    assert refused.value.code == "NNM702"
