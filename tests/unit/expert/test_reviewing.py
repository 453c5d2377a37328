"""Reviews by the public function: of a text, a tree or a model, with and without data."""

from __future__ import annotations

import math
from statistics import fmean, pstdev
from typing import Any

import pytest

from webnnm import DataError, Dataset, IrisDataset, ModelError, NNModel, backend, parse, review
from webnnm.core.arrays import HostArray
from webnnm.data.protocol import REQUIRED_MEMBERS

TEXT = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), add(b), softmax();"


def ids(found) -> set[str]:
    return {finding.id for finding in found.findings}


async def test_a_text_needs_no_backend_and_no_data() -> None:
    bare = review(TEXT)
    assert "E101" in ids(bare) and not [id for id in ids(bare) if id.startswith("E6")]
    assert bare.losses["m"] == "CCE"
    iris = await IrisDataset.create()
    found = review(TEXT, iris, epochs=100)
    assert "E603" in ids(found) and "E701" not in ids(found)
    assert (found.settings.batch_size, found.origins["batch_size"]) == (
        20,
        "default of the dataset",
    )
    assert ids(review(parse(TEXT), iris, {"epochs": 100})) == ids(found)
    assert "E603" not in ids(review(TEXT, iris, silence="E603"))
    assert "E603" not in ids(review(TEXT, await IrisDataset.create(standardize=True)))


def test_float16_is_looked_at_once_more() -> None:
    half = review(TEXT.replace("add(b)", "exp()"), compute_type="float16")
    assert {"E201", "E203"} <= ids(half)
    assert half.settings.gradient_scaling == "on"


async def test_a_model_is_reviewed_with_what_it_has() -> None:
    pytest.importorskip("numpy")
    iris = await IrisDataset.create()
    model = await NNModel.create(
        source=TEXT, dataset=iris, batch_size=200, backend="numpy", log=lambda _: None
    )
    found = review(model, epochs=100)
    assert found.origins["batch_size"] == "E609", "200 rows are more than there are"
    assert found.settings.batch_size == 105
    assert list(found.findings) == model.review(epochs=100)
    other = review(model, await IrisDataset.create(standardize=True))
    assert "E603" in ids(found) and "E603" not in ids(other)
    model.close()


def numbers(**given: Any) -> Dataset:
    """Return rows of four numbers whose labels are three."""
    rows = [[i % 3, i % 5, i / 7, 1.0] for i in range(40)]
    labels = [[row[0] - 0.5, row[1] * 1.5, -row[2]] for row in rows]
    return Dataset(rows, labels, **given)


class Own:
    """A dataset of a user's own: no one looked at its numbers."""

    def __init__(self, dataset: Dataset, wrong: float) -> None:
        self.__dict__ |= {name: getattr(dataset, name) for name in REQUIRED_MEMBERS}
        self.masks, self.batches = dataset.masks, dataset.batches
        inputs, outputs = dataset.arrays("training")
        rows = inputs["model"]
        values = [*rows.values()]
        values[9] = wrong
        self._arrays = {"model": HostArray.of(values, rows.dtype, rows.shape)}, outputs

    def arrays(self, subset: str) -> Any:
        assert subset == "training"
        return self._arrays


@pytest.mark.parametrize("loss", ["", "m:loss sparseCategoricalCrossEntropy;"])
def test_labels_that_cannot_fit_are_a_finding(loss: str) -> None:
    found = review(TEXT + loss, numbers(), epochs=100)
    (finding,) = [finding for finding in found.findings if finding.id == "E103"]
    assert (finding.severity, finding.nodes) == ("error", ("m:output",))
    assert "between -" in finding.message and "softmax" in str(finding.evidence)
    assert finding.places and finding.remedy
    assert "E604" in ids(found), "all else is looked at"
    assert ("m" in found.losses) == bool(loss)
    assert "E103" not in ids(review(TEXT + loss, numbers(), silence="E103"))


def test_more_classes_than_scores_are_a_finding() -> None:
    classes = [row % 4 for row in range(40)]
    rows = numbers().arrays("training")[0]["model"].tolist() + [[1.0] * 4] * 40
    found = review(TEXT, Dataset(rows[:40], classes, kinds={"model": "classes"}), epochs=100)
    (finding,) = [finding for finding in found.findings if finding.id == "E103"]
    assert "4 classes, the model has 3 scores" in finding.message
    assert "E604" in ids(found), "the inputs are looked at"


def test_an_output_that_cannot_be_trained_leaves_the_others() -> None:
    text = (
        "m:input shape=[4]; m:layers matmul(w, shape=[3]); "
        "a:output shape=[3]; a:layers softmax(node=m); b:output shape=[3]; b:layers relu(node=m);"
    )
    labels = numbers().arrays("training")[1]["model"]
    rows = {"m": [[1.0, 2.0, 3.0, 4.0]] * labels.shape[0]}
    found = review(text, Dataset(rows, {"a": labels, "b": labels}, split=(1, 0, 0)))
    (wrong,) = [finding for finding in found.findings if finding.id == "E103"]
    (chosen,) = [finding for finding in found.findings if finding.id == "E101"]
    assert (wrong.nodes, chosen.nodes) == (("a:output",), ("b:output",))


