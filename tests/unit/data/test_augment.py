"""Augmentation: of training batches alone, by seed and epoch, in the shapes of the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.random import Stream
from webnnm.data import Dataset
from webnnm.data.preparation.epoch_arrays import epoch_arrays
from webnnm.data.series.sequences import Sequences

Arrays = dict[str, HostArray]
Changed = tuple[Mapping[str, Any], Mapping[str, Any]]


def jitter(inputs: Arrays, outputs: Arrays, stream: Stream, epoch: int) -> Changed:
    x = inputs["model"]
    noise = stream.uniform(len(x.values()))
    moved = [value + u for value, u in zip(x.values(), noise, strict=True)]
    return {"model": HostArray.of(moved, "float32", x.shape)}, outputs


def table(**options: Any) -> Dataset:
    given = {"split": ([0, 1, 2, 3, 4], [5], [6]), "batch_size": 2} | options
    return Dataset([[10.0 * n] for n in range(7)], [[n + 0.5] for n in range(7)], **given)


def seen(data: Dataset, subset: str = "training", **options: Any) -> list[Any]:
    return [batch.inputs["model"].tolist() for batch in data.batches(subset, **options)]


def test_batches_differ_by_seed_and_epoch_and_by_nothing_else() -> None:
    data = table().augment(jitter)
    first = seen(data, epoch=1, seed=3)
    assert seen(data, epoch=1, seed=3) == first == seen(table().augment(jitter), epoch=1, seed=3)
    others = [
        seen(data, epoch=2, seed=3, shuffle=False),
        seen(data, epoch=1, seed=4, shuffle=False),
    ]
    assert len({str(every) for every in [seen(data, epoch=1, seed=3, shuffle=False), *others]}) == 3


def test_rows_change_and_those_that_fill_up_do_not() -> None:
    plain, changed = table(), table().augment(jitter)
    for before, after in zip(
        plain.batches("training", 5), changed.batches("training", 5), strict=True
    ):
        assert after.indices == before.indices
        assert after.outputs["model"].tolist() == before.outputs["model"].tolist()
        pairs = list(
            zip(before.inputs["model"].values(), after.inputs["model"].values(), strict=True)
        )
        assert all(0 < b - a < 1 for a, b in pairs[: before.valid_count])
        assert all(a == b == 0 for a, b in pairs[before.valid_count :])


@pytest.mark.parametrize("subset", ["validation", "testing", "full"])
def test_other_subsets_stay(subset: str) -> None:
    assert seen(table().augment(jitter), subset) == seen(table(), subset)


def test_arrays_samples_and_the_dataset_itself_stay() -> None:
    data = table()
    changed = data.augment(jitter)
    assert (data.augmentation, changed.augmentation) == (None, jitter)
    assert seen(data) == seen(table())
    assert changed.arrays("training")[0]["model"].tolist() == [[0], [10], [20], [30], [40]]
    assert changed.sample(3)[0]["model"].tolist() == [30]
    assert seen(changed.augment(None)) == seen(data)


def test_the_function_gets_rows_that_count_and_the_epoch() -> None:
    calls: list[tuple[int, int]] = []

    def note(inputs: Arrays, outputs: Arrays, stream: Stream, epoch: int) -> Changed:
        assert len(inputs["model"]) == len(outputs["model"])
        calls.append((len(inputs["model"]), epoch))
        return {}, {}

    data = table().augment(note)
    assert seen(data, epoch=7) == seen(table(), epoch=7)
    assert calls == [(2, 7), (2, 7), (1, 7)]


def test_outputs_and_integers_keep_their_type() -> None:
    data = Dataset([[1], [2]], [0, 1], split=(1, 0, 0)).augment(
        lambda x, y, stream, epoch: ({"model": [[7], [8]]}, {"model": [1, 1]})
    )
    batch = next(data.batches("training"))
    assert batch.outputs["model"].dtype == data.outputs["model"].dtype == "int32"
    assert batch.inputs["model"].dtype == data.inputs["model"].dtype
    assert batch.inputs["model"].tolist()[:2] == [[7], [8]]
    assert list(batch.outputs["model"].values())[:2] == [1, 1]


@pytest.mark.parametrize(
    ("result", "code", "words"),
    [
        (({"model": [[1.0]]}, {}), "NNM702", r'augmented input "model" has the shape \[1, 1\]'),
        (({"model": [1.0, 2.0]}, {}), "NNM702", r"the batch \[2, 1\]"),
        (({"model": [[1.0], [float("nan")]]}, {}), "NNM707", 'augmented input "model": row 1'),
        (({"modle": [[1.0], [2.0]]}, {}), "NNM710", 'returned an input "modle"'),
        (({}, {"y": [[1.0], [2.0]]}), "NNM710", 'returned an output "y"'),
        (None, "NNM702", "did not return a pair"),
        (({},), "NNM702", "did not return a pair"),
    ],
)
def test_what_a_function_returns_is_checked(result: Any, code: str, words: str) -> None:
    data = table().augment(lambda x, y, stream, epoch: result)
    with pytest.raises(DataError, match=words) as caught:
        list(data.batches("training"))
    assert caught.value.code == code


def test_what_a_function_raises_is_not_hidden() -> None:
    def fail(inputs: Arrays, outputs: Arrays, stream: Stream, epoch: int) -> Changed:
        raise TypeError("mine")

    with pytest.raises(TypeError, match="mine"):
        list(table().augment(fail).batches("training"))


@pytest.mark.parametrize("shuffle", [None, False])
@pytest.mark.parametrize("batch_size", [1, 2, 5, 20])
def test_the_rows_of_an_epoch_are_those_of_its_batches(
    shuffle: bool | None, batch_size: int
) -> None:
    data = table(batch_size=batch_size).augment(jitter)
    inputs, outputs = epoch_arrays(data, 3, shuffle, seed=9)
    order = data.order("training", 3, shuffle, 9)
    taken = inputs["model"].rows(order).tolist()
    batches = list(data.batches("training", 3, shuffle, 9))
    assert taken == [row for b in batches for row in b.inputs["model"].tolist()[: b.valid_count]]
    assert outputs["model"].tolist() == data.arrays("training")[1]["model"].tolist()


def test_without_a_function_an_epoch_is_the_training_rows() -> None:
    assert epoch_arrays(table())[0]["model"].tolist() == [[0], [10], [20], [30], [40]]


def test_sequences_keep_their_lengths_and_their_padding() -> None:
    def raise_all(inputs: Arrays, outputs: Arrays, stream: Stream, epoch: int) -> Changed:
        x = inputs["model"]
        assert isinstance(x, Sequences)
        return {"model": HostArray.of([v + 1 for v in x.values()], "float32", x.shape)}, {}

    rows = [[1.0, 2.0, 3.0], [4.0], [5.0, 6.0]]
    data = Dataset(rows, [0.5, 1.5, 2.5], length="max", split=(1, 0, 0), batch_size=2)
    data = data.augment(raise_all)
    batches = list(data.batches("training", shuffle=False))
    assert batches[0].inputs["model"].tolist() == [[2, 3, 4], [5, 0, 0]]
    assert batches[1].inputs["model"].tolist() == [[6, 7, 0], [0, 0, 0]]
    assert [batch.lengths["model"] for batch in batches] == [[3, 1], [2, 0]]
    whole = epoch_arrays(data)[0]["model"]
    assert isinstance(whole, Sequences)
    assert (whole.lengths, whole.tolist()) == ((3, 1, 2), [[2, 3, 4], [5, 0, 0], [6, 7, 0]])


def test_folds_and_renamed_datasets_are_augmented_too() -> None:
    data = table().augment(jitter)
    assert next(data.folds(2)).augmentation is jitter
    assert data.map(to_model={"model": "model"}).augmentation is jitter
