"""Labels of pictures that are detected: the same for all, or a list for each."""

from __future__ import annotations

from typing import Any

import pytest

import webnnm
from tests.parity.tasks.pictures import draw, make_files, read_fixtures
from tests.unit.tasks.words import QUIET
from webnnm import DataError

pytest.importorskip("PIL.Image")
pytest.importorskip("tokenizers")
TASK = "zero-shot-object-detection"
SIZES = ((41, 30), (60, 140), (90, 50))
LABELS = [["good", "a bad day"], ["so"], ["good", "so", "what day"]]


@pytest.mark.parametrize("batch_size", [1, 2])
async def test_each_picture_has_its_own_labels(batch_size: int) -> None:
    fixture = next(one for one in read_fixtures() if one["task"] == TASK)
    pictures, settings = draw(SIZES), {"threshold": 0.0, "top_k": 5}
    async with await webnnm.pipeline(TASK, make_files(fixture), **QUIET) as detect:
        alone = [
            await detect(picture, candidate_labels=labels, **settings)
            for picture, labels in zip(pictures, LABELS, strict=True)
        ]
        together: Any = await detect(
            pictures, candidate_labels=LABELS, batch_size=batch_size, **settings
        )
        assert [[one["label"] for one in row] for row in together] == [
            [one["label"] for one in row] for row in alone
        ]
        assert [[one["box"] for one in row] for row in together] == [
            [one["box"] for one in row] for row in alone
        ]
        with pytest.raises(DataError, match="NNM702: 2 lists of labels for 3 pictures"):
            await detect(pictures, candidate_labels=LABELS[:2])


async def test_texts_are_divided_among_pictures() -> None:
    fixture = next(one for one in read_fixtures() if one["task"] == TASK)
    async with await webnnm.from_pretrained(make_files(fixture), **QUIET) as model:
        pixels = [[[[0.1 * n] * 32] * 32] * 3 for n in range(2)]
        texts = [[2, 5, 3], [2, 6, 3], [2, 7, 3], [2, 8, 3]]
        logits = (await model.predict(input_ids=texts, pixel_values=pixels))["logits"]
        assert logits.shape == (2, 16, 2)
        first = await model.predict(input_ids=texts[:2], pixel_values=pixels[:1])
        last = await model.predict(input_ids=texts[2:], pixel_values=pixels[1:])
        parts = [*first["logits"].tolist(), *last["logits"].tolist()]
        for row, part in zip(logits.tolist(), parts, strict=True):
            for one, other in zip(row, part, strict=True):
                assert one == pytest.approx(other, rel=1e-4, abs=1e-5)
        with pytest.raises(DataError, match="NNM702: 3 texts cannot be divided among 2 pictures"):
            await model.predict(input_ids=texts[:3], pixel_values=pixels)
