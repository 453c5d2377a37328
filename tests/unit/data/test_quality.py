"""Facts about a dataset: classes, features, repeated rows, foreign figures."""

from __future__ import annotations

import math
from array import array
from typing import Any

import pytest

from tests.work import calls
from webnnm.core.arrays import HostArray
from webnnm.core.random import Stream
from webnnm.data import Dataset, IrisDataset
from webnnm.data.preparation.features import FeatureFacts
from webnnm.data.preparation.quality import ClassFacts, DataQuality, measure_quality
from webnnm.data.preparation.row_sample import MAX_CELLS
from webnnm.data.preparation.standardize import collect_offsets


def uniform(rows: int, width: int, seed: int = 0) -> HostArray:
    return HostArray.of(Stream(seed, 6).uniform(rows * width), shape=(rows, width))


def quality(inputs: Any, outputs: Any, **options: Any) -> DataQuality:
    return measure_quality(Dataset(inputs, outputs, **options))


def halves(rows: int) -> tuple[list[int], list[int], list[int]]:
    return list(range(rows // 2)), [], list(range(rows // 2, rows))


async def test_iris() -> None:
    found = measure_quality(await IrisDataset.create())
    assert found.sizes == {"training": 105, "validation": 0, "testing": 45, "full": 150}
    assert found.method == "stratified"
    [species] = found.classes
    assert species.names == ("setosa", "versicolor", "virginica")
    assert species.counts == {
        "training": (35, 35, 35),
        "testing": (15, 15, 15),
        "full": (50, 50, 50),
    }
    assert (species.imbalance, species.largest_share) == (1, pytest.approx(1 / 3))
    assert species.in_order  # as the file is
    assert (species.absent("training"), species.absent("testing"), species.rare(10)) == ((),) * 3
    assert [feature.name for feature in found.features][:2] == ["sepal_length", "sepal_width"]
    assert (found.constant, found.foreign) == ((), ())
    # Figures of the seed's training rows by scikit-learn's StandardScaler.
    assert [feature.mean for feature in found.features] == pytest.approx(
        [5.919047619047619, 3.083809523809525, 3.7990476190476192, 1.2104761904761903], rel=1e-6
    )
    assert [feature.std for feature in found.features] == pytest.approx(
        [0.853797705280326, 0.42204125492856526, 1.7947805404028137, 0.7668021175820685], rel=1e-6
    )
    assert [feature.name for feature in found.list_unscaled(3, (0.1, 10))] == [
        "sepal_length",
        "sepal_width",
        "petal_length",
    ]


async def test_iris_in_the_order_of_the_file_lacks_a_class() -> None:
    [species] = measure_quality(await IrisDataset.create(method="sequential")).classes
    assert species.counts["training"] == (50, 50, 5)
    assert species.absent("testing") == (0, 1)
    assert (species.imbalance, species.rare(10)) == (10, (2,))
    [species] = measure_quality(
        await IrisDataset.create(method="sequential", split=(0.5, 0.2, 0.3))
    ).classes
    assert species.absent("training") == (2,)
    assert species.absent("validation") == (0,)
    assert species.name(2) == "virginica"


def test_a_subset_without_rows_lacks_nothing() -> None:
    facts = ClassFacts("y", (), {"full": (2, 0), "training": (2, 0)}, in_order=False)
    assert (facts.absent("validation"), facts.absent("training"), facts.name(1)) == ((), (), "1")
    nothing = ClassFacts("y", (), {"full": (2, 1)}, in_order=False)
    assert (nothing.training, nothing.imbalance, nothing.largest_share) == ((0, 0), 1, 0)


async def test_standardised_data_are_neither_unscaled_nor_foreign() -> None:
    found = measure_quality(await IrisDataset.create(standardize=True))
    assert (found.list_unscaled(3, (0.1, 10)), found.foreign) == ((), ())


@pytest.mark.parametrize("sample", [False, True])
async def test_figures_of_the_whole_dataset_are_foreign(sample: bool) -> None:
    iris = await IrisDataset.create()
    inputs, outputs = (arrays["model"] for arrays in iris.arrays("full"))
    flat, columns = array("f", inputs.values()), []
    for index in range(4):
        column = list(flat[index::4])
        mean = math.fsum(column) / 150
        rest = math.fsum((value - mean) ** 2 for value in column)
        std = math.sqrt(rest / (149 if sample else 150))  # pandas divides by n − 1
        columns.append([(value - mean) / std for value in column])
    rows = [list(row) for row in zip(*columns, strict=True)]
    for seed in range(5):
        found = quality(rows, outputs, seed=seed)
        assert [feature.index for feature in found.foreign] == [0, 1, 2, 3]
    assert quality(rows, outputs, split=(1, 0, 0)).foreign == ()


def test_balanced_signs_are_not_foreign() -> None:
    rows = [[-1.0 if row % 2 else 1.0] for row in range(20)]
    assert quality(rows, [0, 1] * 10, split=([0, 1, 2], [], list(range(3, 20)))).foreign == ()


def test_features() -> None:
    rows = [[5.0, 0.0, 1e6, 0.25], [5.0, 1.0, 1e6 + 1, 0.5], [5.0, 1.0, 1e6 + 2, 1.0]]
    found = quality([*rows, [6.0, 3.0, 0.0, 0.0]], [0, 1, 0, 1], split=([0, 1, 2], [], [3]))
    constant, binary, large, share = found.features
    assert found.constant == (constant,)
    assert (constant.mean, constant.std, constant.minimum, constant.maximum) == (5, 0, 5, 5)
    assert [feature.binary for feature in found.features] == [False, True, False, False]
    assert (large.mean, large.std) == (1e6 + 1, pytest.approx((2 / 3) ** 0.5, rel=1e-9))
    assert found.list_unscaled(3, (0.1, 10)) == (large,)
    assert found.list_unscaled(3, (0.5, 10)) == (large, share)
    assert binary.std == pytest.approx((2 / 9) ** 0.5)


def test_images_are_measured_per_channel() -> None:
    images = HostArray.of([[[[0, 10]], [[4, 30]]]] * 4, "uint8")
    found = quality(
        images, [0, 1, 0, 1], names={"model": ["height", "width", "channels"]}, split=(1, 0, 0)
    )
    assert [(feature.mean, feature.std) for feature in found.features] == [(2, 2), (20, 10)]


def test_of_sequences_the_positions_that_count_are_measured() -> None:
    rows = [[[1.0], [3.0]], [[5.0]]]
    [feature] = quality(rows, [0.5, 1.5], length=4, split=(1, 0, 0)).features
    assert (feature.mean, feature.minimum, feature.maximum) == (3, 1, 5)


def test_tokens_are_not_measurements() -> None:
    words = [HostArray.of([3, 1], "int32"), HostArray.of([7], "int32")]
    assert quality(words, [0.5, 1.5], length="max", split=(1, 0, 0)).features == ()


def test_one_hot_inputs_are_not_measurements() -> None:
    data = Dataset(
        {"x": [[0, 1], [1, 0]]}, {"y": [0.5, 1.5]}, kinds={"x": "onehot"}, split=(1, 0, 0)
    )
    assert measure_quality(data).features == ()


def test_rows_that_are_also_in_training() -> None:
    x = [[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [9.0, 9.0]]
    y = [0, 1, 0, 0, 0, 1]
    found = quality(x, y, split=([0, 1], [2], [3, 4, 5]))
    assert found.repeated == {"validation": 1, "testing": 1}  # row 3 has another class
    assert found.get_repeated_share() == pytest.approx(1 / 3)
    assert found.get_repeated_share("validation") == 1
    assert quality(x, y, split=(1, 0, 0)).get_repeated_share() == 0


def test_rows_of_several_inputs_are_compared_whole() -> None:
    data = Dataset(
        {"a": [[1.0], [2.0], [1.0], [1.0]], "b": [[5.0], [6.0], [6.0], [5.0]]},
        {"y": [0.5, 0.5, 0.5, 0.5]},
        split=([0, 1], [], [2, 3]),
    )
    assert measure_quality(data).repeated == {"testing": 1}


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        ([0, 0, 1, 1, 2, 2], True),
        ([2, 2, 0, 0, 1, 1], True),  # in stretches, whatever their order
        ([0, 1, 0, 1, 2, 2], False),
        ([0, 1, 2], False),  # one row each: there is no other order
        ([0, 0, 0], False),
    ],
)
def test_sorted_labels(classes: list[int], expected: bool) -> None:
    found = quality(
        [[float(n)] for n in range(len(classes))],
        HostArray.of(classes, "int32"),
        kinds={"model": "classes"},
        method="sequential",
        split=(1, 0, 0),
    )
    assert found.classes[0].in_order is expected


def test_yes_and_no_are_two_classes() -> None:
    found = quality([[1.0], [2.0], [3.0]], [[1.0], [0.0], [1.0]], split=(1, 0, 0))
    assert found.classes[0].training == (1, 2)


def test_quantities_have_no_classes() -> None:
    assert quality([[1.0], [2.0]], [0.5, 1.5], split=(1, 0, 0)).classes == ()


def test_a_dataset_without_training_rows() -> None:
    found = quality([[1.0], [2.0]], [0, 1], split=(0, 0, 1))
    assert (found.features, found.repeated) == ((), {})
    assert found.classes[0].counts == {"testing": (1, 1), "full": (1, 1)}


def test_what_is_constant_in_a_sample_is_compared_in_all_rows() -> None:
    values = array("f", uniform(1000, 2).values())
    values[1::2] = array("f", [5.0] * 1000)
    values[2 * 7 + 1] = 6.0  # which no tenth row has
    data = HostArray("float32", (1000, 2), values)
    dataset = Dataset(data, [0.5] * 1000, method="sequential", split=(1, 0, 0))
    first, second = measure_quality(dataset, max_cells=200).features
    assert (first.mean, first.std) == pytest.approx((0.5, 12**-0.5), abs=0.1)
    assert not second.constant


@pytest.mark.alike
def test_five_thousand_rows_of_a_hundred_columns_are_read_once_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from webnnm.data.preparation import features as module

    elements = 0

    def noted(*given: Any) -> Any:
        nonlocal elements
        column = collect_offsets(*given)
        elements += len(column)
        return column

    monkeypatch.setattr(module, "collect_offsets", noted)
    classes = HostArray.of([row % 5 for row in range(5_000)], "int32")
    data = Dataset(uniform(5_000, 100), classes, split=(0.7, 0, 0.3))
    found = measure_quality(data, max_cells=5_000 * 100)
    assert elements == 3_500 * 100
    elements = 0
    measure_quality(data)
    assert elements == 0.7 * MAX_CELLS
    assert len(found.features) == 100
    assert all(isinstance(feature, FeatureFacts) for feature in found.features)


def test_work_grows_as_the_rows_and_no_faster() -> None:
    def work(rows: int) -> int:
        data = Dataset(uniform(rows, 20), list(range(rows)), split=(0.7, 0, 0.3))
        return calls(lambda: measure_quality(data))

    assert work(4_000) < 4.2 * work(1_000)
