"""Streams: rows from generators, cut into blocks, checked as they come; the protocol."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.data import Dataset, Field
from webnnm.data.batch import Batch
from webnnm.data.protocol import (
    AnyDataset,
    BatchedDataset,
    StreamedDataset,
    check_dataset,
    compute_orders,
    load_subset,
)
from webnnm.data.series.sequences import Sequences
from webnnm.data.streams.stream import StreamDataset

PAIR = {"x": Field((2,), "float32")}
NUMBER = {"y": Field((), "float32")}


def numbers(subset: str, epoch: int) -> Iterator[Any]:
    """Yield seven rows, other ones in every epoch."""
    for n in range(7):
        yield {"x": [n, 10 * epoch]}, {"y": n + 0.5}


async def numbers_later(subset: str, epoch: int) -> AsyncIterator[Any]:
    for row in numbers(subset, epoch):
        await asyncio.sleep(0)
        yield row


async def numbers_promised(subset: str, epoch: int) -> Iterator[Any]:
    await asyncio.sleep(0)
    return numbers(subset, epoch)


def in_blocks(subset: str, epoch: int) -> Iterator[Any]:
    for sizes in ([0, 1], [2, 3, 4, 5, 6]):
        yield {"x": [[n, 10 * epoch] for n in sizes]}, {"y": [n + 0.5 for n in sizes]}


def declared(source: Any = numbers, **options: Any) -> StreamDataset:
    given: dict[str, Any] = {"rows": {"training": 7}, "inputs": PAIR, "outputs": NUMBER}
    return StreamDataset(source, **given | options)


async def drain(stream: StreamDataset, rows: int | None = None, epoch: int = 0) -> list[Any]:
    return [both async for both in stream.blocks("training", epoch, rows)]


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 20])
@pytest.mark.parametrize("source", [numbers, numbers_later, numbers_promised, in_blocks])
async def test_blocks_have_the_rows_asked_for(source: Any, rows: int) -> None:
    items: Any = "blocks" if source is in_blocks else "rows"
    stream = await StreamDataset.create(source, rows={"training": 7}, items=items)
    assert (stream.inputs, stream.outputs) == (PAIR, NUMBER)
    found = await drain(stream, rows, epoch=3)
    sizes = [len(x["x"]) for x, _ in found]
    assert sizes[:-1] == [rows] * (len(sizes) - 1)
    assert sum(sizes) == 7
    assert 1 <= sizes[-1] <= rows
    together = [row for x, _ in found for row in x["x"].tolist()]
    assert together == [[n, 30] for n in range(7)]
    assert [y for _, some in found for y in some["y"].tolist()] == [n + 0.5 for n in range(7)]


async def test_what_it_tells_of_itself() -> None:
    stream = declared(rows={"training": 7, "testing": 2}, batch_size=3, name="counting")
    assert [stream.size(part) for part in ("training", "validation", "testing", "full")] == [
        7,
        0,
        2,
        9,
    ]
    assert (stream.num_batches("training"), stream.batchSize) == (3, 3)
    assert repr(stream) == "StreamDataset(counting: training 7, testing 2)"
    assert [len(x["x"]) for x, _ in await drain(stream)] == [3, 3, 1]
    assert stream.labels() is None
    assert stream.decode("y", [0.5]) == [0.5]
    whole = await stream.collect("training")
    assert whole[0]["x"].shape == (7, 2)


async def test_renaming() -> None:
    stream = declared().map(to_model={"x": "model", "y": "answer"})
    assert (list(stream.inputs), list(stream.outputs)) == (["model"], ["answer"])
    inputs, outputs = (await drain(stream, 7))[0]
    assert (inputs["model"].shape, outputs["answer"].shape) == ((7, 2), (7,))
    with pytest.raises(DataError, match='no field "z"'):
        stream.map(to_model={"z": "model"})


async def test_classes_and_labels() -> None:
    def source(subset: str, epoch: int) -> Iterator[Any]:
        for n in range(4):
            yield [n, n], n % 3

    stream = await StreamDataset.create(source, rows={"training": 4}, labels=["a", "b", "c"])
    assert stream.outputs["model"] == Field((), "int32", kind="classes", classes=3)
    assert stream.labels() == ["a", "b", "c"]
    assert stream.mapOutputToLabels(None, [2, 0]) == ["c", "a"]
    assert (await drain(stream, 4))[0][1]["model"].tolist() == [0, 1, 2, 0]


async def test_sequences_always_bring_their_masks() -> None:
    def source(subset: str, epoch: int) -> Iterator[Any]:
        for n in (3, 3, 1, 2):
            yield {"x": list(range(n))}, {"y": [1] * n}

    stream = await StreamDataset.create(
        source, rows={"training": 4}, length=3, kinds={"y": "classes"}
    )
    found = await drain(stream, 2)
    assert all(isinstance(x["x"], Sequences) for x, _ in found)
    assert found[0][0]["x"].mask().tolist() == [[1, 1, 1], [1, 1, 1]]
    assert found[1][0]["x"].lengths == (1, 2)
    assert found[1][0]["x"].tolist() == [[0, 0, 0], [0, 1, 0]]
    assert found[1][1]["y"].tolist() == [[1, -1, -1], [1, 1, -1]]


async def test_arrays_keep_their_type() -> None:
    def source(subset: str, epoch: int) -> Iterator[Any]:
        for n in range(3):
            yield HostArray.of([n, n], "uint8"), [float(n)]

    stream = await StreamDataset.create(source, rows={"training": 3})
    assert stream.inputs["model"] == Field((2,), "uint8")
    assert (await drain(stream, 3))[0][0]["model"].dtype == "uint8"


def rows_of(*rows: Any) -> Any:
    return lambda subset, epoch: iter(rows)


GOOD = ({"x": [1, 2]}, {"y": 0.5})


@pytest.mark.parametrize(
    ("bad", "code", "text"),
    [
        (({"x": [1, 2, 3]}, {"y": 0.5}), "NNM702", r'input "x": rows of \[3\] from row 1 on'),
        (({"x": [1, [2]]}, {"y": 0.5}), "NNM702", 'input "x", from row 1 on'),
        (({"x": [1, float("nan")]}, {"y": 0.5}), "NNM707", "row 1, element 1 is nan"),
        (({"x": [1, 2]}, {"z": 0.5}), "NNM701", 'row 1 has no output "y"'),
        (({"x": [1, 2]}, {"y": "cat"}), "NNM702", 'output "y", from row 1 on'),
        (([1, 2],), "NNM702", "row 1: the source yielded a tuple of 1"),
        ((*GOOD, 1), "NNM702", "row 1: the source yielded a tuple of 3"),
        (7, "NNM702", "row 1: the source yielded a int"),
    ],
)
async def test_bad_rows_have_their_number(bad: Any, code: str, text: str) -> None:
    with pytest.raises(DataError, match=text) as caught:
        await drain(declared(rows_of(GOOD, bad), rows={"training": 2}))
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("bad", "code", "text"),
    [
        (GOOD, "NNM702", "row 1: the source yielded a tuple of 2"),
        ((*GOOD, -1), "NNM704", "sample_weight: row 1 has -1"),
        ((*GOOD, float("inf")), "NNM707", 'weights "sample_weight": row 1, element 0 is inf'),
        ((*GOOD, [1, 2]), "NNM702", 'weights "sample_weight"'),
        ((*GOOD, "much"), "NNM702", 'weights "sample_weight"'),
    ],
)
async def test_bad_weights_have_their_row(bad: Any, code: str, text: str) -> None:
    source = rows_of((*GOOD, 2), bad)
    with pytest.raises(DataError, match=text) as caught:
        await drain(declared(source, rows={"training": 2}, weighted=True))
    assert caught.value.code == code


async def test_weights_follow_their_rows() -> None:
    def source(subset: str, epoch: int) -> Iterator[Any]:
        return ((*row, n) for n, row in enumerate(numbers(subset, epoch)))

    stream = await StreamDataset.create(source, rows={"training": 7})
    found = [block async for block in stream.map(to_model={"y": "z"}).blocks("training", rows=3)]
    assert [weights["sample_weight"].tolist() for _, _, weights in found] == [
        [0, 1, 2],
        [3, 4, 5],
        [6],
    ]


@pytest.mark.parametrize(
    ("field", "values", "text"),
    [
        (Field((), "int32", kind="classes", classes=2), [0, 2], "row 1, element 0 has class 2"),
        (
            Field((2,), "float32", kind="onehot", classes=2),
            [[0, 1], [1, 1]],
            "row 1 is not one-hot",
        ),
    ],
)
async def test_bad_classes(field: Field, values: Any, text: str) -> None:
    source = rows_of(*[({"x": [1, 2]}, {"y": value}) for value in values])
    with pytest.raises(DataError, match=text) as caught:
        await drain(declared(source, rows={"training": 2}, outputs={"y": field}))
    assert caught.value.code == "NNM706"


@pytest.mark.parametrize(
    ("count", "text"), [(6, "more rows than the 6"), (8, "ended after 7 rows")]
)
async def test_as_many_rows_as_declared(count: int, text: str) -> None:
    with pytest.raises(DataError, match=text) as caught:
        await drain(declared(rows={"training": count}), 4)
    assert caught.value.code == "NNM702"


async def test_blocks_of_unequal_rows() -> None:
    source = rows_of(({"x": [[1, 2]]}, {"y": [0.5, 1.5]}))
    with pytest.raises(DataError, match="from row 0 on has unequal rows"):
        await drain(declared(source, items="blocks"))


async def test_options_that_make_no_sense() -> None:
    async def code_of(text: str, **options: Any) -> str:
        with pytest.raises(DataError, match=text) as caught:
            await StreamDataset.create(**{"source": numbers, "rows": {"training": 7}} | options)
        return caught.value.code

    assert await code_of("unknown subset", rows={"train": 7}) == "NNM705"
    assert await code_of("unknown subset", rows={"full": 7}) == "NNM705"
    assert await code_of('rows of "training" are -1', rows={"training": -1}) == "NNM704"
    assert await code_of("batch_size is 0", batch_size=0) == "NNM704"
    assert await code_of("items is", items="row") == "NNM704"
    assert await code_of("length is 'max'", length="max") == "NNM704"
    assert await code_of("no training rows", source=rows_of()) == "NNM705"
    assert await code_of("returned a int", source=lambda subset, epoch: 5) == "NNM702"
    assert await code_of("ragged", source=rows_of(GOOD, ([1, 2, 3], [1]))) == "NNM702"
    for subset in ("validation", "full"):
        with pytest.raises(DataError, match="no rows of its own"):
            await declared().collect(subset)


async def test_sources_are_closed_when_a_stream_is_left() -> None:
    closed: list[str] = []

    def source(subset: str, epoch: int) -> Iterator[Any]:
        try:
            yield from numbers(subset, epoch)
        finally:
            closed.append(subset)

    blocks = declared(source).blocks("training", 0, 2)
    assert len((await anext(blocks))[0]["x"]) == 2
    await blocks.aclose()  # type: ignore[attr-defined]
    assert closed == ["training"]


async def test_other_tasks_run_between_blocks() -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(tick())
    await drain(declared(), 1)
    task.cancel()
    assert ticks >= 6


class Minimal:
    """A dataset that somebody wrote, with batches alone."""

    name = "mine"
    inputs = PAIR
    outputs = NUMBER
    batch_size = 2

    def labels(self, block: str | None = None) -> None:
        return None

    def size(self, subset: str = "full") -> int:
        return 3 if subset == "training" else 0

    def batches(
        self, subset: str, epoch: int = 0, shuffle: bool | None = None, seed: int = 0
    ) -> Iterator[Batch]:
        for first, valid in ((0, 2), (2, 1)) if self.size(subset) else ():
            x = HostArray.of([[first, 0], [first + 1, 0]])
            yield Batch(2, valid, {"x": x}, {"y": HostArray.of([0.5, 1.5])})


def test_protocols() -> None:
    data = Dataset({"x": [[1, 2]]}, {"y": [0.5]})
    assert isinstance(data, AnyDataset)
    assert isinstance(data, BatchedDataset)
    assert not isinstance(data, StreamedDataset)
    assert isinstance(declared(), AnyDataset)
    assert isinstance(declared(), StreamedDataset)
    assert check_dataset(declared()).name == "stream"
    with pytest.raises(DataError, match="a list is not a dataset: it lacks name, inputs") as caught:
        check_dataset([1, 2])
    assert caught.value.code == "NNM714"


def test_a_dataset_of_batches_is_gathered() -> None:
    mine: Any = check_dataset(Minimal())
    inputs, outputs, masks = load_subset(mine, "training")
    assert inputs["x"].tolist() == [[0, 0], [1, 0], [2, 0]]
    assert outputs["y"].tolist() == [0.5, 1.5, 0.5]
    assert masks == {}
    (order,) = compute_orders(mine, "training", [4], seed=2)
    assert order.tolist() == Dataset([1, 2, 3], [0.5, 1.5, 2.5], split=(1, 0, 0)).order(
        "training", 4, seed=2
    )
    with pytest.raises(DataError, match="has no rows"):
        load_subset(mine, "testing")
    with pytest.raises(DataError, match="is a stream"):
        load_subset(declared(), "training")
