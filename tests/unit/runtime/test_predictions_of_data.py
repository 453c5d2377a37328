"""Predictions of what a dataset takes: units, tables, pictures, texts, one row; and its answers."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace
from typing import Any

import pytest

from webnnm import (
    DataError,
    Dataset,
    ImageDataset,
    IrisDataset,
    NNModel,
    Prediction,
    TableDataset,
    TextDataset,
)
from webnnm.core.arrays import HostArray
from webnnm.snapshots.safetensors import chunks, header, read
from webnnm.snapshots.snapshot import CHECKSUM, compute_checksum

np = pytest.importorskip("numpy")

QUIET: dict[str, Any] = {"backend": "numpy", "log": lambda _: None}
SOFTMAX = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), add(b), softmax();"
LINE = "m:input shape=[2]; m:output shape=[1]; m:layers matmul(w), add(b);"
FLOWERS = [[5.1, 3.5, 1.4, 0.2], [5.9, 3.0, 4.2, 1.5], [6.5, 3.0, 5.8, 2.2]]
ALL = {"split": (1, 0, 0)}


async def create(source: str, dataset: Any = None, **settings: Any) -> NNModel:
    return await NNModel.create(source=source, dataset=dataset, **QUIET, **settings)


async def again(model: NNModel) -> NNModel:
    """Return the model as a snapshot restores it, without its dataset."""
    return await NNModel.load(await model.save(), **QUIET)


async def flowers() -> tuple[NNModel, IrisDataset]:
    iris = await IrisDataset.create(standardize=True)
    model = await create(SOFTMAX, iris)
    await model.train(epochs=10, seeds=0, lr=0.3, progress="off")
    return model, iris


# Rows that are taken as they are, once such rows were seen.


async def test_rows_after_the_first_ones_are_read_and_refused_as_those() -> None:
    model = await create(LINE)
    rows: list[Any] = [[1.0, 2.0]]
    expected = (await model.predict(rows)).tolist()
    for same in (rows, [1, 2], [[True, 2]], ((1, 2),), HostArray.of(rows), np.array([[1, 2]])):
        assert (await model.predict(same)).tolist() == expected
    assert (await model.predict([*rows, *rows])).tolist() == expected * 2
    for wrong in ([["1", 2]], [[None, 2]], [1, 2, 3], [[[1], [2], [3]]], [], [[]]):
        with pytest.raises(DataError, match="NNM702"):
            await model.predict(wrong)


# Units.


async def test_rows_are_in_the_units_of_the_dataset_and_answers_are_classes() -> None:
    model, iris = await flowers()
    own = iris.standardization["model"].apply(HostArray.of(FLOWERS))
    expected = await model.predict(own, raw=True)
    assert isinstance(expected, np.ndarray)
    for used in (model, await again(model)):
        found = await used.predict(FLOWERS)
        assert isinstance(found, Prediction)
        np.testing.assert_allclose(found, expected, rtol=1e-5)
        assert found.classes == ["setosa", "versicolor", "virginica"]
        assert found.labels == ("setosa", "versicolor", "virginica")
        assert iris.decode("model", found) == found.classes


async def test_measurements_come_back_in_their_units() -> None:
    draw = np.random.default_rng(1)
    x = draw.normal([100, -5], [20, 0.1], (60, 2))
    y = 1000 + 3 * x[:, :1] + 50 * x[:, 1:]
    data = Dataset(x, y, standardize=True, standardize_targets=True, **ALL)
    model = await create(LINE, data)
    await model.train(epochs=60, optimizer="adam", lr=0.2, seeds=0, progress="off")
    for used in (model, await again(model)):
        found = await used.predict(x)
        assert found.shape == (60, 1)
        assert float(np.abs(found - y).max()) < 10
    scaled = data.standardization["model"].apply(HostArray.of(x))
    own = await model.predict(scaled, raw=True)
    assert abs(float(own.mean())) < 0.1, "raw answers are the network's own"
    np.testing.assert_allclose(data.decode("model", own), await model.predict(x), rtol=1e-4)
    with pytest.warns(UserWarning, match="decode takes the values"):
        data.decode("model", await model.predict(x))


async def test_numbers_of_the_other_units_are_told() -> None:
    model, iris = await flowers()
    with pytest.warns(UserWarning, match="leave raw=True out"):
        await model.predict(FLOWERS, raw=True)
    own, _ = iris.arrays("testing")
    with pytest.warns(UserWarning, match="in the units of the dataset, or raw=True"):
        await model.predict(own["model"])
    await model.predict(own["model"], raw=True)


async def test_a_model_that_knows_of_no_data_takes_its_own_numbers() -> None:
    model = await create(SOFTMAX)
    found = await model.predict(FLOWERS)
    assert isinstance(found, np.ndarray)
    assert (found == await model.predict(FLOWERS, raw=True)).all()


async def test_several_inputs_and_outputs() -> None:
    x = {"a": [[10.0], [20.0], [30.0], [40.0]], "b": [[0.1], [1.5], [0.1], [1.5]]}
    y = {"size": [[100.0], [200.0], [300.0], [400.0]], "kind": [0, 1, 0, 1]}
    data = Dataset(x, y, standardize=["a"], standardize_targets=True, **ALL)
    model = await create(
        """a:input shape=[1]; b:input shape=[1]; size:output shape=[1]; kind:output shape=[2];
        size:layers mul(node=a, [1]); kind:layers concat([a, b], axis=0), softmax();""",
        data,
    )
    for used in (model, await again(model)):
        found = await used.predict({"a": x["a"], "b": x["b"]})
        assert np.ravel(found["size"]).tolist() == pytest.approx([100, 200, 300, 400], rel=1e-4)
        assert found["kind"].classes == [1, 1, 0, 1]
        own = {"a": [[-1.0], [0.0], [1.0], [2.0]], "b": x["b"]}
        assert (await used.predict(own, raw=True))["size"].tolist() == own["a"]


# One row.


@pytest.mark.parametrize("row", [FLOWERS[0], tuple(FLOWERS[0]), np.array(FLOWERS[0])], ids=repr)
async def test_one_row_alone_is_answered_by_one(row: Any) -> None:
    model, _ = await flowers()
    found = await model.predict(row)
    assert (found.classes, found.shape) == (["setosa"], (1, 3))
    assert (await (await create(SOFTMAX)).predict(row)).shape == (1, 3)


async def test_scalars_for_models_of_one_feature() -> None:
    data = Dataset([1.0, 2.0, 3.0], [10.0, 20.0, 30.0], **ALL)
    model = await create("m:input shape=[1]; m:output shape=[1]; m:layers mul(10);", data)
    for given in (2, 2.0, [2.0], [[2.0]], np.float32(2)):
        assert (await model.predict(given)).tolist() == [[20]]
    assert (await model.predict([1, 2, 3])).tolist() == [[10], [20], [30]]


@pytest.mark.parametrize(
    ("shape", "given", "rows"),
    [
        ((8, 8), (64,), 1),
        ((8, 8), (8, 8), 1),
        ((8, 8), (5, 64), 5),
        ((8, 8), (5, 8, 8), 5),
        ((8, 8), (5, 1, 8, 8), 5),
        ((1, 8, 8), (5, 8, 8), 5),
        ((1, 8, 8), (8, 8), 1),
    ],
)
async def test_rows_that_have_the_layout(shape: Any, given: Any, rows: int) -> None:
    model = await create(f"m:input shape={[*shape]}; m:output shape={[*shape]}; m:layers mul(2);")
    data = np.arange(np.prod(given), dtype="float32").reshape(given)
    found = await model.predict(data)
    assert found.tolist() == (2 * data).reshape(rows, *shape).tolist()


@pytest.mark.parametrize("given", [(5, 16, 20, 3), (16, 20, 3), (3, 20, 16), (5, 3, 20, 16)])
async def test_as_many_elements_in_another_layout_are_refused(given: Any) -> None:
    model = await create("m:input shape=[3, 16, 20]; m:output shape=[960]; m:layers flatten();")
    with pytest.raises(DataError, match=r"takes rows of \[3, 16, 20\].*in another order") as caught:
        await model.predict(np.zeros(given))
    assert caught.value.code == "NNM702"


# Tables.


def table() -> TableDataset:
    return TableDataset(
        {
            "width": [10, 20, 30, 40, 12, 22],
            "colour": ["red", "blue", "red", "blue", "red", "blue"],
            "kind": ["a", "b", "a", "b", "a", "b"],
        },
        standardize=["width"],
        **ALL,
    )


class Frame:
    """A data frame as pandas and Polars have them, as far as it is looked at."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self.columns = list(columns)
        self._cells = columns

    def __getitem__(self, name: str) -> Any:
        return SimpleNamespace(tolist=lambda: self._cells[name])