async def test_a_model_finds_what_its_training_raises() -> None:
    pytest.importorskip("numpy")
    said: list[str] = []
    model = await NNModel.create(source=TEXT, dataset=numbers(), backend="numpy", log=said.append)
    assert not [line for line in said if "E103" in line], "it takes the data to see it"
    assert "E103" in {finding.id for finding in model.review()}
    assert model.profile().outputs[0]["loss"] == ""
    with pytest.raises(DataError) as caught:
        await model.train(epochs=1, seeds=0)
    assert caught.value.code == "NNM604"
    model.close()


@pytest.mark.parametrize("wrong", [math.nan, -math.inf])
def test_numbers_that_are_not_finite_are_a_finding(wrong: float) -> None:
    plain = Own(numbers(split=(1, 0, 0)), 1.0)
    assert "E605" not in ids(review(TEXT.replace("softmax", "relu"), plain))
    found = review(TEXT.replace("softmax", "relu"), Own(numbers(split=(1, 0, 0)), wrong))
    (finding,) = [finding for finding in found.findings if finding.id == "E605"]
    assert finding.message == f'training input "model": row 2, element 1 is {wrong}'
    assert (finding.severity, finding.evidence) == ("error", {"row": 2})


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_rows_that_a_subclass_computes_are_looked_at(wrong: float) -> None:
    class Computed(Dataset):
        def arrays(self, subset: str) -> Any:
            inputs, outputs = super().arrays(subset)
            rows = [[wrong, 0.5] for _ in inputs["model"].tolist()]
            return {"model": HostArray.of(rows, "float32")}, outputs

    data = Computed([[0.5, k / 9] for k in range(30)], [k % 3 for k in range(30)])
    text = "m:input shape=[2]; m:output shape=[3]; m:layers matmul(w), softmax();"
    (finding,) = [one for one in review(text, data).findings if one.id == "E605"]
    assert finding.message == f'training input "model": row 0, element 0 is {wrong}'


def test_rows_standardised_by_all_of_them_are_told() -> None:
    years = [k * k * 0.618 % 7 for k in range(60)]

    def found(known: list[float]) -> list[str]:
        rows = [[(year - fmean(known)) / pstdev(known)] for year in years]
        data = Dataset(rows, years, split=(40 / 60, 0, 20 / 60), method="sequential")
        return ids(review("m:input shape=[1]; m:output shape=[1]; m:layers matmul(w);", data))

    assert "E612" in found(years)
    assert "E612" not in found(years[:40])


async def test_creation_reviews_the_structure_and_training_does_not_repeat_it() -> None:
    pytest.importorskip("numpy")
    said: list[str] = []
    text = TEXT.replace("matmul", "dropout(0.8), matmul") + "m:loss meanSquaredError;"
    iris = await IrisDataset.create()
    model = await NNModel.create(source=text, backend="numpy", log=said.append)

    def told(id: str) -> int:
        return "\n".join(said).count(f"warning {id} ")

    assert (told("E404"), told("E102")) == (1, 1)
    assert not [line for line in said if line.startswith(("info", "advice"))]
    model.set_dataset(iris)
    history = await model.train(epochs=1, seeds=0)
    assert (told("E404"), told("E102"), told("E603")) == (1, 1, 1)
    assert {"E404", "E102"} <= {finding.id for finding in history.findings}
    assert {"E404", "E102"} <= {finding.id for finding in model.review()}
    model.close()


async def test_creation_finds_a_loss_that_is_impossible_without_data() -> None:
    pytest.importorskip("numpy")
    said: list[str] = []
    text = TEXT.replace(", softmax()", "") + "m:loss focalLoss;"
    model = await NNModel.create(source=text, backend="numpy", log=said.append)
    assert [line.split(":")[0] for line in said if "E1" in line] == ["error E103 line 1, column 22"]
    model.close()


@pytest.mark.parametrize(("word", "device"), [("edge", "npu"), ("Edge", "npu"), ("size", None)])
async def test_what_is_made_for_the_edge_asks_for_the_npu(
    word: str, device: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numpy")
    asked: list[str | None] = []

    async def open_model(_: str, *, device: str | None, **__: Any) -> Any:
        asked.append(device)
        return await backend("numpy")

    monkeypatch.setattr("webnnm.model.nnmodel.open_backend", open_model)
    iris = await IrisDataset.create()
    given: dict[str, Any] = {"source": TEXT, "dataset": iris, "log": lambda _: None}
    model = await NNModel.create(optimizeFor=word, **given)
    found = review(model)
    assert asked == [device]
    edge = device == "npu"
    assert found.settings.optimize_for == ("edge" if edge else "size")
    assert found.origins["optimize_for"] == ("given" if edge else "default")
    assert ("E801" in ids(found)) == edge
    assert "E801" not in {finding.id for finding in model.review(optimizeFor="size")}
    model.close()
    model = await NNModel.create(optimize_for=word, device="gpu", **given)
    assert asked[1:] == ["gpu"]
    model.close()
    with pytest.raises(DataError) as caught:
        await NNModel.create(source=TEXT, optimize_for="egde")
    assert caught.value.code == "NNM704"


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


async def test_a_tensor_that_the_backend_cannot_hold_is_a_finding() -> None:
    pytest.importorskip("numpy")
    iris = await IrisDataset.create()
    model = await NNModel.create(source=TEXT, dataset=iris, backend="numpy", log=lambda _: None)
    assert "E803" not in ids(review(model))
    model.backend.max_tensor_bytes = 100
    found = next(f for f in review(model).findings if f.id == "E803")
    assert found.evidence["limit"] == 100
