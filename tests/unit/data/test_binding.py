"""How a dataset is bound to a model: which field, in which form (spec G.2)."""

from __future__ import annotations

from typing import Any

import pytest

from webnnm import NNModel
from webnnm.core.errors import DataError, ModelError
from webnnm.data.binding.binding import bind
from webnnm.data.dataset import Dataset
from webnnm.data.field import Field
from webnnm.data.streams.stream import StreamDataset
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.graph.elaboration.vertices import Network
from webnnm.notation import parse

ALL = {"split": (1, 0, 0)}


def network(text: str) -> Network:
    return elaborate(parse(text))


ONE = network("net:input shape=[2]; net:output shape=[3]; net:layers matmul(w);")
TWO = network("""
    a:input shape=[2]; b:input int32 shape=[]; c:output shape=[2]; d:output shape=[];
    c:layers add([a, b]); d:layers reduceSum(node=c);
""")


def test_only_field_and_only_block_bind_whatever_they_are_called() -> None:
    found = bind(ONE, Dataset({"x": [[1.0, 2.0]]}, {"y": [[0.5, 1.5, 2.5]]}, **ALL))
    inputs, outputs = found.arrays("training")
    assert inputs["net"].tolist() == [[1, 2]]
    assert outputs["net"].tolist() == [[0.5, 1.5, 2.5]]


def test_several_fields_bind_by_name_and_get_the_models_types() -> None:
    data = Dataset(
        {"b": [1, 2], "a": [[1.0, 2.0], [3.0, 4.0]]},
        {"d": [0.5, 1.5], "c": [[1.0, 2.5]] * 2},
        **ALL,
    )
    inputs, outputs = bind(TWO, data).arrays("training")
    assert list(inputs) == ["a", "b"]
    assert (inputs["b"].dtype, inputs["b"].tolist()) == ("int32", [1, 2])
    assert outputs["d"].tolist() == [0.5, 1.5]


def test_mapping_renames_fields() -> None:
    data = Dataset({"x": [[1.0, 2.0]], "y": [3]}, {"c": [[1.5, 2.0]], "d": [0.5]}, **ALL)
    with pytest.raises(DataError) as caught:
        bind(TWO, data)
    assert caught.value.code == "NNM701"
    assert bind(TWO, data, {"a": "x", "b": "y"}).inputs["a"].field == "a"


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([0, 2, 1], [[1, 0, 0], [0, 0, 1], [0, 1, 0]]),
        ([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[0, 1, 0], [1, 0, 0], [0, 1, 0]]),
    ],
    ids=["classes", "one-hot"],
)
def test_class_numbers_become_one_hot(labels: Any, expected: Any) -> None:
    data = Dataset([[1.0, 2.0]] * 3, labels, **ALL)
    _, outputs = bind(ONE, data).arrays("training")
    assert outputs["net"].tolist() == expected


