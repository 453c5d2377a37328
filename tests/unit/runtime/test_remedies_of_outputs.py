"""What the hints on outputs and labels say to write makes the model fit."""

from __future__ import annotations

import re
from typing import Any

import pytest

from webnnm import DataError, Dataset, NNModel

pytest.importorskip("numpy")

PIXELS = "m:input shape={{channels:1, height:4, width:5}}; m:output shape={shape}; "
PIXELS += "m:layers conv2d(k, filters=3, kernel=3, padding=same), {end}; {loss}"


def grid(*shape: int, at: int = 0) -> Any:
    """Return nested lists of numbers from 0 to 2."""
    if not shape:
        return (at * 7 + at // 3) % 3
    return [grid(*shape[1:], at=at * 5 + k) for k in range(shape[0])]


def one_hot(labels: Any) -> Any:
    """Return labels as rows of 0 and 1, the classes last."""
    if isinstance(labels, int):
        return [float(labels == k) for k in range(3)]
    return [one_hot(each) for each in labels]


async def train(source: str, data: Dataset) -> None:
    """Train a model for an epoch, or raise what is wrong with it."""
    model = await NNModel.create(source=source, dataset=data, backend="numpy", log=lambda _: None)
    try:
        await model.train(epochs=1, seeds=0)
    finally:
        model.close()


def apply_remedy(source: str, hint: str) -> str:
    """Return a text after what a hint says to write."""
    transpose = re.search(r"transpose\(permutation=\[[\d, ]+\]\)", hint)
    shape = re.search(r"shape=\[[\d, ]+\] at the output", hint)
    assert transpose and shape, hint
    source = source.replace("softmax(axis=0)", f"softmax(axis=0), {transpose[0]}")
    written = shape[0].removesuffix(" at the output")
    return re.sub(r"m:output shape=\[[\d, ]+\]", f"m:output {written}", source)


async def test_classes_of_pixels() -> None:
    labels = [grid(4, 5, at=row) for row in range(6)]
    images = [grid(1, 4, 5, at=row) for row in range(6)]
    data = Dataset(images, labels, split=(1, 0, 0), kinds={"model": "classes"})
    source = PIXELS.format(shape="[3, 4, 5]", end="softmax(axis=0)", loss="")
    with pytest.raises(DataError) as caught:
        await train(source, data)
    assert "labels are for 4 × 5 places" in caught.value.message
    await train(apply_remedy(source, caught.value.hint), data)


async def test_softmax_of_channels() -> None:
    data = Dataset([grid(1, 4, 5)] * 4, [grid(3, 4, 5)] * 4, split=(1, 0, 0))
    source = PIXELS.format(shape="[3, 4, 5]", end="softmax(axis=0)", loss="")
    with pytest.raises(DataError) as caught:
        await train(source, data)
    assert caught.value.code == "NNM604"
    after = Dataset([grid(1, 4, 5)] * 4, one_hot([grid(4, 5)] * 4), split=(1, 0, 0))
    await train(apply_remedy(source, caught.value.hint), after)
    loss = re.search(r"m:loss \w+;", caught.value.hint)
    assert loss
    await train(source + loss[0], data)


async def test_softmax_along_the_wrong_one_of_two_dimensions() -> None:
    source = (
        "m:input shape=[4, 1]; m:output shape=[4, 3]; m:layers matmul(w), add(b), softmax(axis=0);"
    )
    rows = [[[float(row * n % 5)] for n in range(4)] for row in range(12)]
    labels = [[[float(k == n % 3) for k in range(3)] for n in range(4)] for _ in range(12)]
    with pytest.raises(DataError) as caught:
        await train(source, Dataset(rows, labels))
    assert caught.value.hint.startswith("write softmax() without axis=")
    await train(source.replace("axis=0", ""), Dataset(rows, labels))


async def test_softmax_over_a_sequence() -> None:
    source = "m:input shape=[2] sequence=true; m:output shape=[3] sequence=true; "
    source += "m:layers matmul(w), softmax(axis=sequence);"
    data = Dataset([grid(4, 2)] * 4, one_hot([grid(4)] * 4), split=(1, 0, 0))
    with pytest.raises(DataError) as caught:
        await train(source, data)
    assert "transpose" not in caught.value.hint
    assert "write softmax() without axis=" in caught.value.hint
    await train(source.replace("axis=sequence", ""), data)
    loss = re.search(r"m:loss \w+;", caught.value.hint)
    assert loss
    await train(source + loss[0], data)


@pytest.mark.parametrize("leading", [(), (2,)])
async def test_more_classes_than_scores(leading: tuple[int, ...]) -> None:
    labels = [grid(*leading, at=row) for row in range(6)]
    shape = [*leading, 2]
    source = (
        f"m:input shape={[*leading, 4]}; m:output shape={shape}; m:layers matmul(w), softmax();"
    )
    rows = [grid(*leading, 4, at=row) for row in range(6)]
    data = Dataset(rows, labels, split=(1, 0, 0), kinds={"model": "classes"})
    with pytest.raises(DataError) as caught:
        await train(source, data)
    found = re.search(r"write (shape=\[[\d, ]+\]) at the output", caught.value.hint)
    assert found, caught.value
    await train(source.replace(f"output shape={shape}", f"output {found[1]}"), data)
