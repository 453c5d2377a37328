"""The size of pictures comes from a setting, from the folder's processor, or from the config."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from webnnm import DataError
from webnnm.transformers.picture_size import with_picture_size
from webnnm.transformers.processors.files import JOINT_FILE, PICTURES
from webnnm.transformers.processors.picture_settings import FILE, read_picture_settings

RESNET = {"model_type": "resnet"}


def kind(name: str, **values: Any) -> dict[str, Any]:
    """Return the file of a processor of a class."""
    return {"image_processor_type": f"{name}ImageProcessor", **values}


def sizes(
    config: dict[str, Any],
    processor: Any = None,
    image_size: Any = None,
    file: str = FILE,
    log: Any = print,
) -> dict[str, Any]:
    """Return the keys that are added to a config."""
    files = {} if processor is None else {file: json.dumps(processor).encode()}
    result = asyncio.run(with_picture_size(config, files, image_size, log))
    return {key: value for key, value in result.items() if key not in config}


@pytest.mark.parametrize(
    ("processor", "expected"),
    [
        (kind("ViT", size=224), [224, 224]),
        (kind("ViT", size={"height": 200, "width": 300}), [200, 300]),
        (kind("Bit", crop_size={"height": 224, "width": 192}), [224, 192]),
        (kind("Bit", size={"shortest_edge": 256}, do_center_crop=False), [256, 256]),
        (kind("ViT", crop_size=64), [224, 224]),
        (kind("ConvNext"), [384, 384]),
        (kind("ConvNext", size={"shortest_edge": 224}, crop_pct=0.9), [224, 224]),
        (kind("EfficientNet"), [346, 346]),
        (kind("Detr"), [800, 800]),
        (kind("Detr", pad_size={"height": 640, "width": 800}), [640, 800]),
        (kind("DPT", size=500, ensure_multiple_of=14, do_pad=True, size_divisor=32), [512, 512]),
    ],
)
def test_processors_say_how_large_pictures_are(processor: Any, expected: list[int]) -> None:
    assert sizes(RESNET, processor) == {"image_size": expected}
    with_tables = {**RESNET, "image_size": 518}
    varies = read_picture_settings(processor).varies and "pad_size" not in processor
    assert sizes(with_tables, processor) == ({} if varies else {"picture_size": expected})
    assert sizes({"model_type": "vit"}, processor) == {}


def test_files_of_several_kinds_of_input_have_a_part_for_pictures() -> None:
    joint = {PICTURES: kind("ViT", size=96)}
    assert sizes(RESNET, joint, file=JOINT_FILE) == {"image_size": [96, 96]}


def test_sizes_that_depend_on_pictures_are_logged() -> None:
    lines: list[str] = []
    sizes(RESNET, kind("Detr"), log=lines.append)
    assert len(lines) == 1 and "image_size=" in lines[0]
    sizes(RESNET, kind("Bit"), log=lines.append)
    sizes(RESNET, kind("Detr"), (480, 640), log=lines.append)
    assert len(lines) == 1


def test_a_setting_comes_before_the_processor() -> None:
    assert sizes(RESNET) == sizes(RESNET, kind("ViT", do_resize=False)) == {}
    assert sizes(RESNET, kind("ViT", size=224), (32, 64)) == {"image_size": [32, 64]}
    assert sizes(RESNET, kind("Unknown"), (32, 64)) == {"image_size": [32, 64]}
    assert sizes(RESNET, None, 48) == {"image_size": [48, 48]}


@pytest.mark.parametrize(
    ("config", "image_size", "says"),
    [
        (RESNET, 0, "from 1 to"),
        (RESNET, (1, 2, 3), "height and width"),
        ({"model_type": "vit"}, 224, "a size of their own"),
    ],
)
def test_other_sizes_are_refused(config: dict[str, Any], image_size: Any, says: str) -> None:
    with pytest.raises(DataError, match="NNM704") as caught:
        sizes(config, None, image_size)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    "processor",
    [
        *([], {"size": 8}, kind("Unknown"), kind("ViT", unknown=1)),
        *(kind("ViT", size=size) for size in ("large", {"height": 8}, {"shortest_edge": 0})),
    ],
)
def test_damaged_processors_are_named(processor: Any) -> None:
    with pytest.raises(DataError, match="NNM818") as caught:
        sizes(RESNET, processor)
    assert FILE in str(caught.value)
    assert "image_size=" in str(caught.value)