def test_named_dimensions_are_brought_into_the_models_order() -> None:
    image = network("""
        m:input shape={channels:2, width:3}; m:output shape={channels:2, width:3};
        m:layers identity();
    """)
    data = Dataset(
        {"x": [[[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]]},
        {"y": [[[0.5] * 3] * 2]},
        names={"x": ("width", "channels")},
        **ALL,
    )
    inputs, _ = bind(image, data).arrays("training")
    assert inputs["m"].tolist() == [[[1, 2, 3], [4, 5, 6]]]


@pytest.mark.parametrize(
    ("inputs", "outputs", "code"),
    [
        ([[1.0, 2.0, 3.0]], [[0.5, 0.5, 0.0]], "NNM702"),
        ([[1.0, 2.0]], [[0.5, 0.5]], "NNM702"),
        ([[1.0, 2.0]] * 4, [0, 1, 2, 3], "NNM706"),
    ],
)
def test_what_does_not_fit(inputs: Any, outputs: Any, code: str) -> None:
    with pytest.raises(DataError) as caught:
        bind(ONE, Dataset(inputs, outputs, **ALL))
    assert caught.value.code == code


def test_sequence_length_comes_from_the_data() -> None:
    words = network("""
        m:input shape=[2] sequence=words; m:output shape=[]; m:layers reduceSum(axes=[words, 0]);
    """)
    found = bind(words, Dataset([[[1.0, 2.0]] * 5] * 2, [0.5, 1.5], **ALL))
    assert found.sequence == {"words": 5}
    inputs, _ = found.arrays("training")
    assert inputs["m"].shape == (2, 5, 2)


def test_fixed_sequence_length_is_checked() -> None:
    words = network("""
        m:input shape=[2] sequence={words:4}; m:output shape=[];
        m:layers reduceSum(axes=[words, 0]);
    """)
    for size, code in ((5, "NNM711"), (3, "NNM702")):
        with pytest.raises(DataError, match=f"{size} positions") as caught:
            bind(words, Dataset([[[1.0, 2.0]] * size] * 2, [0.5, 1.5], **ALL))
        assert caught.value.code == code
    padded = Dataset([[[1.0, 2.0]] * 3] * 2, [0.5, 1.5], length=4, **ALL)
    assert bind(words, padded).masks("training")["words"].tolist() == [[1, 1, 1, 0]] * 2


def test_what_is_not_a_dataset() -> None:
    with pytest.raises(DataError, match="a list is not a dataset") as caught:
        bind(ONE, [1, 2])  # type: ignore[arg-type]
    assert caught.value.code == "NNM714"


def test_subset_without_rows() -> None:
    found = bind(ONE, Dataset([[1.0, 2.0]], [[0.5, 1.5, 2.5]], **ALL))
    with pytest.raises(DataError) as caught:
        found.arrays("testing")
    assert caught.value.code == "NNM705"


TAGS = network("""
    tags:input int32 shape=[] sequence=words; tags:output shape=[3] sequence=words;
    tags:layers embedding(e, size=6, shape=[3]);
""")
WORDS = [[3, 1, 2], [5], [4, 4]]


def test_masks_are_by_name_of_the_sequence() -> None:
    found = bind(TAGS, Dataset(WORDS, {"y": [[0, 2, 1], [1], [2, 0]]}, length="max", **ALL))
    assert found.sequence == {"words": 3}
    masks = found.masks("training")
    assert masks["words"].tolist() == [[1, 1, 1], [1, 0, 0], [1, 1, 0]]
    inputs, targets = found.arrays("training", {"tags": "classes"})
    assert (inputs["tags"].dtype, inputs["tags"].tolist()[1]) == ("int32", [5, 0, 0])
    assert targets["tags"].tolist() == [[0, 2, 1], [1, -1, -1], [2, 0, -1]]
    one_hot = found.arrays("training")[1]["tags"]
    assert one_hot.tolist()[1] == [[0, 1, 0], [0, 0, 0], [0, 0, 0]]
    full = bind(TAGS, Dataset([[1, 2], [3, 4]], {"y": [[0, 2], [1, 0]]}, kinds={"y": "classes"}))
    assert full.masks("training") == {}


SHARED = network("""
    a:input shape=[] sequence=words; b:input shape=[] sequence=words; c:output shape=[];
    c:layers add([a, b]), reduceSum(axes=[words]);
""")


def test_inputs_of_one_sequence_have_the_lengths_of_one_another() -> None:
    y = {"c": [0.5, 1.5, 2.5]}
    same = bind(SHARED, Dataset({"a": WORDS, "b": WORDS}, y, length="max", **ALL))
    assert list(same.masks("training")) == ["words"]
    other = [WORDS[0], WORDS[2], WORDS[1]]
    found = bind(SHARED, Dataset({"a": WORDS, "b": other}, y, length="max", **ALL))
    with pytest.raises(DataError, match=r'input "b".* has 2 positions in row 1, 1 in') as caught:
        found.masks("training")
    assert caught.value.code == "NNM702"
    with pytest.raises(DataError, match='"words" has 4 positions, in another input 3') as caught:
        bind(SHARED, Dataset({"a": WORDS, "b": WORDS}, y, length={"a": 3, "b": 4}, **ALL))
    assert caught.value.code == "NNM702"


def test_an_output_has_the_lengths_of_its_sequence() -> None:
    y = [[[0.5] * 3] * n for n in (3, 2, 1)]
    found = bind(TAGS, Dataset(WORDS, {"y": y}, length="max", **ALL))
    with pytest.raises(DataError, match=r'output "tags".* has 2 positions in row 1, 1'):
        found.masks("training")
    plain = bind(TAGS, Dataset([[1, 2, 3]] * 3, {"y": y}, length="max", **ALL))
    with pytest.raises(DataError, match="different lengths"):
        plain.masks("training")


ONE_HOT = [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]


@pytest.mark.parametrize(
    ("given", "labels", "dtype", "expected"),
    [
        ([0, 2, 1], "classes", "int32", [0, 2, 1]),
        (ONE_HOT, "classes", "int32", [1, 0, 2]),
        ([0, 2, 1], "distribution", "float32", [[1, 0, 0], [0, 0, 1], [0, 1, 0]]),
        ([0, 2, 1], "same", "float32", [[1, 0, 0], [0, 0, 1], [0, 1, 0]]),
        ([0, 2, 1], "signs", "float32", [[1, -1, -1], [-1, -1, 1], [-1, 1, -1]]),
        ([[0, 1, 1], [1, 0, 0], [1, 1, 1]], "signs", "float32", [[-1, 1, 1], [1, -1, -1], [1] * 3]),
        ([[-1, 1, 1], [1, 1, -1]], "signs", "float32", [[-1, 1, 1], [1, 1, -1]]),
    ],
)
def test_targets_take_the_form_of_the_loss(
    given: Any, labels: Any, dtype: str, expected: Any
) -> None:
    found = bind(ONE, Dataset([[1.0, 2.0]] * len(given), given, **ALL))
    target = found.arrays("training", {"net": labels})[1]["net"]
    assert (target.dtype, target.tolist()) == (dtype, expected)


def test_classes_of_measurements_make_no_sense() -> None:
    found = bind(ONE, Dataset([[1.0, 2.0]], [[0.5, 1.5, 2.5]], **ALL))
    with pytest.raises(ModelError, match="the data are continuous") as caught:
        found.arrays("training", {"net": "classes"})
    assert caught.value.code == "NNM604"


async def test_streams_bind_block_by_block() -> None:
    def source(subset: str, epoch: int) -> Any:
        for row in WORDS:
            yield row, {"y": [1] * len(row)}

    stream = StreamDataset(
        source,
        rows={"training": 3},
        inputs={"model": Field((4,), "float32", sequence="sequence")},
        outputs={"y": Field((4,), "int32", sequence="sequence", kind="classes", classes=2)},
    )
    found = bind(TAGS, stream, {"tags": "model"})
    assert (found.streams, found.sequence) == (True, {"words": 4})
    assert (found.standardization, found.target_standardization) == ({}, {})
    blocks = [block async for block in found.blocks("training", 0, 2, {"tags": "classes"})]
    inputs, targets, masks = blocks[0]
    assert (inputs["tags"].dtype, inputs["tags"].tolist()) == (
        "int32",
        [[3, 1, 2, 0], [5, 0, 0, 0]],
    )
    assert targets["tags"].tolist() == [[1, 1, 1, -1], [1, -1, -1, -1]]
    assert masks["words"].tolist() == [[1, 1, 1, 0], [1, 0, 0, 0]]
    assert len(blocks[1][0]["tags"]) == 1
    with pytest.raises(DataError, match="is a stream"):
        found.arrays("training")


def test_order_is_that_of_the_dataset() -> None:
    data = Dataset([[1.0, 2.0]] * 9, [[0.5, 1.5, 2.5]] * 9, **ALL)
    found = bind(ONE, data)
    assert not found.streams
    orders = found.orders("training", [3, 4], seed=5)
    expected = [data.order("training", epoch, seed=5) for epoch in (3, 4)]
    assert [order.tolist() for order in orders] == expected


def test_a_dataset_may_have_an_order_of_its_own() -> None:
    class Backwards(Dataset):
        def order(
            self, subset: str, epoch: int = 0, shuffle: bool | None = None, seed: int = 0
        ) -> list[int]:
            return super().order(subset, epoch, False, seed)[::-1]

    found = bind(ONE, Backwards([[1.0, 2.0]] * 3, [[0.5, 1.5, 2.5]] * 3, **ALL))
    assert [order.tolist() for order in found.orders("training", [1, 2])] == [[2, 1, 0]] * 2


IDS = "m:input int32 shape=[2]; m:output shape=[2]; m:layers {}embedding(t, size=4, shape=[2, 3]), "
IDS += "flatten(), matmul(w), softmax();"


@pytest.mark.parametrize("before", ["", "identity(), ", "reshape([2]), cast(int32), "])
@pytest.mark.parametrize(
    ("ids", "says", "hint"),
    [
        ([[0, 1], [2, -1]], "row 1, element 1 is -1", "number the words from 0"),
        ([[0, 1], [-9, 3]], "row 1, element 0 is -9", "number the words from 0"),
        ([[0, 1], [2, 6]], "row 1, element 1 is 6", "write size=7"),
        ([[0, 1], [-1, 6]], "row 1, element 0 is -1", "write size=7"),
    ],
)
async def test_ids_without_a_row_of_the_table(
    before: str, ids: list[list[int]], says: str, hint: str
) -> None:
    pytest.importorskip("numpy")
    source = IDS.format(before)
    model = await NNModel.create(source=source, backend="numpy", log=lambda _: None)
    context = await model.create_context(2)

    async def predict() -> None:
        await model.predict(ids)

    async def set_data() -> None:
        context.set_data(ids)

    async def train() -> None:
        model.set_dataset(Dataset(ids, [0, 1], split=(1, 0, 0)))

    for attempt in (train, predict, set_data):
        with pytest.raises(DataError) as caught:
            await attempt()
        assert caught.value.code == "NNM702"
        assert says in caught.value.message and "table t1 has 4 rows" in caught.value.message
        assert hint in caught.value.hint
    context.randomize()
    await model.run(context)
    model.close()


async def test_ids_of_streams_are_checked_as_they_come() -> None:
    def source(_subset: str, _epoch: int) -> Any:
        yield from [([0, 1], [0]), ([3, -2], [1])]

    data = await StreamDataset.create(source, rows={"training": 2})
    bound = bind(elaborate(parse(IDS.format(""))), data)
    with pytest.raises(DataError) as caught:
        _ = [block async for block in bound.blocks("training", 0, 1)]
    assert "is -2, table t1 has 4 rows" in caught.value.message
