"""What a test says beside its scores: whether simple models do as well on the same rows."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from tests.unit.training.trained import create
from webnnm import Dataset, StreamDataset, xp
from webnnm.core.arrays import HostArray
from webnnm.data.field import Field
from webnnm.evaluation.simple_models import CONSTANT, LINEAR, NEIGHBOURS

np = pytest.importorskip("numpy")

TEXT = "m:input {} shape=[{}]; m:output shape=[{}]; m:layers {}matmul(w), add(b){};"


def text(inputs: Any = 2, outputs: int = 1, end: str = "", kind: str = "", begin: str = "") -> str:
    return TEXT.format(kind, inputs, outputs, begin, end)


def normal(rows: int, columns: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=(rows, columns)).astype("float32")


async def compare(source: str, data: Any, subset: str = "testing") -> Any:
    """Return the baselines of the one output of an untrained model, None if there are none."""
    model = await create(source, data)
    return (await model.test(subset)).baselines.get("m")


@pytest.mark.parametrize(
    ("end", "targets"),
    [
        (", softmax()", lambda z: (z > 0).astype("int32")),
        (", softmax()", lambda z: np.eye(2, dtype="float32")[(z > 0).astype(int)]),
        ("; m:loss SCE", lambda z: (z > 0).astype("int32")),
        ("; m:loss CCEL", lambda z: np.eye(2, dtype="float32")[(z > 0).astype(int)]),
        ("; m:loss HIL", lambda z: np.eye(2, dtype="float32")[(z > 0).astype(int)]),
    ],
    ids=["numbers", "one-hot", "logits of numbers", "logits of one-hot", "hinge"],
)
async def test_classes_in_all_their_forms(end: str, targets: Any) -> None:
    rows = normal(300, 2)
    found = await compare(text(outputs=2, end=end), Dataset(rows, targets(rows[:, 0])))
    assert found.simple[LINEAR]["accuracy"] > 0.9
    assert found.simple[NEIGHBOURS]["accuracy"] > 0.9
    assert found.simple[CONSTANT]["accuracy"] < 0.7
    assert (found.rows, found.fitted, found.training) == (90, 210, 210)


@pytest.mark.parametrize("end", [", sigmoid()", "; m:loss BCEL"])
@pytest.mark.parametrize("labels", [1, 3])
async def test_yes_and_no(end: str, labels: int) -> None:
    rows = normal(300, 4)
    data = Dataset(rows, (rows[:, :labels] > 0).astype("float32"))
    found = await compare(text(4, labels, end), data)
    assert found.simple[LINEAR]["accuracy"] > 0.9


@pytest.mark.parametrize("options", [{}, {"standardize_targets": True}])
@pytest.mark.parametrize(
    ("loss", "score"), [("MSE", "R²"), ("MAE", "MAE"), ("QUL", "pinball loss")]
)
async def test_quantities_in_the_units_of_the_data(
    options: dict[str, Any], loss: str, score: str
) -> None:
    rows = normal(200, 2)
    targets = 500 + 100 * rows[:, :1] + 5 * normal(200, 1, 1)
    settings = "; m:alpha 0.9" * (loss == "QUL")
    found = await compare(text(end=f"; m:loss {loss}{settings}"), Dataset(rows, targets, **options))
    value = found.simple[LINEAR][score]
    assert 0.99 < value < 1 if score == "R²" else 0.1 < value < 10
    assert found.score == score


async def test_words_are_a_bag() -> None:
    draw = Random(1)
    rows = [[draw.randrange(50) for _ in range(8)] for _ in range(400)]
    labels = [int(min(row) < 5) for row in rows]
    begin = "embedding(t, size=50, shape=[8, 4]), reduceMean(axes=[0]), "
    source = text(8, 2, ", softmax()", "int32", begin)
    found = await compare(source, Dataset(HostArray.of(rows, "int32"), labels))
    assert found.simple[LINEAR]["accuracy"] > found.simple[CONSTANT]["accuracy"] + 0.15


async def test_rows_of_unequal_length_count_without_their_padding() -> None:
    draw = Random(2)
    rows = [[[draw.gauss(0, 1)] for _ in range(draw.randint(2, 9))] for _ in range(300)]
    targets = [[sum(x for (x,) in row) / len(row)] for row in rows]
    source = "m:input shape=[1] sequence=true; m:output shape=[1]; "
    source += "m:layers gru(w, r, hiddenSize=2), matmul(v);"
    found = await compare(source, Dataset(rows, targets, length="max"))
    assert found.simple[LINEAR]["R²"] > 0.95


async def test_many_rows_and_pixels_are_sampled() -> None:
    rows = normal(3000, 400)
    data = Dataset(rows, (rows[:, :40].sum(1) > 0).astype("int32"), split=(0.8, 0, 0.2))
    found = await compare(text(400, 2, ", softmax()"), data)
    assert (found.rows, found.fitted, found.training) == (500, 2000, 2400)
    assert found.simple[LINEAR]["accuracy"] > 0.6


async def test_a_trained_network_is_compared_after_its_training_and_in_its_test() -> None:
    rows = normal(300, 2)
    model = await create(text(outputs=2, end=", softmax()"), Dataset(rows, rows[:, 0] > 0))
    history = await model.train(epochs=30)
    result = await model.test()
    assert "beyond chance: accuracy" in str(result)
    assert history.outcome is not None
    measured = history.outcome["baselines"]["m"]
    assert measured["simple"] == result.to_dict()["baselines"]["m"]["simple"]
    assert not (await model.test(baselines=False)).baselines
    assert not (await model.test("training")).baselines


def rows_and_targets() -> tuple[Any, Any]:
    rows = normal(100, 4)
    return rows, rows[:, :1]


@pytest.mark.parametrize(
    ("source", "make"),
    [
        (text(4, 4), lambda: Dataset(normal(100, 4), normal(100, 4))),
        (text(4), lambda: Dataset(*rows_and_targets(), split=(10, 0, 90))),
        (text(4), lambda: Dataset(*rows_and_targets(), split=(0, 0, 1))),
        (text(4), lambda: Dataset(*rows_and_targets(), sample_weight=[1.0, 2.0] * 50)),
        (text(4, 100), lambda: Dataset(normal(100, 4), normal(100, 100, 1))),
    ],
    ids=["reproduction", "few rows", "no training rows", "weights", "wide outputs"],
)
async def test_where_it_makes_no_sense_nothing_is_said(source: str, make: Any) -> None:
    assert await compare(source, make()) is None


async def test_a_network_that_has_diverged_is_compared_with_nothing() -> None:
    model = await create(text(4), Dataset(*rows_and_targets()))
    await model.load_params({"w1": [[3e38]] * 4, "b1": [3e38]})
    assert not (await model.test()).baselines


async def test_a_loss_of_the_user_is_not_judged_by_another_one() -> None:
    model = await create(text(4), Dataset(*rows_and_targets()))

    def loss(outputs: Any, targets: Any) -> Any:
        return xp.mean((outputs - targets) ** 4, axis=-1)

    await model.train(epochs=2, loss=loss)
    assert not (await model.test()).baselines


async def test_a_stream_has_no_training_rows_in_memory() -> None:
    async def source(subset: str, epoch: int) -> Any:
        for row, target in zip(*rows_and_targets(), strict=True):
            yield {"x": row}, {"y": target}

    stream = StreamDataset(
        source,
        rows={"training": 100, "testing": 100},
        inputs={"x": Field((4,), "float32")},
        outputs={"y": Field((1,), "float32")},
    )
    assert await compare(text(4), stream) is None
