"""Pipelines of pictures: pictures of any kind in, plain results out."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

import webnnm
from tests.unit.tasks.tiny_vit import vit_files
from tests.unit.tasks.words import QUIET, folder
from webnnm import DataError
from webnnm.core.arrays import HostArray

pytestmark = pytest.mark.desktop
Image = pytest.importorskip("PIL.Image")
PIXELS = HostArray("uint8", (9, 12, 3), bytes(range(256)) + bytes(range(68)))


def make_image() -> Any:
    return Image.frombytes("RGB", (12, 9), bytes(PIXELS.data))


async def test_pictures_come_as_files_bytes_arrays_and_images(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    make_image().save(buffer, "PNG")
    path = tmp_path / "picture.png"
    path.write_bytes(buffer.getvalue())
    async with await webnnm.pipeline(
        "image-classification", vit_files(*"abc"), **QUIET
    ) as classify:
        expected = await classify(PIXELS)
        assert [*expected[0]] == ["label", "score"] and len(expected) == 3
        assert sum(one["score"] for one in expected) == pytest.approx(1)
        for picture in (path, str(path), buffer.getvalue(), make_image(), PIXELS.public()):
            assert await classify(picture) == expected
        assert await classify([PIXELS, path]) == [expected, expected]
        for (best,) in await classify([PIXELS] * 3, batch_size=2, top_k=1):
            assert best == {**expected[0], "score": pytest.approx(expected[0]["score"], abs=1e-6)}


async def test_scores_follow_from_what_the_processor_says() -> None:
    async with await webnnm.pipeline(
        "image-classification", vit_files(*"abc"), **QUIET
    ) as classify:
        usual = await classify(PIXELS, function_to_apply="none")
        with pytest.raises(DataError, match='NNM704: function_to_apply is "max"'):
            await classify(PIXELS, function_to_apply="max")
        with pytest.raises(DataError, match="NNM704: batch_size is 0"):
            await classify(PIXELS, batch_size=0)
        with pytest.raises(DataError, match="NNM802: picture 1 is no picture"):
            await classify([PIXELS, b"none"])
    files = vit_files(*"abc", image_mean=[0.0, 0.0, 0.0])
    async with await webnnm.pipeline("image-classification", files, **QUIET) as classify:
        assert await classify(PIXELS, function_to_apply="none") != usual


async def test_features_are_states_or_a_vector() -> None:
    async with await webnnm.pipeline("image-feature-extraction", vit_files(), **QUIET) as extract:
        assert (await extract(PIXELS)).shape == (1, 5, 8)
        pooled = await extract([PIXELS, PIXELS], pool=True)
        assert [vector.shape for vector in pooled] == [(1, 8), (1, 8)]
        extract.model.close()
    async with await webnnm.pipeline("image-classification", vit_files(*"ab"), **QUIET) as other:
        assert "image-classification" in repr(other)


async def test_the_joint_file_of_several_inputs_is_read() -> None:
    files = vit_files(*"abc")
    settings = json.loads(files.pop("preprocessor_config.json"))
    joint = files | {"processor_config.json": json.dumps({"image_processor": settings}).encode()}
    async with await webnnm.pipeline("image-classification", joint, **QUIET) as classify:
        assert len(await classify(PIXELS)) == 3
    settings["do_edge_detection"] = True
    joint["processor_config.json"] = json.dumps({"image_processor": settings}).encode()
    message = 'NNM818: processor_config.json: "image_processor.do_edge_detection"'
    with pytest.raises(DataError, match=message):
        await webnnm.pipeline("image-classification", joint, **QUIET)
    with pytest.raises(DataError, match="NNM715: there is no"):
        await webnnm.pipeline("image-classification", files, **QUIET)


async def test_a_folder_without_a_processor_leaves_an_open_model_open() -> None:
    files = vit_files(*"abc")
    del files["preprocessor_config.json"]
    async with await webnnm.from_pretrained(files, **QUIET) as model:
        with pytest.raises(DataError, match="NNM715"):
            await webnnm.pipeline("image-classification", model)
        assert not model.state.closed


@pytest.mark.parametrize(
    ("task", "files"),
    [
        ("image-classification", folder("BertForSequenceClassification", "a", "b")),
        ("image-classification", vit_files()),
        ("image-feature-extraction", vit_files("a", "b")),
        ("zero-shot-image-classification", vit_files()),
    ],
)
async def test_models_of_other_tasks_are_refused(task: str, files: Any) -> None:
    with pytest.raises(DataError, match=f"NNM717: .* cannot be used for {task}"):
        await webnnm.pipeline(task, files, **QUIET)