@pytest.mark.parametrize(
    ("rows", "count"),
    [
        ({"width": [30, 20], "colour": ["red", "blue"]}, 2),
        ({"colour": ["red", "blue"], "width": [30, 20], "more": [0, 0]}, 2),
        ([{"width": 30, "colour": "red"}, {"width": 20, "colour": "blue"}], 2),
        ([[30, "red"], [20, "blue"]], 2),
        ([(30, "red"), (20, "blue")], 2),
        (np.array([[30, "red"], [20, "blue"]], object), 2),
        (Frame({"colour": ["red", "blue"], "width": [30, 20], "kind": ["a", "b"]}), 2),
        (table().encode([[30, "red"], [20, "blue"]]), 2),
        ([30, "red"], 1),
        ({"width": 30, "colour": "red"}, 1),
        (
            SimpleNamespace(
                index=["width", "colour"], to_dict=lambda: {"width": 30, "colour": "red"}
            ),
            1,
        ),
    ],
    ids=[
        *("columns", "other order", "dicts", "lists", "tuples", "objects", "frame", "encoded"),
        *("row", "dict", "series"),
    ],
)
async def test_rows_of_a_table(rows: Any, count: int) -> None:
    data = table()
    # The weights tell all three features apart.
    model = await create("m:input shape=[3]; m:output shape=[2]; m:layers matmul(w);", data)
    model.state.parameters.set("w1", [[1, 2], [3, 4], [5, 6]])
    own = data.standardization["model"].apply(data.encode([[30, "red"], [20, "blue"]]))
    expected = (await model.predict(own, raw=True))[:count]
    for used in (model, await again(model)):
        found = await used.predict(rows)
        total = np.clip(expected, 0, 1)
        np.testing.assert_allclose(found, total / total.sum(axis=1, keepdims=True), rtol=1e-5)
        assert len(found.classes) == count


