"""What models that segment refuse: subtasks that they do not have, and damaged folders."""

from __future__ import annotations

import json
from typing import Any

import pytest

import webnnm
from tests.parity.tasks.pictures import draw, make_files, read_fixtures
from tests.unit.tasks.words import QUIET
from webnnm import DataError


def find_fixture(model: str) -> Any:
    """Return the fixture of a model that segments."""
    fixtures = [one for one in read_fixtures() if one["task"] == "image-segmentation"]
    return next(one for one in fixtures if one["files"]["config.json"]["architectures"] == [model])


async def test_subtasks_that_a_model_does_not_have_are_refused() -> None:
    files = make_files(find_fixture("SegformerForSemanticSegmentation"))
    async with await webnnm.pipeline("image-segmentation", files, **QUIET) as run:
        with pytest.raises(DataError, match=r'NNM704: subtask is "panoptic"\nhint: "semantic"$'):
            await run(draw((32, 32)), subtask="panoptic")
    files = make_files(find_fixture("DetrForSegmentation"))
    async with await webnnm.pipeline("image-segmentation", files, **QUIET) as run:
        hint = '"panoptic" or "instance" or "semantic"'
        with pytest.raises(DataError, match=f'NNM704: subtask is "all"\nhint: {hint}$'):
            await run(draw((32, 32)), subtask="all")
        assert "image-segmentation" in webnnm.list_tasks(run.model)


async def test_instances_of_maskformer_are_refused() -> None:
    files = make_files(find_fixture("MaskFormerForInstanceSegmentation"))
    async with await webnnm.pipeline("image-segmentation", files, **QUIET) as run:
        hint = '"panoptic" or "semantic"'
        with pytest.raises(DataError, match=f'NNM704: subtask is "instance"\nhint: {hint}$'):
            await run(draw((32, 32)), subtask="instance")
        assert webnnm.list_tasks(run.model) == ["image-segmentation"]


async def test_folders_with_damaged_masks_are_refused() -> None:
    fixture = find_fixture("DetrForSegmentation")
    shapes = {name: shape for name, shape in fixture["shapes"].items() if "lay3" not in name}
    with pytest.raises(DataError, match=r"NNM805: .*mask_head\.lay3"):
        await webnnm.pipeline("image-segmentation", make_files({**fixture, "shapes": shapes}))
    files = make_files(fixture)
    config = json.loads(files["config.json"])
    config["backbone_config"]["out_features"] = ["stage2", "stage3", "stage4"]
    broken = files | {"config.json": json.dumps(config).encode()}
    with pytest.raises(DataError, match=r'NNM818: .*"backbone_config\.out_features"'):
        await webnnm.pipeline("image-segmentation", broken)
