"""Rows of different lengths: padding, masks, figures of what counts, labels per position."""

from __future__ import annotations

from array import array
from typing import Any

import pytest

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.data import Dataset
from webnnm.data.series.sequences import Sequences, is_ragged

ALL = {"split": (1, 0, 0)}
WORDS = [[3, 1, 2], [5], [4, 4]]


def words(length: Any = "max", rows: Any = WORDS, **options: Any) -> Dataset:
    return Dataset({"x": rows}, {"y": [0.5, 1.5, 2.5]}, length=length, **ALL | options)


def test_rows_are_padded_at_the_end_with_zeros() -> None:
    data = words()
    inputs, _ = data.arrays("training")
    assert inputs["x"].tolist() == [[3, 1, 2], [5, 0, 0], [4, 4, 0]]
    assert (data.inputs["x"].shape, data.inputs["x"].sequence) == ((3,), "sequence")
    assert data.lengths("training") == {"x": [3, 1, 2]}
    mask = data.masks("training")["x"]
    assert (mask.dtype, mask.tolist()) == ("float32", [[1, 1, 1], [1, 0, 0], [1, 1, 0]])


@pytest.mark.parametrize(
    ("length", "longest", "size"),
    [
        ("max", 3, 3),
        ("bucket", 3, 4),
        ("bucket", 4, 4),
        ("bucket", 5, 8),
        ("bucket", 1, 1),
        (6, 3, 6),
    ],
)
def test_the_length_of_padded_rows(length: Any, longest: int, size: int) -> None:
    data = Dataset([[1.5] * longest, [2.5]], [0.5, 1.5], length=length, **ALL)
    assert data.inputs["model"].shape == (size,)


def test_positions_may_have_a_shape_and_names() -> None:
    rows = [[[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]]]
    data = Dataset(rows, [0.5, 1.5], length="max", names={"model": ("frame", "level")}, **ALL)
    assert data.inputs["model"].sequence == "frame"
    assert data.arrays("training")[0]["model"].tolist() == [[[1, 2], [0, 0]], [[3, 4], [5, 6]]]


def test_equal_lengths_need_no_mask() -> None:
    data = words(rows=[[1, 2], [3, 4], [5, 6]])
    assert (data.masks("training"), data.lengths("training")) == ({}, {})
    assert data.inputs["x"].sequence == "sequence"
    wide = words("bucket", [[1, 2, 3]] * 3)
    assert wide.lengths("training") == {"x": [3, 3, 3]}
    assert wide.arrays("training")[0]["x"].tolist()[0] == [1, 2, 3, 0]


def test_subsets_batches_and_samples_keep_lengths_with_their_rows() -> None:
    data = words(split=([2, 0], [], [1]), batch_size=3)
    assert data.lengths("training") == {"x": [2, 3]}
    assert data.masks("testing")["x"].tolist() == [[1, 0, 0]]
    batch = next(data.batches("training", shuffle=False))
    assert batch.inputs["x"].tolist() == [[4, 4, 0], [3, 1, 2], [0, 0, 0]]
    assert batch.masks["x"].tolist() == [[1, 1, 0], [1, 1, 1], [0, 0, 0]]
    assert batch.lengths == {"x": [2, 3, 0]}
    shuffled = next(data.batches("training", epoch=1))
    found = [sum(row) for row in shuffled.masks["x"].tolist()]
    assert found[:2] == [len(WORDS[row]) for row in shuffled.indices]
    assert data.sample(1)[0]["x"].tolist() == [5, 0, 0]
    renamed = data.map(to_model={"x": "text"})
    assert renamed.lengths("training") == {"text": [2, 3]}


def test_standardising_counts_valid_positions_only() -> None:
    rows = [[[1.0, 10.0], [3.0, 10.0]], [[5.0, 40.0]]]
    data = Dataset(rows, [0.5, 1.5], length="max", standardize=True, **ALL)
    fitted = data.standardization["model"]
    assert fitted.mean == (3.0, 20.0)
    assert fitted.std[0] == pytest.approx((8 / 3) ** 0.5)
    values = data.arrays("training")[0]["model"].tolist()
    assert values[1][1] == [0, 0], "padding stays zero"
    assert values[1][0][0] == pytest.approx(2 / (8 / 3) ** 0.5)
    assert data.lengths("training") == {"model": [2, 1]}
    figures = data.statistics("training").inputs["model"]
    assert figures.mean == pytest.approx((0, 0), abs=1e-6)
    assert len(figures.std) == 2


def test_labels_per_position() -> None:
    data = Dataset({"x": WORDS}, {"y": [[0, 2, 1], [1], [2, 0]]}, length="max", **ALL)
    field = data.outputs["y"]
    assert (field.kind, field.classes, field.dtype) == ("classes", 3, "int32")
    assert (field.shape, field.sequence) == ((3,), "sequence")
    _, outputs = data.arrays("training")
    assert outputs["y"].tolist() == [[0, 2, 1], [1, -1, -1], [2, 0, -1]]
    assert data.lengths("training") == {"x": [3, 1, 2], "y": [3, 1, 2]}
    assert data.statistics().outputs["y"].class_counts == (2, 2, 2)


