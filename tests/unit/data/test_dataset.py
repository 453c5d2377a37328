"""Datasets: subsets, order, batches, samples, statistics, names."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm.core.errors import DataError
from webnnm.core.random import Stream
from webnnm.data import Dataset, Field


def number_rows(rows: int = 10, **options: Any) -> Dataset:
    """Rows [n, -n] with the output n + ½, in the order of their numbers."""
    return Dataset(
        {"x": [[n, -n] for n in range(rows)]},
        {"y": [n + 0.5 for n in range(rows)]},
        **{"batch_size": 4, "split": (0.7, 0, 0.3), "method": "sequential"} | options,
    )


def first_column(values: Any) -> list[int]:
    return [int(row[0]) for row in values.tolist()]


def test_sizes_of_subsets() -> None:
    data = number_rows(split=(0.6, 0.1, 0.3))
    sizes = {subset: data.size(subset) for subset in ("training", "validation", "testing", "full")}
    assert sizes == {"training": 6, "validation": 1, "testing": 3, "full": 10}
    assert [data.num_batches(subset) for subset in sizes] == [2, 1, 1, 3]
    assert repr(data) == "Dataset(dataset: 10 rows, training 6, validation 1, testing 3)"


def test_fields() -> None:
    data = number_rows()
    assert data.inputs == {"x": Field((2,), "float32")}
    assert data.outputs == {"y": Field((), "float32")}


def test_single_arrays_are_called_model() -> None:
    data = Dataset([[1.0]], [2.5], split=(1, 0, 0))
    assert (list(data.inputs), list(data.outputs)) == (["model"], ["model"])


@pytest.mark.parametrize("subset", ["training", "testing", "full"])
@pytest.mark.parametrize("batch_size", [1, 3, 4, 7, 50])
def test_batches_hold_every_row_once_and_zeros_behind(subset: str, batch_size: int) -> None:
    data = number_rows(batch_size=batch_size)
    batches = list(data.batches(subset, epoch=3))
    assert len(batches) == data.num_batches(subset)
    rows: list[int] = []
    for batch in batches:
        assert batch.batch_size == batch_size
        assert batch.inputs["x"].shape == (batch_size, 2)
        assert batch.outputs["y"].shape == (batch_size,)
        valid, empty = batch.valid_count, batch_size - batch.valid_count
        assert batch.valid_mask().tolist() == [1] * valid + [0] * empty
        assert batch.inputs["x"].tolist()[valid:] == [[0, 0]] * empty
        assert batch.outputs["y"].tolist()[valid:] == [0] * empty
        assert batch.outputs["y"].tolist()[:valid] == [row + 0.5 for row in batch.indices]
        assert first_column(batch.inputs["x"])[:valid] == list(batch.indices)
        assert (batch.masks, batch.lengths) == ({}, {})
        rows += batch.indices
    assert sorted(rows) == list(data.rows(subset))


@pytest.mark.parametrize("dtype", ["float16", "int64", "uint4", "int8"])
def test_padding_keeps_the_type(dtype: Any) -> None:
    from webnnm.core.arrays import HostArray

    values = HostArray.of([[1, 2, 3]] * 3, dtype)
    data = Dataset({"x": values}, [0.5, 1.5, 2.5], split=(1, 0, 0), batch_size=2)
    last = list(data.batches("training"))[-1].inputs["x"]
    assert (last.dtype, last.tolist()) == (dtype, [[1, 2, 3], [0, 0, 0]])


def test_a_resident_trainer_sees_the_rows_of_the_batches() -> None:
    data = number_rows(23, method="random", seed=9)
    inputs, outputs = data.arrays("training")
    assert first_column(inputs["x"]) == list(data.rows("training"))
    for epoch in range(3):
        order = data.order("training", epoch, seed=5)
        resident = inputs["x"].rows(order).tolist()
        batches = list(data.batches("training", epoch, seed=5))
        streamed = [row for b in batches for row in b.inputs["x"].tolist()[: b.valid_count]]
        assert streamed == resident
        targets = [y for b in batches for y in b.outputs["y"].tolist()[: b.valid_count]]
        assert targets == outputs["y"].rows(order).tolist()


def test_the_order_is_that_of_the_stream() -> None:
    data = number_rows(20)
    assert data.order("training", 6, seed=3) == Stream(3, 2, 6).permutation(14)

    assert data.order("training", 6, shuffle=False) == list(range(14))


def test_the_order_depends_on_seed_and_epoch_alone() -> None:
    data = number_rows(20)
    expected = data.order("training", 2, seed=1)
    for epoch in range(5):
        list(data.batches("training", epoch))
    assert data.order("training", 2, seed=1) == expected
    assert data.order("training", 3, seed=1) != expected
    assert data.order("training", 2, seed=2) != expected


@pytest.mark.parametrize("subset", ["validation", "testing"])
@pytest.mark.parametrize("shuffle", [None, True, False])
def test_validation_and_testing_are_never_shuffled(subset: str, shuffle: bool | None) -> None:
    data = number_rows(20, split=(0, 0.5, 0.5))
    assert data.order(subset, 1, shuffle) == list(range(10))


def test_the_whole_is_shuffled_on_request() -> None:
    data = number_rows(20)
    assert data.order("full", 1) == list(range(20))
    assert data.order("full", 1, shuffle=True) == Stream(0, 2, 1).permutation(20)


def test_batches_have_cursors_of_their_own() -> None:
    data = number_rows(split=(0.6, 0.4, 0))
    training = data.batches("training", shuffle=False)
    assert next(training).indices == [0, 1, 2, 3]
    assert [batch.indices for batch in data.batches("validation")] == [[6, 7, 8, 9]]
    assert next(data.batches("training", shuffle=False)).indices == [0, 1, 2, 3]
    assert next(training).indices == [4, 5]


@pytest.mark.parametrize("subset", ["validaton", "", "Training"])
def test_unknown_subsets_are_refused(subset: str) -> None:
    data = number_rows()
    for call in (data.size, data.arrays, data.batches, data.num_batches, data.order):
        with pytest.raises(DataError, match=f'unknown subset "{subset}"') as caught:
            call(subset)
        assert caught.value.code == "NNM705"


def test_empty_subsets_are_refused_where_rows_are_wanted() -> None:
    data = number_rows(name="numbers")
    assert (data.size("validation"), data.num_batches("validation")) == (0, 0)
    for call in (data.arrays, data.batches, data.statistics):
        with pytest.raises(DataError, match='"validation" of numbers has no rows') as caught:
            call("validation")
        assert caught.value.code == "NNM705"


def test_the_batch_size_is_at_least_1() -> None:
    data = number_rows()
    data.set_batch_size(5)
    assert (data.batch_size, data.num_batches("training")) == (5, 2)
    data.batch_size = 7
    assert data.num_batches("training") == 1
    for wrong in (0, -1, 2.5):
        with pytest.raises(DataError, match=f"batch_size is {wrong}") as caught:
            data.set_batch_size(wrong)  # type: ignore[arg-type]
        assert caught.value.code == "NNM704"
    assert data.batch_size == 7


def test_sample_is_one_row_of_the_whole() -> None:
    inputs, outputs = number_rows().sample(3)
    assert (inputs["x"].shape, inputs["x"].tolist()) == ((2,), [3, -3])
    assert (outputs["y"].shape, outputs["y"].tolist()) == ((), 3.5)
    with pytest.raises(DataError, match="of 10 do not exist"):
        number_rows().sample(10)


@pytest.mark.parametrize(
    ("outputs", "method"),
    [
        ([0, 1] * 10, "stratified"),
        ([[1, 0], [0, 1]] * 10, "stratified"),
        ([[0], [1]] * 10, "stratified"),
        ([0.5, 1.5] * 10, "random"),
        ([[0, 0], [1, 1]] * 10, "random"),
    ],
)
def test_classes_are_stratified_else_rows_are_permuted(outputs: Any, method: str) -> None:
    data = Dataset([[n] for n in range(20)], outputs, split=(0.5, 0, 0.5))
    assert data.method == method
    if method == "stratified":
        assert [row % 2 for row in data.rows("training")].count(1) == 5


def test_the_plain_forms_on_request() -> None:
    outputs = [0, 1] * 10
    assert Dataset(outputs, outputs, method="random").method == "random"
    plain = Dataset(outputs, outputs, method="sequential")
    assert (plain.method, plain.rows("training")) == ("sequential", list(range(14)))
    lists = Dataset(outputs, outputs, split=([3, 1], [], [2]))
    assert (lists.method, lists.rows("training"), lists.rows("testing")) == (
        "explicit",
        [3, 1],
        [2],
    )
    assert lists.arrays("training")[0]["model"].tolist() == [1, 1]


def test_statistics() -> None:
    data = Dataset(
        [[1, 10], [3, 10], [5, 70]],
        [[1, 0], [0, 1], [0, 1]],
        split=([0, 1], [], [2]),
    )
    found = data.statistics()
    assert found.inputs["model"].mean == (2, 10)
    assert found.inputs["model"].std == (1, 0)
    assert found.inputs["model"].min == (1, 10)
    assert found.inputs["model"].max == (3, 10)
    assert found.inputs["model"].class_counts == ()
    assert found.outputs["model"].class_counts == (1, 1)
    assert data.statistics("full").outputs["model"].class_counts == (1, 2)
    assert data.statistics("testing").inputs["model"].max == (5, 70)


def test_class_counts_of_every_kind() -> None:
    def counts(outputs: Any, **options: Any) -> tuple[int, ...]:
        data = Dataset(list(range(len(outputs))), outputs, **options)
        return data.statistics("full").outputs["model"].class_counts

    assert counts([0, 2, 2, 1]) == (1, 1, 2)
    assert counts([0, 2, 2], labels=["a", "b", "c", "d"]) == (1, 0, 2, 0)
    assert counts([[0.0], [1.0], [1.0]]) == (1, 2)
    assert counts([[0, -1], [1, 1]], kinds={"model": "classes"}) == (1, 2)
    assert counts([0.5, 1.5]) == ()


def test_labels() -> None:
    data = Dataset({"x": [1, 2]}, {"y": [0, 1], "z": [0.5, 1.5]}, labels={"y": ["no", "yes"]})
    assert data.labels("y") == ["no", "yes"]
    assert data.labels("z") is None
    for unknown in ("w", None):
        with pytest.raises(DataError, match="no output") as caught:
            data.labels(unknown)
        assert caught.value.code == "NNM710"
    assert Dataset([1, 2], [0, 1], labels=("no", "yes")).labels() == ["no", "yes"]


def test_map_renames_fields() -> None:
    data = number_rows(standardize=True)
    other = data.map(to_model={"x": "pixels", "y": "digit"})
    assert (list(other.inputs), list(other.outputs)) == (["pixels"], ["digit"])
    assert list(other.standardization) == ["pixels"]
    batch = next(other.batches("training"))
    assert (list(batch.inputs), list(batch.outputs)) == (["pixels"], ["digit"])
    assert list(data.inputs) == ["x"]
    assert next(data.batches("training")).indices == batch.indices


def test_map_refuses_unknown_and_equal_names() -> None:
    with pytest.raises(DataError, match='no field "w"') as caught:
        number_rows().map(to_model={"w": "model"})
    assert caught.value.code == "NNM710"
    data = Dataset({"left": [1.0], "right": [2.0]}, [0.5])
    with pytest.raises(DataError, match="one name"):
        data.map(to_model={"left": "right"})


def test_javascript_spellings() -> None:
    data = Dataset([1, 2, 3], [0, 1, 1], split=([0, 1, 2], [], []), labels=["no", "yes"])
    data.setBatchSize(2)
    assert (data.batchSize, data.numBatches("training")) == (2, 2)
    assert data.subsetSize("training") == data.subset_size("training") == 3
    assert data.mapOutputToLabels("model", [[0.2, 0.8]]) == ["yes"]
    assert not {"batchSize", "mapOutputToLabels"} & {*dir(data)}


def test_javascript_cursors_are_one_per_subset() -> None:
    data = number_rows(split=(0.6, 0.4, 0), batch_size=3)
    data.prepareBatches("training")
    first = data.getNextBatch("training")
    validation = data.getNextBatch("validation")
    second = data.getNextBatch("training", model=None)
    assert first and second and validation
    assert sorted([*first.indices, *second.indices]) == [0, 1, 2, 3, 4, 5]
    assert list(validation.indices) == [6, 7, 8]
    assert data.getNextBatch("training") is None
    data.prepareBatches("training")
    again = data.getNextBatch("training")
    assert again
    assert again.indices == next(data.batches("training", epoch=1)).indices


@pytest.mark.parametrize("batch_size", [0, -1, 2.0, None, 2**31, 10**30])
def test_batches_have_a_number_of_rows_that_devices_count(batch_size: Any) -> None:
    with pytest.raises(DataError) as caught:
        number_rows(batch_size=batch_size)
    assert caught.value.code == "NNM704"
