"""Masks of everything are those that the model draws for each point of a grid."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import webnnm
from tests.parity.pretrained import fixtures
from tests.parity.pretrained.outcome import files
from tests.parity.tasks.processors import draw_pixels
from webnnm import DataError
from webnnm.core.arrays import HostArray
from webnnm.tasks.maps import resize_maps
from webnnm.transformers.processors.files import read_picture_processor
from webnnm.transformers.processors.pictures import join_pictures, process_picture

pytest.importorskip("PIL.Image")
QUIET: dict[str, Any] = {"backend": "numpy", "log": lambda _: None}
WIDTH, HEIGHT = 41, 30
ALL = {"pred_iou_thresh": 0, "stability_score_thresh": 0, "crops_nms_thresh": 1.0}


def make_files() -> tuple[dict[str, Any], int]:
    """Return the files of a small model, and the side of its pictures."""
    fixture = fixtures.read()["sam-plain"]
    side = fixture.config["vision_config"]["image_size"]
    processor = {
        "image_processor_type": "SamImageProcessor",
        "size": {"longest_edge": side},
        "pad_size": {"height": side, "width": side},
    }
    return files(fixture, fixtures.SEED) | {
        "preprocessor_config.json": json.dumps(processor).encode()
    }, side


async def draw_masks(contents: dict[str, Any], side: int, point: list[float]) -> dict[bytes, float]:
    """Return the masks of a point, drawn by the whole model, with their scores."""
    async with await webnnm.from_pretrained(contents, **QUIET) as model:
        settings = await read_picture_processor(model.read_file)
        picture = await process_picture(
            draw_pixels(WIDTH, HEIGHT), "the picture", settings, backend=model.backend
        )
        height, width = picture.resized
        outputs = await model.predict(
            **join_pictures([picture], settings),
            input_points=[[[[point[0] * width, point[1] * height]]]],
            input_labels=[[[1]]],
        )
        maps = HostArray.of(outputs["pred_masks"][0, 0])
        large = np.asarray(await resize_maps(model.backend, maps, (side, side)))
        cut = HostArray.of(np.ascontiguousarray(large[:, :height, :width]))
        masks = np.asarray(await resize_maps(model.backend, cut, (HEIGHT, WIDTH))) > 0
        scores = outputs["iou_scores"][0, 0].tolist()
        return {mask.tobytes(): score for mask, score in zip(masks, scores, strict=True)}


async def test_masks_are_those_of_the_points() -> None:
    contents, side = make_files()
    expected: dict[bytes, float] = {}
    for x, y in ((0.25, 0.25), (0.75, 0.25), (0.25, 0.75), (0.75, 0.75)):
        expected |= await draw_masks(contents, side, [x, y])
    pipeline = await webnnm.pipeline("mask-generation", contents, **QUIET)
    picture = draw_pixels(WIDTH, HEIGHT)
    async with pipeline as generate:
        # No box shares more than all of another: every mask is kept.
        result = await generate(picture, points_per_crop=2, points_per_batch=3, **ALL)
        few = await generate([picture], points_per_crop=2)
        boxes = await generate(picture, points_per_crop=2, output_bboxes_mask=True, **ALL)
    masks = [np.asarray(mask) for mask in result["masks"]]
    assert {*np.unique(masks)} <= {0, 255}
    assert {(mask > 0).tobytes() for mask in masks} == expected.keys()
    assert result["scores"] == sorted(result["scores"], reverse=True)
    for score in result["scores"]:
        assert score in [pytest.approx(one, abs=1e-4) for one in expected.values()]
    assert len(few) == 1 and len(few[0]["masks"]) <= len(masks)
    for mask, (left, top, right, bottom) in zip(masks, boxes["bounding_boxes"], strict=True):
        rows, columns = np.nonzero(mask)
        corners = (columns.min(), rows.min(), columns.max(), rows.max()) if len(rows) else (0,) * 4
        assert (left, top, right, bottom) == corners


async def test_other_models_and_open_ones_are_refused() -> None:
    contents, _ = make_files()
    async with await webnnm.from_pretrained(contents, **QUIET) as model:
        with pytest.raises(DataError, match="NNM717"):
            await webnnm.pipeline("mask-generation", model)
    other = files(fixtures.read()["vit-base"], fixtures.SEED)
    with pytest.raises(DataError, match="NNM717: vit cannot be used for mask-generation"):
        await webnnm.pipeline("mask-generation", other, **QUIET)
    del contents["preprocessor_config.json"]
    with pytest.raises(DataError, match="NNM715"):
        await webnnm.pipeline("mask-generation", contents, **QUIET)