def test_other_outputs_per_position_are_masked() -> None:
    data = Dataset({"x": WORDS}, {"y": [[0.5, 1.5, 2.5], [3.5], [4.5, 5.5]]}, length="max", **ALL)
    assert data.arrays("training")[1]["y"].tolist()[1] == [3.5, 0, 0]
    assert data.masks("training")["y"].tolist()[1] == [1, 0, 0]
    rows = [[[0, 1], [1, 0]], [[0, 1]]]
    one_hot = Dataset({"x": WORDS[1:]}, {"y": rows}, length="max", **ALL)
    assert (one_hot.outputs["y"].kind, one_hot.outputs["y"].classes) == ("onehot", 2)
    assert one_hot.arrays("training")[1]["y"].tolist() == [[[0, 1], [1, 0]], [[0, 1], [0, 0]]]


def test_lengths_by_block() -> None:
    data = Dataset(
        {"words": WORDS, "frames": [[1.5] * 5] * 3, "size": [1.5, 2.5, 3.5]},
        {"y": [[0.5, 1.5]] * 3},
        length={"words": "max", "frames": "bucket", "y": 4},
        **ALL,
    )
    shapes = {block: field.shape for block, field in (data.inputs | data.outputs).items()}
    assert shapes == {"words": (3,), "frames": (8,), "size": (), "y": (4,)}
    assert data.inputs["size"].sequence is False
    assert set(data.masks("training")) == {"words", "frames", "y"}


@pytest.mark.parametrize("wrap", [list, tuple, lambda row: array("f", row), HostArray.of])
def test_rows_are_arrays_of_any_kind(wrap: Any) -> None:
    rows = [wrap(row) for row in WORDS]
    assert is_ragged(rows)
    assert words(rows=rows).arrays("training")[0]["x"].tolist()[2] == [4, 4, 0]


def test_numpy_rows() -> None:
    np = pytest.importorskip("numpy")
    rows = [np.array(row, dtype="int32") for row in WORDS]
    objects = np.array([*rows, None], dtype=object)[:3]
    for given in (rows, objects):
        found = words(rows=given).arrays("training")[0]["x"]
        assert (found.dtype, found.tolist()[1]) == ("int32", [5, 0, 0])


def fails(code: str, text: str, rows: Any, length: Any = "max", outputs: Any = None) -> None:
    with pytest.raises(DataError, match=text) as caught:
        Dataset(
            {"x": rows}, {"y": outputs or [0.5 * n for n in range(len(rows))]}, length=length, **ALL
        )
    assert caught.value.code == code


def test_what_makes_no_sequences() -> None:
    fails("NNM711", 'input "x": row 0 has 3 positions, length is 2', WORDS, 2)
    fails("NNM704", 'input "x": length is 1000', WORDS, 10**30)
    fails("NNM711", "row 1 has no positions", [[1], [], [1, 2]])
    fails("NNM704", "length is 'longest'", WORDS, "longest")
    fails("NNM704", "length is 0", WORDS, 0)
    fails("NNM702", "no positions", [1.5, 2.5])
    fails("NNM702", "row 1 has positions of \\[3\\]", [[[1, 2]], [[1, 2, 3], [4, 5, 6]]])
    fails("NNM702", "row 1 has a single number", [[1, 2], 3, [1]])
    fails("NNM702", "row 2: the nested lists are ragged", [[[1]], [[1]], [[1, 2], [3]]])
    fails("NNM710", 'length: no block "z"', WORDS, {"z": "max"})


def test_places_are_rows_and_positions() -> None:
    nan = float("nan")
    fails("NNM707", "row 1, position 0 is nan", [[1.0, 2.0], [nan], [3.0]])
    fails("NNM707", "row 0, position 1, element 1 is inf", [[[1, 2], [3, float("inf")]], [[1, 2]]])


def test_bad_labels_have_a_place() -> None:
    with pytest.raises(DataError, match="row 1, position 1 has class 5") as caught:
        Dataset({"x": WORDS[1:]}, {"y": [[0], [1, 5]]}, length="max", labels=["a", "b"], **ALL)
    assert caught.value.code == "NNM706"
    rows = [[[0, 1]], [[1, 0], [1, 1]]]
    with pytest.raises(DataError, match="row 1, position 1 is not one-hot"):
        Dataset({"x": WORDS[1:]}, {"y": rows}, length="max", kinds={"y": "onehot"}, **ALL)


def test_a_ragged_table_without_length_is_refused() -> None:
    with pytest.raises(DataError, match="ragged") as caught:
        Dataset([[1, 2], [3]], [0.5, 1.5])
    assert caught.value.code == "NNM702"
    assert 'length="max"' in caught.value.hint


def test_one_name_has_one_mask() -> None:
    with pytest.raises(DataError, match='input "model" and output "model"') as caught:
        Dataset([[1], [2, 3]], [[0.5, 1.5], [2.5]], length="max")
    assert caught.value.code == "NNM702"
    data = words()
    other = Dataset({"a": WORDS}, {"b": [[0.5], [1.5], [2.5, 3.5]]}, length="max")
    with pytest.raises(DataError, match="different lengths"):
        other.map(to_model={"a": "model", "b": "model"})
    assert data.map(to_model={"x": "model", "y": "model"}).lengths("training")


def test_sequences_keep_their_lengths() -> None:
    values = Sequences("float32", (2, 2), bytes(16), [2, 1])
    assert values.rows([1, 1]).lengths == (1, 1)
    assert Sequences("float32", (2, 2), bytes(16)).lengths == (2, 2)
