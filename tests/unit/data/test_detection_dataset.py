"""Pictures with boxes: targets, changes that move them, models, what snapshots keep."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from webnnm import (
    Box,
    Brighten,
    Dataset,
    DetectionDataset,
    Erase,
    Flip,
    NNModel,
    Rotate,
    Shift,
    suggest_detection_model,
)
from webnnm.core.errors import DataError

ALL: dict[str, Any] = {"split": (1, 0, 0)}


def shapes(count: int, side: int = 32, seed: int = 0) -> tuple[list[Any], list[list[Any]]]:
    """Return noise with bright squares and dark discs, and their boxes."""
    draw = Random(seed)
    pictures: list[Any] = []
    boxes: list[list[Any]] = []
    for _ in range(count):
        pixels = [[draw.uniform(0.3, 0.6) for _ in range(side)] for _ in range(side)]
        some: list[Any] = []
        for left in range(0, side, side // 2):
            size = draw.randrange(7, 12)
            x, y = left + draw.randrange(side // 2 - size), draw.randrange(side - size)
            kind = draw.choice(["square", "disc"])
            for row in range(size):
                for column in range(size):
                    far = (column - size / 2 + 0.5) ** 2 + (row - size / 2 + 0.5) ** 2
                    if kind == "square":
                        pixels[y + row][x + column] = draw.uniform(0.7, 1)
                    elif far <= size * size / 4:
                        pixels[y + row][x + column] = draw.uniform(0, 0.2)
            if draw.random() < 0.8:
                some.append((x, y, size, size, kind))
            else:
                for row in range(size):
                    for column in range(size):
                        pixels[y + row][x + column] = draw.uniform(0.3, 0.6)
        pictures.append(pixels)
        boxes.append(some)
    return pictures, boxes


def blank(boxes: list[Any], **options: Any) -> DetectionDataset:
    """Return black pictures of 16 × 12 pixels."""
    pixels = [[[0] * 16] * 12] * len(boxes)
    return DetectionDataset(pixels, boxes, **{**ALL, **options})


def test_targets_have_a_cell_for_every_four_pixels() -> None:
    data = blank([[(2, 1, 4, 4, "cat"), Box(8, 0, 8, 12, "dog")], []])
    field = data.outputs["model"]
    assert (field.shape, field.kind, field.classes) == ((3, 4, 6), "boxes", 2)
    assert data.labels() == ["cat", "dog"]
    assert blank([[(0, 0, 4, 4, 2)]], stride=2).outputs["model"].shape == (6, 8, 7)
    assert blank([[(0, 0, 4, 4, 2)]]).labels() is None
    assert data.boxes("training") == [[(2, 1, 4, 4, "cat", 1), (8, 0, 8, 12, "dog", 1)], []]


def test_boxes_beyond_the_border_are_cut() -> None:
    data = blank([[(-2, 8, 6, 8, "cat"), (15.5, 0, 30, 9, "dog")]])
    assert data.boxes("training") == [[(0, 8, 4, 4, "cat", 1)]]
    assert data.labels() == ["cat", "dog"]


def test_boxes_that_share_a_cell_are_counted() -> None:
    boxes = [[(0, 0, 4, 4, "cat"), (1, 1, 2, 2, "cat")]]
    assert blank(boxes).hidden_boxes == 1
    assert blank(boxes, stride=1).hidden_boxes == 1
    assert blank([[(0, 0, 4, 4, "cat"), (4, 0, 4, 4, "cat")]]).hidden_boxes == 0


@pytest.mark.parametrize(
    ("boxes", "options", "message"),
    [
        ([[(0, 0, 0, 4, "cat")]], {}, "NNM706: image 0, box 0 is 0 × 4 pixels at"),
        ([[], [(0, 0, 1, 1, "a"), (1, 2, "cat")]], {}, "NNM706: image 1, box 1: .* is no box"),
        ([[(16, 0, 4, 4, "cat")]], {}, "NNM706: image 0, box 0 .* outside of 16 × 12"),
        ([[(0, 0, float("nan"), 4, "cat")]], {}, "NNM706: image 0, box 0 is nan"),
        ([(0, 0, 4, 4, "cat")], {}, "NNM706: image 0, box 0: 0 is no box"),
        ([{"x": 1}], {}, "NNM706: image 0: .* is no list of boxes"),
        ([[], []], {}, "NNM706: no picture has a box"),
        ([[(0, 0, 4, 4, "")]], {}, "NNM706: a box has the label"),
        ([[(0, 0, 4, 4, 1.5)]], {}, "NNM706: a box has the label 1.5"),
        ([[(0, 0, 4, 4, "cow")]], {"class_names": ["cat"]}, 'NNM706: there is no class "cow"'),
        ([[(0, 0, 4, 4, "cat")]], {"stride": 5}, "NNM704: cells of 5 × 5 pixels do not fill"),
        ([[(0, 0, 4, 4, "cat")]], {"stride": 0}, "NNM704: stride is 0"),
    ],
)
def test_broken_boxes_are_named(boxes: Any, options: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        blank(boxes, **options)


def test_every_picture_has_a_list() -> None:
    with pytest.raises(DataError, match="NNM702: 1 images, 2 lists of boxes"):
        DetectionDataset([[[0] * 8] * 8], [[], []])


def batch_of(data: DetectionDataset) -> tuple[list[Any], list[list[Box]]]:
    """Return the pictures of a training batch, and the boxes of its targets."""
    batch = next(iter(data.batches("training", epoch=1, shuffle=False)))
    return batch.inputs["model"].tolist(), data.grid.decode_rows(
        batch.outputs["model"], targets=True
    )


@pytest.mark.parametrize(
    "change", [Flip(), Flip(horizontal=False, vertical=True), Flip(vertical=True), Shift(0.2)]
)
def test_boxes_move_with_their_pictures(change: Any) -> None:
    boxes = [[(2, 3, 3, 5, 0)], [(5, 2, 6, 4, 0)]] * 4
    pixels = [
        [[float(x <= c < x + w and y <= r < y + h) for c in range(16)] for r in range(12)]
        for [(x, y, w, h, _)] in boxes
    ]
    data = DetectionDataset(pixels, boxes, batch_size=8, **ALL)
    pictures, moved = batch_of(data.augment(change))
    assert moved != batch_of(data)[1]
    for picture, [box] in zip(pictures, moved, strict=True):
        rows = [number for number, row in enumerate(picture) if any(row)]
        columns = [c for c in range(16) if any(row[c] for row in picture)]
        seen = (columns[0], rows[0], len(columns), len(rows))
        assert box[:4] == pytest.approx(seen, abs=1e-5)


def test_other_changes_leave_boxes_or_are_refused() -> None:
    data = blank([[(2, 3, 3, 5, 0)]] * 3, batch_size=3)
    assert batch_of(data.augment(Brighten(), Erase(), None))[1] == batch_of(data)[1]
    with pytest.raises(DataError, match="NNM704: boxes cannot follow Rotate"):
        data.augment(Flip(), Rotate())
    own = data.augment(lambda inputs, outputs, stream, epoch: (inputs, outputs))
    assert batch_of(own)[1] == batch_of(data)[1]


def test_suggestions_fit_the_grid() -> None:
    wide = suggest_detection_model(blank([[(2, 3, 3, 5, "cat")]], stride=2), "pets")
    assert "pets:output shape={height:6, width:8, values:5};" in wide
    assert wide.count("patterns(filters") == 1
    with pytest.raises(DataError, match="NNM702: dataset has no boxes"):
        suggest_detection_model(Dataset([[1.0], [2.0]], [0.5, 1.5], **ALL))


@pytest.mark.desktop
async def test_suggested_models_find_shapes() -> None:
    pictures, boxes = shapes(120)
    data = DetectionDataset(pictures, boxes, split=(0.7, 0.1, 0.2))
    text = suggest_detection_model(data)
    async with await NNModel.create(source=text, dataset=data, log=lambda _: None) as model:
        warned = {found.id for found in model.review() if found.severity == "warning"}
        assert warned == {"E618"}, "few rows for validation"
        history = await model.train(epochs=20, progress="off")
        assert {found.id for found in history.findings if found.severity == "warning"} <= warned
        assert "map_50" in history.epochs[-1].val_metrics
        result = await model.test()
        assert result.map_50 > 0.8
        assert result.labels == ("disc", "square")
        found = await model.predict(pictures[:3])
        assert [len(some) for some in found] == [len(some) for some in boxes[:3]]
        loaded = await NNModel.load(await model.save(), log=lambda _: None)
        async with loaded:
            assert await loaded.predict(pictures[:3]) == found
            raw = await loaded.predict(pictures[:3], raw=True)
    assert data.decode(None, raw)[0][0].label == found[0][0].label