async def test_columns_by_the_names_of_features() -> None:
    model, _ = await flowers()
    named = {"petal_width": 0.2, "petal_length": 1.4, "sepal_width": 3.5, "sepal_length": 5.1}
    expected = (await model.predict(FLOWERS[0])).tolist()
    assert (await model.predict(named)).tolist() == expected
    assert (
        await model.predict(Frame({name: [value] for name, value in named.items()}))
    ).tolist() == (expected)
    for wrong in ({"petal_width": 0.2}, [{**named}, {"petal_width": 3}]):
        with pytest.raises(DataError) as caught:
            await model.predict(wrong)
        assert caught.value.code in ("NNM710", "NNM702")


class Numbers(Frame):
    """A data frame of numbers alone, which is an array, too."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array([self[name].tolist() for name in self.columns], dtype).T


async def test_a_dataset_made_of_a_data_frame_knows_its_columns() -> None:
    frame = Numbers({"width": [1.0, 2.0, 3.0], "height": [6.0, 5.0, 4.0]})
    model = await create(
        "m:input shape=[2]; m:output shape=[2]; m:layers matmul(w);",
        Dataset(frame, [[0.5, 1]] * 3, **ALL),
    )
    expected = (await model.predict([[1, 6], [2, 5], [3, 4]])).tolist()
    turned = Numbers({"height": [6.0, 5.0, 4.0], "more": [0, 0, 0], "width": [1.0, 2.0, 3.0]})
    for used in (model, await again(model)):
        assert (await used.predict(frame)).tolist() == expected
        assert (await used.predict(turned)).tolist() == expected
        with pytest.raises(DataError, match='no column "width"'):
            await used.predict(Numbers({"height": [6.0], "depth": [1.0]}))
    numbered = Numbers({"0": [1.0, 2.0], "1": [6.0, 5.0]})
    alike = Numbers({"width": [1.0, 2.0]})
    alike.columns *= 2
    for given in (numbered, alike):
        assert Dataset(given, [[0.5, 1]] * 2, **ALL).inputs["model"].features == ()


async def test_a_dict_of_cells_may_hold_arrays_without_dimensions() -> None:
    model, iris = await flowers()
    names = iris.inputs["model"].features
    cells = {name: np.array(value) for name, value in zip(names, FLOWERS[0], strict=True)}
    assert (await model.predict(cells)).tolist() == (await model.predict(FLOWERS[0])).tolist()


class Lazy:
    """A frame of Polars that is still to be computed, which does not like to be asked."""

    @property
    def columns(self) -> list[str]:
        raise AssertionError("asking for the columns computes them")

    def collect(self) -> Frame:
        return Frame({"width": [30], "colour": ["red"]})


async def test_a_frame_that_is_still_to_be_computed_is_told() -> None:
    model = await create("m:input shape=[3]; m:output shape=[2]; m:layers matmul(w);", table())
    with pytest.raises(DataError, match="a Lazy holds no rows yet") as caught:
        await model.predict(Lazy())
    assert caught.value.hint == "call its collect() first"
    assert len(await model.predict(Lazy().collect())) == 1


class Twice(Frame):
    """A data frame two of whose columns have one name: it gives both for it, as pandas does."""

    def __init__(self) -> None:
        super().__init__({"width": [30, 20], "colour": ["red", "blue"]})
        self.columns.append("width")

    def __getitem__(self, name: str) -> Any:
        return super().__getitem__(name) if name == "colour" else Frame({name: [30, 20]})


async def test_a_column_that_comes_twice_is_told_by_its_name() -> None:
    model = await create("m:input shape=[3]; m:output shape=[2]; m:layers matmul(w);", table())
    with pytest.raises(DataError, match='two columns are called "width"'):
        await model.predict(Twice())


async def test_words_that_were_not_there_are_told() -> None:
    data = TableDataset(
        {"colour": ["red", "blue"] * 3, "kind": ["a", "b"] * 3}, unknown="error", **ALL
    )
    model = await create("m:input shape=[2]; m:output shape=[2]; m:layers matmul(w);", data)
    with pytest.raises(DataError, match="known: blue, red") as caught:
        await model.predict(["green"])
    assert caught.value.code == "NNM706"


# Pictures.

HEIGHT, WIDTH = 5, 6
COLOURS = "m:input shape={channels:3, height:5, width:6}; m:output shape=[90]; m:layers flatten();"


def pixels(count: int = 4) -> Any:
    return np.random.default_rng(2).integers(0, 256, (count, HEIGHT, WIDTH, 3)).astype("uint8")


def photo(array: Any, mode: str) -> Any:
    """Return an image as PIL has them, as far as it is looked at."""
    return SimpleNamespace(mode=mode, size=(array.shape[1], array.shape[0]), tobytes=array.tobytes)


def of_canvas(array: Any, alpha: int = 255) -> Any:
    """Return ImageData of an RGB array."""
    plane = np.full((*array.shape[:2], 1), alpha, "uint8")
    data = np.concatenate([array, plane], axis=2).tobytes()
    return SimpleNamespace(width=array.shape[1], height=array.shape[0], data=data)


async def create_coloured(**options: Any) -> NNModel:
    data = ImageDataset(pixels(), np.zeros((4, 90)) + 0.5, **ALL, **options)
    return await create(COLOURS, data)


@pytest.mark.parametrize(
    ("make", "count"),
    [
        (lambda x: x, 4),
        (lambda x: x.astype("float64"), 4),
        (lambda x: x / 255, 4),
        (lambda x: x.tolist(), 4),
        (lambda x: list(x), 4),
        (lambda x: x[0], 1),
        (lambda x: x.tobytes(), 4),
        (lambda x: x[0].tobytes(), 1),
        (lambda x: x.reshape(4, -1), 4),
        (lambda x: [photo(one, "RGB") for one in x], 4),
        (lambda x: photo(x[0], "RGB"), 1),
        (lambda x: [of_canvas(one) for one in x], 4),
        (lambda x: of_canvas(x[0]), 1),
    ],
    ids=[
        *("bytes", "floats", "light", "lists", "arrays", "one", "memory", "memory of one", "flat"),
        *("photos", "one photo", "canvases", "one canvas"),
    ],
)
async def test_pictures_of_a_dataset(make: Any, count: int) -> None:
    model = await create_coloured()
    expected = pixels().transpose(0, 3, 1, 2).reshape(4, 90)[:count] / 255
    for used in (model, await again(model)):
        np.testing.assert_allclose(await used.predict(make(pixels())), expected, atol=1e-6)


async def test_pictures_are_standardised_by_channel() -> None:
    model = await create_coloured(standardize=True)
    for used in (model, await again(model)):
        found = (await used.predict(pixels())).reshape(4, 3, -1)
        np.testing.assert_allclose(found.mean(axis=(0, 2)), 0, atol=1e-5)
        np.testing.assert_allclose(found.std(axis=(0, 2)), 1, atol=1e-4)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            np.zeros((4, 3, HEIGHT, WIDTH)),
            r"\[5, 6, 3\] \(height × width × channels\).*\[3, 5, 6\]",
        ),
        (np.zeros((4, HEIGHT, WIDTH, 4)), r"\[5, 6, 3\].*\[5, 6, 4\]"),
        (np.zeros((4, WIDTH, HEIGHT, 3)), r"\[6, 5, 3\].*in another order"),
        (bytes(100), "100 pixels do not divide"),
        (photo(pixels()[0, :, :, 0], "L"), r'mode "L", 1 channels.*pictures 3'),
        (photo(pixels()[0], "P"), "known modes: L, LA, RGB, RGBA"),
        (photo(pixels()[0, :4], "RGB"), r"6 × 4 pixels.*6 × 5"),
        (of_canvas(pixels()[0], 17), "transparent pixels"),
        (np.ones((4, HEIGHT, WIDTH, 3)), "all pixels are 0 or 1"),
    ],
    ids=["layout", "channels", "turned", "bytes", "mode", "palette", "size", "alpha", "binary"],
)
async def test_pictures_that_do_not_fit(given: Any, words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        await (await create_coloured()).predict(given)
    assert caught.value.code == "NNM702"


@pytest.mark.parametrize("white", [None, 16.0])
async def test_white_is_that_of_the_dataset(white: float | None) -> None:
    grey = (pixels()[:, :, :, 0] / 16).astype("uint8")
    data = ImageDataset(grey, [0, 1, 0, 1], white=white, **ALL)
    model = await create(
        "m:input shape=[5, 6]; m:output shape=[2]; m:layers flatten(), matmul(w);", data
    )
    own = data.arrays("training")[0]["model"]
    for used in (model, await again(model)):
        expected = await used.predict(np.asarray(own), raw=True)
        found = await used.predict(grey[list(data.rows("training"))])
        assert found.classes == np.argmax(expected, axis=1).tolist()


async def test_canvases_are_grey_where_the_dataset_is() -> None:
    grey = pixels()[:, :, :, 0]
    model = await create(
        "m:input shape=[5, 6]; m:output shape=[5, 6]; m:layers identity();",
        ImageDataset(grey, np.zeros((4, 5, 6)) + 0.5, **ALL),
    )
    one = pixels()[0]
    luma = np.round(one @ np.array([0.299, 0.587, 0.114])) / 255
    np.testing.assert_allclose((await model.predict(of_canvas(one)))[0], luma, atol=0.005)


# Texts and sequences.


async def test_texts_of_a_language_model() -> None:
    data = TextDataset("hello world, hello you", 4, **ALL)
    source = """m:input int32 shape=[] sequence=letters; m:output shape=[11] sequence=letters;
        m:layers embedding(e, size=11, shape=[11]), softmax();"""
    model = await create(source, data)
    letters = data.labels()
    assert letters is not None
    numbers = [[letters.index(letter) for letter in text] for text in ("hello", "you")]
    expected = await model.predict(numbers, raw=True)
    for used in (model, await again(model)):
        found = await used.predict(["hello", "you"])
        for row, one in zip(found.probabilities, expected, strict=True):
            np.testing.assert_allclose(row, one, rtol=1e-5)
        assert [len(row) for row in found.classes] == [5, 3]
        assert {letter for row in found.classes for letter in row} <= {*letters}
        alone = await used.predict("you")
        np.testing.assert_allclose(alone[0], expected[1], rtol=1e-5)
    with pytest.raises(DataError, match="row 1: character 0 'x'") as caught:
        await model.predict(["hello", "x"])
    assert caught.value.code == "NNM706"


async def test_one_sequence_alone() -> None:
    model = await create(
        "m:input shape=[2] sequence=words; m:output shape=[2]; m:layers reduceSum(axes=[words]);"
    )
    assert (await model.predict([[1, 2], [3, 4], [5, 6]])).tolist() == [[9, 12]]
    with pytest.raises(DataError, match=r"takes \[rows, length, 2\]"):
        await model.predict([[1, 2, 3], [4, 5, 6]])


# Answers.


async def test_logits_become_probabilities() -> None:
    source = "m:input shape=[2]; m:output shape=[2]; m:loss SCE; m:layers mul([0, 3]);"
    data = Dataset([[1.0, 1.0], [1.0, -1.0]], [1, 0], labels=["no", "yes"], **ALL)
    model = await create(source, data)
    for used in (model, await again(model)):
        found = await used.predict([[1.0, 1.0], [1.0, -1.0]])
        yes = 1 / (1 + np.exp(-3))
        np.testing.assert_allclose(found, [[1 - yes, yes], [yes, 1 - yes]], rtol=1e-3, atol=2e-3)
        assert found.classes == ["yes", "no"]


@pytest.mark.parametrize("shape", ["[1]", "[]"])
async def test_yes_and_no(shape: str) -> None:
    data = Dataset([[0.0], [1.0]], [0, 1], labels=["no", "yes"], kinds={"model": "classes"}, **ALL)
    layers = "sigmoid()" if shape == "[1]" else "reduceSum(), sigmoid()"
    source = f"m:input shape=[1]; m:output shape={shape}; m:layers {layers};"
    found = await (await create(source, data)).predict([[-2.0], [2.0]])
    assert found.classes == ["no", "yes"]
    assert np.ravel(found).tolist() == pytest.approx([0.1192, 0.8808], abs=1e-4)
    assert repr(found) == "no 88.1% (yes 11.9%)\nyes 88.1% (no 11.9%)"


async def test_several_yes_and_no() -> None:
    data = Dataset([[0.0] * 3] * 2, [[0, 1, 1], [1, 0, 1]], labels=["a", "b", "c"], **ALL)
    model = await create("m:input shape=[3]; m:output shape=[3]; m:layers sigmoid();", data)
    found = await model.predict([[-2, 2, 1], [-1, -1, -1]])
    assert found.classes == [["b", "c"], []]
    assert repr(found).splitlines()[0] == "b 88.1%, c 73.1%, a 11.9%"


async def test_a_prediction_is_readable_and_an_array() -> None:
    model, _ = await flowers()
    found = await model.predict(FLOWERS * 5)
    lines = repr(found).splitlines()
    assert lines[0].startswith("setosa ") and "% (" in lines[0]
    assert (len(lines), lines[-1]) == (11, "… and 5 more rows")
    array = np.asarray(found)
    assert array.shape == found.shape == (15, 3)
    assert (found[2] == array[2]).all() and (found[-1] == array[-1]).all()
    assert [row.tolist() for row in found] == found.tolist() == array.tolist()
    assert found.argmax(axis=1).tolist() == array.argmax(axis=1).tolist()
    assert (found == array).all() and (found == await model.predict(FLOWERS * 5)).all()
    assert len(found) == 15
    with pytest.raises(AttributeError):
        _ = found.nothing


async def test_a_snapshot_of_before_is_read_as_before() -> None:
    """Without the forms of inputs, which older snapshots lack, rows are standardised in order."""
    model, _ = await flowers()
    file = read(await model.save(optimizer=False))
    metadata = dict(file.metadata)
    content = json.loads(metadata["webnnm.normalisation"])
    assert content.pop("forms")
    metadata["webnnm.normalisation"] = json.dumps(content)
    tensors = {name: tensor.array() for name, tensor in file.tensors.items()}
    del metadata[CHECKSUM]
    body = [array.data for array in tensors.values()]
    metadata[CHECKSUM] = compute_checksum(body, header(tensors, metadata))
    old = await NNModel.load(b"".join(chunks(tensors, metadata)), **QUIET)
    np.testing.assert_allclose(await old.predict(FLOWERS), await model.predict(FLOWERS), rtol=1e-5)


async def test_a_row_without_numbers_has_no_class() -> None:
    flowers = Dataset(FLOWERS * 4, [0, 1, 2] * 4)
    async with await NNModel.create(source=SOFTMAX, dataset=flowers, **QUIET) as model:
        assert len((await model.predict(FLOWERS)).classes) == 3
        with pytest.raises(DataError, match=r"NNM707: row 1: .* nan"):
            await model.predict([FLOWERS[0], [math.nan, 1, 2, 3]])
