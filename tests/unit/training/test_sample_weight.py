"""Rows count in the losses by their weights: the same numbers as of rows that are repeated."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.training.trained import PLAIN, create
from webnnm import cross_validate
from webnnm.core.errors import DataError
from webnnm.data.dataset import Dataset
from webnnm.data.streams.stream import StreamDataset
from webnnm.data.tables.table_dataset import TableDataset

np = pytest.importorskip("numpy")

ROWS = 24
TEXT = "m:input shape=[3]; m:output shape=[{}]; m:loss {}; m:layers matmul(w), add(b){};"
ONCE = {**PLAIN, "lr": 0.2, "epochs": 3, "progress": "off"}
LOSSES: dict[str, tuple[str, int, str]] = {
    "MSE": ("", 2, "quantities"),
    "MAE": ("", 2, "quantities"),
    "HUL": ("", 2, "quantities"),
    "BCE": (", sigmoid()", 2, "labels"),
    "CCE": (", softmax()", 3, "one-hot"),
    "SCE": (", softmax()", 3, "classes"),
    "KLD": (", softmax()", 3, "shares"),
    "FOL": (", softmax()", 3, "one-hot"),
    "HIL": ("", 1, "signs"),
}


def rows(form: str) -> tuple[Any, Any, Any]:
    """Return features, targets of a form, and whole weights from 0 to 3."""
    draw = np.random.default_rng(5)
    x = draw.normal(size=(ROWS, 3)).astype("float32")
    number = (x[:, 0] > 0).astype("int32") + (x[:, 1] > 0.5)
    targets: dict[str, Any] = {
        "quantities": draw.normal(size=(ROWS, 2)),
        "labels": draw.integers(0, 2, (ROWS, 2)),
        "one-hot": np.eye(3)[number],
        "classes": number.astype("int32"),
        "shares": draw.dirichlet([1, 1, 1], ROWS),
        "signs": np.sign(x[:, :1]),
    }
    y = targets[form]
    return x, y if form == "classes" else y.astype("float32"), draw.integers(0, 4, ROWS)


async def train(text: str, data: Dataset, **settings: Any) -> tuple[list[float], list[float]]:
    """Return the losses of all epochs and of the test, and all parameters."""
    model = await create(text, data, seed=3)
    history = await model.train({**ONCE, **settings})
    losses = [record.loss for record in history.epochs]
    losses.append((await model.test("training")).loss)
    found = [value for p in model.params() for value in np.ravel(p.value.tolist()).tolist()]
    model.close()
    return losses, found


async def same(text: str, one: Dataset, other: Dataset, **settings: Any) -> None:
    """Compare a training on a dataset, in one batch unless told, with that on another one."""
    found = [
        await train(text, data, **{"batch_size": data.size("training"), **settings})
        for data in (one, other)
    ]
    for mine, expected in zip(*found, strict=True):
        assert mine == pytest.approx(expected, rel=2e-4, abs=2e-5)


@pytest.mark.parametrize("loss", LOSSES)
async def test_weights_are_repetitions(loss: str) -> None:
    ending, width, form = LOSSES[loss]
    x, y, weights = rows(form)
    again = np.repeat(np.arange(ROWS), weights.astype(np.intp))
    numbers = "; m:delta 0.5" if loss == "HUL" else "; m:alpha 0.4" if loss == "FOL" else ""
    text = TEXT.format(width, f"{loss}{numbers}", ending)
    weighted = Dataset(x, y, split=(1, 0, 0), method="sequential", sample_weight=weights)
    repeated = Dataset(x[again], y[again], split=(1, 0, 0), method="sequential")
    await same(text, weighted, repeated)


@pytest.mark.alike
async def test_only_proportions_count() -> None:
    x, y, weights = rows("classes")
    text = TEXT.format(3, "SCE", ", softmax()")
    made = [
        Dataset(x, y, split=(1, 0, 0), seed=1, sample_weight=factor * weights)
        for factor in (1, 0.001)
    ]
    await same(text, *made, batch_size=5)
    alike = [Dataset(x, y, split=(1, 0, 0), sample_weight=w) for w in (np.full(ROWS, 2.5), None)]
    await same(text, *alike, batch_size=7)


async def test_batches_add_up_to_the_weighted_mean() -> None:
    """A step of accumulated batches, the last one short, is that of one batch of all rows."""
    x, y, weights = rows("classes")
    text = TEXT.format(3, "SCE", ", softmax()")
    data = Dataset(x, y, split=(1, 0, 0), method="sequential", sample_weight=weights)
    whole, _ = await train(text, data, batch_size=ROWS)
    parts, _ = await train(text, data, batch_size=7, accumulate=4)
    assert parts == pytest.approx(whole, rel=1e-4)


@pytest.mark.parametrize("of", ["positions", "rows"])
async def test_padded_positions_do_not_count(of: str) -> None:
    draw = np.random.default_rng(6)
    lengths, weights = [2, 5, 3, 1, 4, 5], [1, 0, 3, 2, 1, 2]
    x = [draw.normal(size=(n, 2)).astype("float32") for n in lengths]
    every = [row[:, 0] > 0 for row in x]
    y: Any = [row.astype("int32") for row in every] if of == "positions" else None
    layers = "matmul(w), add(b)" + ("" if of == "positions" else ", reduceMean(axes=[sequence])")
    if y is None:
        y = np.array([row.mean() > 0.5 for row in every], "int32")
    text = f"m:input shape=[2] sequence=true; m:output shape=[2]; m:layers {layers}, softmax();"
    order = np.repeat(np.arange(6), weights)
    options: dict[str, Any] = {"split": (1, 0, 0), "method": "sequential", "length": 5}
    labels = [y[k] for k in order] if of == "positions" else y[order]
    repeated = Dataset([x[k] for k in order], labels, **options)
    await same(text, Dataset(x, y, **options, sample_weight=weights), repeated)


@pytest.mark.alike
async def test_weights_of_classes_are_multiplied_in() -> None:
    x, y, weights = rows("classes")
    text = TEXT.format(3, "SCE", ", softmax()")
    options: dict[str, Any] = {"split": (1, 0, 0), "method": "sequential"}
    both = Dataset(x, y, sample_weight=weights, **options)
    again = np.repeat(np.arange(ROWS), weights.astype(np.intp))
    repeated = Dataset(x[again], y[again], **options)
    await same(text, both, repeated, class_weight={"1": 2.5})


async def test_validation_and_tests_count_them() -> None:
    x, y, weights = rows("classes")
    weights = weights + 1
    text = TEXT.format(3, "SCE", ", softmax()")
    split = [list(range(12)), list(range(12, 18)), list(range(18, 24))]
    again = np.repeat(np.arange(ROWS), weights.astype(np.intp))
    parts = [[k for k, row in enumerate(again) if row in part] for part in split]
    losses: list[list[Any]] = []
    for data in (
        Dataset(x, y, split=split, sample_weight=weights),
        Dataset(x[again], y[again], split=parts),
    ):
        model = await create(text, data, seed=3)
        history = await model.train({**ONCE, "batch_size": data.size("training")})
        losses.append([record.val_loss for record in history.epochs])
        losses[-1] += [(await model.test(part)).loss for part in ("validation", "testing")]
        model.close()
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)


@pytest.mark.alike
async def test_folds_have_the_weights_of_their_rows() -> None:
    x, y, weights = rows("classes")
    text = TEXT.format(3, "SCE", ", softmax()")
    data = Dataset(x, y, split=(1, 0, 0), sample_weight=weights + 1)
    model = await create(text, data, seed=3)
    folds = await cross_validate(model, 3, **ONCE)
    for number, fold in enumerate(data.folds(3, seed=3)):
        alone = await create(text, fold, seed=3)
        await alone.train(ONCE)
        expected = (await alone.test()).loss
        assert folds.results[number].loss == pytest.approx(expected, rel=1e-5)
        alone.close()
    model.close()


async def test_losses_of_pytorch() -> None:
    """(cross_entropy(z, y, reduction="none") * w).sum() / w.sum(), and its gradient."""
    z = [[0.2, -1.0, 0.5], [1.5, 0.3, -0.7], [-0.4, 0.9, 0.1], [0.0, 0.6, -1.2]]
    text = "m:input shape=[3]; m:output shape=[3]; m:layers add(b), softmax();"
    weights = [1.0, 0.5, 3.0, 0.25]
    data = Dataset(z, [2, 0, 1, 0], split=(1, 0, 0), sample_weight=weights)
    settings = {**PLAIN, "lr": 1.0, "epochs": 1, "batch_size": 4, "progress": "off"}
    model = await create(text, data)
    history = await model.train(settings)
    assert history.epochs[0].loss == pytest.approx(0.581557810, rel=1e-5)
    change = [-value for value in model.state.parameters.value("b1").values()]
    assert change == pytest.approx([0.112882651, -0.187701523, 0.074818866], abs=1e-6)
    model.close()


@pytest.mark.parametrize("items", ["rows", "blocks"])
async def test_rows_of_streams_bring_their_weights(items: Any) -> None:
    """With weights whose mean is 1, a stream is what the dataset of the same rows is."""
    x, y, weights = rows("classes")
    weights = weights / weights.mean()
    text = TEXT.format(3, "SCE", ", softmax()")

    def source(subset: str, epoch: int) -> Any:
        if items == "rows":
            yield from zip(x, y.tolist(), weights.tolist(), strict=True)
        else:
            yield from ((x[k : k + 5], y[k : k + 5], weights[k : k + 5]) for k in range(0, ROWS, 5))

    options: dict[str, Any] = {"rows": {"training": ROWS}, "labels": ["a", "b", "c"]}
    stream: Any = await StreamDataset.create(source, items=items, **options)
    assert stream.weighted
    data = Dataset(x, y, split=(1, 0, 0), method="sequential", sample_weight=weights)
    await same(text, stream, data, batch_size=7)
    constant = np.ones(ROWS, "float32")
    plain = Dataset(x, y, split=(1, 0, 0), method="sequential", sample_weight=constant)
    assert (await train(text, plain))[0] != (await train(text, stream))[0]


async def test_tables_have_a_column_of_weights() -> None:
    table = {
        "width": [1.0, 2.0, 3.0, None],
        "trust": [1, 0.5, 2, 9],
        "kind": ["a", "b", "a", "b"],
    }
    options: dict[str, Any] = {"label": "kind", "missing": "drop", "split": (1, 0, 0)}
    data = TableDataset(table, sample_weight="trust", **options)
    assert data.inputs["model"].features == ("width",)
    assert data.sample_weight is not None and data.sample_weight.tolist() == [1, 0.5, 2]
    made = TableDataset(table, sample_weight=lambda row: 2 * row["trust"], **options)
    assert made.sample_weight is not None and made.sample_weight.tolist() == [2, 1, 4]
    given = TableDataset(table, sample_weight=[4, 3, 2, 1], **options)
    assert given.sample_weight is not None and given.sample_weight.tolist() == [4, 3, 2]
    assert given.inputs["model"].features == ("width", "trust")
    with pytest.raises(DataError, match='NNM710: no column "trest"'):
        TableDataset(table, sample_weight="trest", **options)
    empty = {**table, "trust": [1, None, 2, 9]}
    with pytest.raises(DataError, match="NNM713: sample_weight: row 1, column trust is empty"):
        TableDataset(empty, sample_weight="trust", **options)


@pytest.mark.parametrize(
    ("weights", "text"),
    [
        ([1, 2], r"NNM702: sample_weight has the shape \[2\], but there are 3 rows"),
        ([[1, 2, 3]], r"NNM702: sample_weight has the shape \[1, 3\], but there are 3 rows"),
        ([1, -1, 1], "NNM704: sample_weight: row 1 has -1"),
        ([0, 0, 5], "NNM704: sample_weight is 0 for all 2 training rows"),
        ([1, float("nan"), 1], "NNM707: sample_weight: row 1"),
        ("trust", "NNM702: sample_weight: "),
    ],
)
def test_what_is_not_a_weight(weights: Any, text: str) -> None:
    with pytest.raises(DataError, match=text):
        Dataset([[1.0], [2.0], [3.0]], [1.5, 2.5, 3.5], split=(2, 0, 1), sample_weight=weights)


async def test_a_subset_of_weight_zero_has_no_loss() -> None:
    data = Dataset(
        [[1.0], [2.0], [3.0]], [1.5, 2.5, 3.5], split=[[0, 1], [], [2]], sample_weight=[1, 1, 0]
    )
    text = "m:input shape=[1]; m:output shape=[1]; m:layers matmul(w);"
    model = await create(text, data)
    with pytest.raises(DataError, match='NNM704: sample_weight is 0 for all rows of subset "test'):
        await model.test()
    with pytest.raises(DataError, match=r"NNM703.*\n?.*Dataset\(…, sample_weight=") as caught:
        await model.train(sample_weight=[1, 2, 3])
    assert "sample_weight" in str(caught.value)
    model.close()
