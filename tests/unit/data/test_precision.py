"""Numbers keep float64 until they are standardised; what float32 loses is a finding."""

from __future__ import annotations

from array import array
from typing import Any

import pytest

from webnnm import Dataset, NNModel, TableDataset, review
from webnnm.data.tables.encoding import NumberEncoder

ALL: dict[str, Any] = {"split": (1, 0, 0)}
MINUTES = [1.7e9 + 60 * k for k in range(200)]
NEAR = [1e7 + k / 50 for k in range(-50, 50)]
STEPS = [k / 3 for k in range(200)]
SOURCE = "m:input shape=[1]; m:output shape=[]; m:layers matmul(w, shape=[1]), " + (
    "reduceSum(axes=[-1]);"
)


def distinct(dataset: Dataset, side: int) -> int:
    return len({*dataset.arrays("full")[side]["model"].values()})


@pytest.mark.parametrize(
    "given",
    [[[t] for t in MINUTES], memoryview(array("d", MINUTES).tobytes()).cast("d", (200, 1))],
    ids=["lists", "float64"],
)
def test_inputs_keep_their_digits_until_they_are_scaled(given: Any) -> None:
    assert distinct(Dataset(given, STEPS, standardize=True, **ALL), 0) == 200
    assert distinct(Dataset(given, STEPS, standardize=["model"], scale="minmax", **ALL), 0) == 200
    assert distinct(Dataset(given, STEPS, **ALL), 0) == 94


def test_targets_and_tables_keep_their_digits() -> None:
    x = [[k / 100] for k in range(100)]
    assert distinct(Dataset(x, NEAR, standardize_targets=True, **ALL), 1) == 100
    assert distinct(Dataset(x, NEAR, **ALL), 1) == 3
    whole = [10**9 + k for k in range(100)]
    assert distinct(Dataset(x, whole, standardize_targets=True, **ALL), 1) == 100
    rows = {"t": MINUTES[:100], "y": NEAR}
    table = TableDataset(rows, standardize=True, standardize_targets=True, **ALL)
    assert (distinct(table, 0), distinct(table, 1)) == (100, 100)
    gaps = {"t": [None, *MINUTES[1:100]], "y": NEAR}
    table = TableDataset(gaps, standardize=True, missing="mean", **ALL)
    assert distinct(table, 0) >= 99  # the mean may be one of the others


def test_sequences_keep_their_digits() -> None:
    rows = [[[t], [t + 60]] for t in MINUTES[:100:2]] + [[[MINUTES[100]]]]
    data = Dataset(rows, STEPS[:51], length="max", standardize=True, **ALL)
    assert distinct(data, 0) in (101, 102)  # and the padding


def lost(dataset: Dataset) -> str:
    """Return what a review says of values that float32 loses, "" for nothing."""
    findings = review(SOURCE, dataset).findings
    return " ".join(finding.message for finding in findings if finding.id == "E625")


def test_what_float32_loses_is_a_finding() -> None:
    inputs = [[t] for t in MINUTES]
    told = lost(Dataset(inputs, STEPS))
    assert "column 0: numbers around 1.7e+09 have steps of 128" in told
    assert "94 of 200 values" in told
    assert not lost(Dataset(inputs, STEPS, standardize=True))
    target = lost(Dataset([[k / 9] for k in range(100)], NEAR))
    assert "the target: numbers" in target and "3 of 100 values" in target


def test_whole_numbers_are_warned_of_only_if_they_lose_values() -> None:
    np = pytest.importorskip("numpy")
    times = np.array(MINUTES, "int64")[:, None]
    assert distinct(Dataset(times, STEPS, standardize=True, **ALL), 0) == 200
    assert not lost(Dataset(times, STEPS, standardize=True))
    assert lost(Dataset(times, STEPS))


async def test_predictions_keep_the_digits_of_inputs_and_results() -> None:
    pytest.importorskip("numpy")
    data = Dataset([[t] for t in MINUTES[:100]], NEAR, standardize=True, standardize_targets=True)
    quiet: dict[str, Any] = {"backend": "numpy", "log": lambda _: None}
    async with await NNModel.create(source=SOURCE, dataset=data, **quiet) as model:
        found = await model.predict([[MINUTES[50]], [MINUTES[51]]])
    assert found[0] != found[1]


# Standardisation of tables.


def test_only_columns_of_numbers_are_scaled() -> None:
    rows = {
        "width": [10.0, 20.0, 30.0, 40.0],
        "flag": [0, 1, 1, 0],
        "known": [True, False, True, True],
        "kind": ["a", "b", "a", "b"],
        "y": [1.5, 2.5, 3.5, 4.5],
    }
    data = TableDataset(rows, standardize=True, **ALL)
    columns = list(zip(*data.arrays("full")[0]["model"].tolist(), strict=True))
    assert columns[0] == pytest.approx([-1.34164, -0.44721, 0.44721, 1.34164], abs=1e-5)
    assert columns[1:] == [(0, 1, 1, 0), (1, 0, 1, 1), (1, 0, 1, 0), (0, 1, 0, 1)]
    chosen = TableDataset(rows, standardize=["flag"], **ALL)
    assert chosen.arrays("full")[0]["model"].tolist()[0][:2] == [10, -1]
    # A column may have the name that the only input has.
    named = {"model": [1.0, 3.0], "n": [5.0, 7.0], "y": [1.5, 2.5]}
    data = TableDataset(named, standardize=["model"], **ALL)
    assert data.arrays("full")[0]["model"].tolist() == [[-1, 5], [1, 7]]


async def test_the_initial_loss_is_in_the_units_of_the_epochs() -> None:
    pytest.importorskip("numpy")
    said: list[str] = []
    x = [[k / 10] for k in range(-20, 20)]
    data = Dataset(x, [300 * row[0] for row in x], split=(1, 0, 0), batch_size=40)
    async with await NNModel.create(
        source=SOURCE, dataset=data, backend="numpy", log=said.append
    ) as model:
        history = await model.train(epochs=2, lr=1e-6, optimizer="adam", progress="off")
    (line,) = [line for line in said if line.startswith("initial loss")]
    assert float(line.split()[2].rstrip(",")) == pytest.approx(history.epochs[0].loss, rel=1e-3)


def test_rows_as_dicts_are_a_table() -> None:
    rows = [{"width": 1.5, "kind": "a"}, {"width": 2.5, "kind": "b"}]
    data = TableDataset(rows, **ALL)
    assert isinstance(data.encoders[0], NumberEncoder)
    assert (data.inputs["model"].features, data.labels()) == (("width",), ["a", "b"])
