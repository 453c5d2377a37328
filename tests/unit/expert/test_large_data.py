"""Faults planted in data of which a sample is examined are reported as in all of the data."""

from __future__ import annotations

import math
from array import array
from random import Random

import pytest

from webnnm import Dataset, review
from webnnm.core.arrays import HostArray
from webnnm.core.finding import Finding
from webnnm.data.preparation.row_sample import MIN_ROWS, count_examined_rows, sample_rows

ROWS, WIDTH = 900, 1600
SOURCE = f"m:input shape=[{WIDTH}]; m:output shape=[2]; m:layers matmul(w), softmax();"
DRAW = Random(1)
NORMAL = [DRAW.gauss(0, 1) for _ in range(6_007)]


def numbers() -> list[array[float]]:
    """Return rows of numbers that are different everywhere."""
    pool = array("f", NORMAL + NORMAL)
    return [pool[start : start + WIDTH] for start in range(0, 11 * ROWS, 11)]


def dataset(
    rows: list[array[float]], *, seed: int = 0, classes: list[int] | None = None
) -> Dataset:
    values = HostArray("float32", (ROWS, WIDTH), b"".join(row.tobytes() for row in rows))
    labels = HostArray.of(classes or [row * 7 % 10 < 5 for row in range(ROWS)], "int32")
    return Dataset(values, labels, seed=seed, kinds={"model": "classes"})


def findings(data: Dataset) -> dict[str, Finding]:
    return {finding.id: finding for finding in review(SOURCE, data).findings}


def test_the_examined_rows_are_said_and_depend_on_the_seed_alone() -> None:
    data = dataset(numbers())
    assert count_examined_rows(data) == MIN_ROWS
    assert review(SOURCE, data).examined == f"examined {MIN_ROWS} of {ROWS} rows, drawn by seed 0"
    assert sample_rows(data) == sample_rows(dataset(numbers()))
    assert sample_rows(data) != sample_rows(dataset(numbers(), seed=1))
    assert review(SOURCE, data).to_dict() == review(SOURCE, data).to_dict()


def test_data_without_faults_have_no_findings() -> None:
    assert not [id for id in findings(dataset(numbers())) if "E600" <= id < "E700"]


def test_a_column_is_constant_only_if_no_training_row_differs() -> None:
    rows = numbers()
    for row in rows:
        row[3], row[1599] = 2.5, -0.0
    rows[0][1599] = 0.0
    data = dataset(rows)
    assert "2 of 1600 features" in findings(data)["E604"].message
    rows[data.rows("training")[-1]][3] = 2.75
    rows[data.rows("testing")[0]][1599] = 1.0  # a testing row: training has nothing to learn from
    assert (
        "1 of 1600 features of m are constant: 1599 (0)" in findings(dataset(rows))["E604"].message
    )
    rows[data.rows("training")[0]][1599] = 1.0
    assert "E604" not in findings(dataset(rows))


def test_every_copied_row_counts() -> None:
    rows = numbers()
    data = dataset(rows)
    trained, tested = data.rows("training"), data.rows("testing")
    classes = [row * 7 % 10 < 5 for row in range(ROWS)]
    for copy, original in zip(tested[:30], trained, strict=False):
        rows[copy], classes[copy] = rows[original], classes[original]
    copied = Dataset(
        HostArray("float32", (ROWS, WIDTH), b"".join(row.tobytes() for row in rows)),
        HostArray.of(classes, "int32"),
        split=(trained, [], tested),
        kinds={"model": "classes"},
    )
    finding = findings(copied)["E606"]
    assert finding.evidence["share"] == pytest.approx(30 / len(tested))


def test_equal_rows_of_two_classes_are_found_wherever_they_are() -> None:
    rows = numbers()
    for row in range(0, 40, 2):
        rows[row + 1] = rows[row]
    classes = [row % 2 for row in range(ROWS)]
    finding = findings(dataset(rows, classes=classes))["E621"]
    assert finding.evidence["share"] == pytest.approx(40 / ROWS)


def test_a_column_in_other_units_stands_out() -> None:
    rows = numbers()
    for row in rows:
        row[70] *= 1000
    assert (
        "1 of 1600 features of m are far from 0 ± 1: 70" in findings(dataset(rows))["E603"].message
    )


def test_statistics_of_the_whole_dataset_show_in_a_few_columns() -> None:
    rows = numbers()
    for column in range(WIDTH):
        values = [row[column] for row in rows]
        mean = math.fsum(values) / ROWS
        std = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / ROWS)
        for row in rows:
            row[column] = (row[column] - mean) / std
    assert "E612" in findings(dataset(rows))
    assert "E612" not in findings(dataset(numbers()))


@pytest.mark.parametrize("seed", [0, 1])
def test_cells_far_from_all_others_are_looked_for_in_the_rows_that_the_seed_draws(
    seed: int,
) -> None:
    source = "m:input shape=[2]; m:output shape=[2]; m:layers matmul(w), softmax();"
    rows = [[NORMAL[row], NORMAL[row + 7]] for row in range(6_000)]
    labels = [row * 7 % 10 < 5 for row in range(6_000)]
    drawn = sample_rows(Dataset(rows, labels, seed=seed))["full"]
    for row in drawn[100:103]:
        rows[row][0] = 1e6
    found = {f.id: f for f in review(source, Dataset(rows, labels, seed=seed)).findings}
    assert "3 cells of column 0 are 1,000,000" in found["E614"].message
