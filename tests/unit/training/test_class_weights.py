"""Classes weigh in the loss by how often they occur, or as somebody says."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.training.trained import PLAIN, create
from webnnm.core.errors import DataError
from webnnm.data.dataset import Dataset
from webnnm.runtime.testing.class_weights import class_weights
from webnnm.training.loss_choice import LabelFacts

np = pytest.importorskip("numpy")

ROWS = LabelFacts(kind="classes", classes=3, class_counts=(6, 3, 0))
SOFTMAX = "m:input shape=[2]; m:output shape=[2]; m:layers matmul(w), add(b), softmax();"
ONE = "m:input shape=[2]; m:output shape=[1]; m:layers matmul(w), add(b){};"


def rows() -> tuple[Any, Any]:
    draw = np.random.default_rng(0)
    x = draw.normal(size=(60, 2)).astype("float32")
    return x, (x[:, 0] > 1).astype("int32")


def test_balanced_weights_are_one_on_the_mean() -> None:
    found = class_weights("balanced", "CCE", (3,), ROWS)
    assert found == (0.75, 1.5, 1.0)
    assert (found[0] * 6 + found[1] * 3) / 9 == 1


def test_weights_are_given_by_number_or_name() -> None:
    assert class_weights({"2": 5.0}, "SCE", (3,), ROWS) == (1, 1, 5)
    assert class_weights({"b": 2.0, "0": 3.0}, "SCE", (3,), ROWS, ["a", "b", "c"]) == (3, 2, 1)


@pytest.mark.parametrize(
    ("wanted", "loss", "labels", "text"),
    [
        ("balanced", "FOL", ROWS, "weights of its own"),
        ("balanced", "MSE", LabelFacts(kind="continuous"), "has no classes"),
        ("balanced", "CCE", None, "has no classes"),
        ({"cat": 2.0}, "CCE", ROWS, 'no class "cat"'),
    ],
)
def test_what_has_no_weights(wanted: Any, loss: str, labels: LabelFacts | None, text: str) -> None:
    with pytest.raises(DataError, match=f"NNM704.*{text}"):
        class_weights(wanted, loss, (3,), labels)


@pytest.mark.parametrize("form", ["classes", "onehot", "yes", "signs"])
async def test_one_step_weighs_every_row_by_its_class(form: str) -> None:
    """A step of gradient descent on weighted rows is that on rows repeated as often."""
    x, y = rows()
    weights = {"0": 1.0, "1": 3.0}
    repeated = np.concatenate([x, x[y == 1], x[y == 1]]), np.concatenate([y, y[y == 1], y[y == 1]])
    ends: list[Any] = []
    for (a, b), weighted in (((x, y), weights), (repeated, None)):
        targets: Any = {
            "classes": b,
            "onehot": np.eye(2, dtype="float32")[b],
            "yes": b[:, None].astype("float32"),
            "signs": (2 * b[:, None] - 1).astype("float32"),
        }[form]
        ending = ", sigmoid()" if form == "yes" else ""
        text = ONE.format(ending) if form in ("yes", "signs") else SOFTMAX
        model = await create(text, Dataset(a, targets, split=(1, 0, 0)), seed=3)
        # Weighted rows are divided by the number of rows, repeated ones by that of the repeated.
        rate = 0.3 * (len(x) / len(repeated[0]) if weighted is None else 1) ** -1
        settings = {**PLAIN, "lr": rate, "epochs": 1, "batch_size": len(a)}
        await model.train(settings | ({"class_weight": weighted} if weighted else {}))
        ends.append(model.state.parameters.value("w1").values())
        model.close()
    assert list(ends[0]) == pytest.approx(list(ends[1]), rel=1e-4)


async def test_a_resumed_training_has_the_same_weights() -> None:
    x, y = rows()
    data = Dataset(x, y, split=(1, 0, 0))
    settings: dict[str, Any] = {"epochs": 6, "class_weight": "balanced", "progress": "off"}
    whole = await create(SOFTMAX, data)
    await whole.train(settings)
    begun = await create(SOFTMAX, data)
    await begun.train(settings, on_epoch=lambda record: record.epoch < 3)
    again = await type(begun).load(await begun.save(), dataset=data, backend="numpy", log=print)
    history = await again.train(resume=True, on_epoch=None)
    assert history.loss_settings["m"]["class_weights"][1] > 1
    assert again.state.parameters.value("w1").data == whole.state.parameters.value("w1").data
    for model in (whole, begun, again):
        model.close()


@pytest.mark.alike
async def test_rare_classes_are_found_more_often() -> None:
    x, y = rows()
    found: dict[str, float] = {}
    for weight in (None, "balanced"):
        model = await create(SOFTMAX, Dataset(x, y))
        await model.train(epochs=15, class_weight=weight)
        found[str(weight)] = (await model.test()).recall[1]
        model.close()
    assert found["balanced"] >= found["None"]


LABELS = "m:input shape=[3]; m:output shape=[3]; m:layers add(b){};"
SCORES = [[0.2, -1.0, 0.5], [1.5, 0.3, -0.7], [-0.4, 0.9, 0.1], [0.0, 0.6, -1.2]]
YES = [[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 1.0]]


@pytest.mark.parametrize("weights", [{"0": 2.0, "1": 5.0, "2": 0.5}, {"a": 2, "b": 5, "c": 0.5}])
async def test_weights_of_several_labels_are_those_of_yes(weights: Any) -> None:
    """binary_cross_entropy_with_logits(z, y, pos_weight=[2, 5, 0.5]) of PyTorch, its gradient."""
    data = Dataset(SCORES, YES, split=(1, 0, 0), labels=["a", "b", "c"])
    model = await create(LABELS.format(", sigmoid()"), data)
    settings = {**PLAIN, "lr": 1.0, "epochs": 1, "batch_size": 4, "class_weight": weights}
    history = await model.train(settings, progress="off")
    assert history.epochs[0].loss == pytest.approx(1.207803726, rel=1e-5)
    change = [-value for value in model.state.parameters.value("b1").values()]
    assert change == pytest.approx([-0.034475408, -0.143687040, -0.039894238], abs=1e-6)
    model.close()


async def test_balanced_labels_weigh_yes_as_much_as_no() -> None:
    data = Dataset(SCORES, YES, split=(1, 0, 0))
    model = await create(LABELS.format(", sigmoid()"), data)
    history = await model.train(epochs=1, class_weight="balanced", progress="off")
    assert history.loss_settings["m"]["class_weights"] == pytest.approx([1, 3, 1 / 3])
    model.close()


async def test_padded_positions_are_not_noes() -> None:
    rows = [[[0.5], [1.5]], [[2.5]]]
    yes = [[[1, 0], [1, 1]], [[0, 1]]]
    data = Dataset(rows, yes, split=(1, 0, 0), length=4)
    text = "m:input shape=[1] sequence=true; m:output shape=[2]; m:layers matmul(w), sigmoid();"
    model = await create(text, data)
    history = await model.train(epochs=1, class_weight="balanced", progress="off")
    assert history.loss_settings["m"]["class_weights"] == pytest.approx([0.5, 0.5])
    model.close()


@pytest.mark.alike
async def test_a_rare_label_is_found_more_often() -> None:
    draw = np.random.default_rng(1)
    x = draw.normal(size=(400, 3)).astype("float32")
    y = (x[:, :2] + draw.normal(0, 0.7, (400, 2)) > [0, 2]).astype("float32")
    text = "m:input shape=[3]; m:output shape=[2]; m:layers matmul(w), add(b), sigmoid();"
    found: dict[str, float] = {}
    for weight in (None, "balanced"):
        model = await create(text, Dataset(x, y))
        await model.train(epochs=30, class_weight=weight, progress="off")
        found[str(weight)] = (await model.test()).recall[1]
        model.close()
    assert found["balanced"] > found["None"] + 0.2
