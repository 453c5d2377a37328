"""Arrays that users hand over, and get: no writer changes what was taken, all are NumPy's."""

from __future__ import annotations

import sys
import tracemalloc
from array import array
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from webnnm import Dataset, GraphBuilder, ImageDataset, NNModel, StreamDataset, backend
from webnnm.core.arrays import HostArray
from webnnm.data.series.sequences import Sequences

np = pytest.importorskip("numpy")

LINE = "m:input shape=[2]; m:output shape=[1]; m:layers matmul(w);"
ALL = {"split": (1, 0, 0)}


async def line() -> NNModel:
    return await NNModel.create(source=LINE, backend="numpy", log=lambda _: None)


# What was taken stays as it was.


async def test_a_parameter_is_a_copy_of_what_was_set() -> None:
    model = await line()
    given = np.ones((2, 1), "float32")
    model.state.parameters.set("w1", given)
    given[:] = 7
    assert (await model.predict([[1, 1]])).tolist() == [[2]]
    again = await NNModel.load(await model.save(), backend="numpy", log=lambda _: None)
    assert model.params()[0].value.tolist() == again.params()[0].value.tolist() == [[1], [1]]


async def test_parameters_that_are_taken_are_copies() -> None:
    model = await line()
    given = np.ones((2, 1), "float32")
    await model.load_params({"w1": given})
    given[:] = 7
    assert model.params()[0].value.tolist() == [[1], [1]]


async def test_the_value_of_a_parameter_is_read_only() -> None:
    model = await line()
    for value in (model.params()[0].value, (await line()).params()[0].value):
        with pytest.raises(ValueError, match="read-only"):
            value[:] = 7


def float_rows() -> Any:
    return np.arange(8, dtype="float32").reshape(4, 2)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: Dataset(x, [0, 1, 0, 1], **ALL),
        lambda x: Dataset(HostArray.of(x), [0, 1, 0, 1], **ALL),
        lambda x: Dataset(x.reshape(4, 2, 1), [0, 1, 0, 1], length="max", **ALL),
        lambda x: ImageDataset(x.reshape(4, 2, 1), [0, 1, 0, 1], white=1, layout="hw", **ALL),
    ],
    ids=["array", "host array", "sequences", "images"],
)
def test_a_dataset_is_a_copy_of_its_inputs(make: Callable[[Any], Dataset]) -> None:
    given = float_rows()
    data = make(given)
    given[:] = np.nan
    found = data.arrays("training")[0]["model"].tolist()
    assert np.ravel(found).tolist() == list(range(8))


def test_a_dataset_is_a_copy_of_its_outputs() -> None:
    given = float_rows()
    data = Dataset([1.0, 2.0, 3.0, 4.0], given, **ALL)
    given[:] = np.nan
    assert np.ravel(data.arrays("training")[1]["model"].tolist()).tolist() == list(range(8))


def test_any_buffer_is_copied() -> None:
    given = array("f", [1, 2, 3])
    data = Dataset(given, [0.5, 1.5, 2.5], **ALL)
    given[0] = 7
    assert data.arrays("training")[0]["model"].tolist() == [1, 2, 3]


async def test_a_stream_may_fill_one_array_anew() -> None:
    buffer = np.zeros((1, 2), "float32")

    def source(_subset: str, _epoch: int) -> Iterator[Any]:
        for number in range(4):
            buffer[:] = number
            yield buffer, [[0.5]]

    stream = await StreamDataset.create(source, rows={"training": 4}, items="blocks")
    blocks = [x["model"].tolist() async for x, _ in stream.blocks("training", rows=4)]
    assert blocks == [[[0, 0], [1, 1], [2, 2], [3, 3]]]


async def test_a_context_keeps_the_data_that_were_set() -> None:
    model = await line()
    model.state.parameters.set("w1", [[1], [1]])
    context = await model.create_context()
    given = np.ones((1, 2), "float32")
    context.set_data(given)
    given[:] = 7
    await model.run(context)
    assert (await context.output()).tolist() == [[2]]


async def test_a_constant_keeps_its_value() -> None:
    b = GraphBuilder(await backend("numpy"))
    given = np.ones(2, "float32")
    y = b.input("x", "float32", [2]) * b.constant(given)
    given[:] = 7
    graph = await b.build_async({"y": y})
    assert (await graph.run({"x": [1, 2]}))["y"].tolist() == [1, 2]


@pytest.mark.parametrize(
    "given",
    [lambda: [1.0, 2.0], lambda: np.ones(2, "float64"), lambda: HostArray.of([1.0]), lambda: b"12"],
    ids=["list", "other type", "packed", "bytes"],
)
def test_what_nobody_else_can_write_is_not_copied(given: Callable[[], Any]) -> None:
    copies: list[HostArray] = []

    class Noted(HostArray):
        __slots__ = ()

        def copy(self) -> HostArray:
            copies.append(self)
            return super().copy()

    Noted.of(given(), "float32", copy=True)
    assert not copies


@pytest.mark.skipif(sys.platform == "emscripten", reason="a page cannot trace memory")
def test_a_large_dataset_takes_one_copy() -> None:
    given = np.zeros((1000, 1000), "float32")
    given[:, 0] = 1
    tracemalloc.start()
    try:
        data = Dataset(given, [0.5 + k for k in range(1000)], **ALL)
        held, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert data.size("training") == 1000
    assert 4e6 < held < 5e6
    assert most < 6e6


# What is handed out are arrays of NumPy.


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "int64", "uint8"])
def test_arrays_of_a_dataset_are_arrays_of_numpy(dtype: str) -> None:
    data = Dataset(np.arange(6, dtype=dtype).reshape(3, 2), [0, 1, 0], **ALL)
    inputs, outputs = data.arrays("training")
    found = np.asarray(inputs["model"])
    assert (found.dtype, found.shape) == (np.dtype(dtype), (3, 2))
    assert found.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert np.asarray(outputs["model"]).dtype == np.dtype("int32")
    assert np.stack([inputs["model"], inputs["model"]]).shape == (2, 3, 2)
    assert (np.ones((3, 2)) + inputs["model"]).tolist() == [[1, 2], [3, 4], [5, 6]]


def test_all_that_datasets_return_converts() -> None:
    data = Dataset([[1.0, 2.0], [3.0]], [0, 1], length="max", batch_size=2, **ALL)
    batch = next(data.batches("training"))
    sample = data.sample(0)[0]["model"]
    for found, shape in (
        (data.arrays("training")[0]["model"], (2, 2)),
        (data.masks("training")["model"], (2, 2)),
        (batch.inputs["model"], (2, 2)),
        (batch.valid_mask(), (2,)),
        (sample, (2,)),
    ):
        assert (np.asarray(found).dtype, np.asarray(found).shape) == (np.dtype("float32"), shape)


def test_types_and_copies_on_request() -> None:
    given = HostArray.of([1, 2], "float32")
    assert np.asarray(given, dtype="int64").tolist() == [1, 2]
    assert np.asarray(given, dtype="int64").dtype == np.dtype("int64")
    copied = np.array(given)
    copied[:] = 7
    assert given.tolist() == [1, 2]
    assert np.asarray(HostArray.of([1, -1], "int4")).tolist() == [1, -1]


def test_copies_of_sequences_keep_their_lengths() -> None:
    words = Sequences("int32", (2, 2), bytearray(16), [2, 1])
    assert words.copy().lengths == (2, 1)
