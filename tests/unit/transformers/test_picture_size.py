"""The size of pictures comes from a setting, from the folder's processor, or from the config."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from webnnm import DataError
from webnnm.transformers.picture_size import PROCESSOR, with_picture_size

RESNET = {"model_type": "resnet"}


def sizes(config: dict[str, Any], processor: Any = None, image_size: Any = None) -> dict[str, Any]:
    """Return the keys that are added to a config."""
    files = {} if processor is None else {PROCESSOR: json.dumps(processor).encode()}
    result = asyncio.run(with_picture_size(config, files, image_size))
    return {key: value for key, value in result.items() if key not in config}


@pytest.mark.parametrize(
    ("processor", "expected"),
    [
        ({"size": 224}, [224, 224]),
        ({"size": {"height": 200, "width": 300}}, [200, 300]),
        ({"size": {"shortest_edge": 256}, "crop_size": {"height": 224, "width": 192}}, [224, 192]),
        ({"size": {"shortest_edge": 256}, "crop_size": 224, "do_center_crop": False}, [256, 256]),
        ({"size": {"shortest_edge": 800, "longest_edge": 1333}}, [800, 800]),
    ],
)
def test_processors_say_how_large_pictures_are(processor: Any, expected: list[int]) -> None:
    assert sizes(RESNET, processor) == {"image_size": expected}
    with_tables = {**RESNET, "image_size": 518}
    assert sizes(with_tables, processor) == {"picture_size": expected}
    assert sizes({"model_type": "vit"}, processor) == {}


def test_a_setting_comes_before_the_processor() -> None:
    assert sizes(RESNET) == sizes(RESNET, {}) == {}
    assert sizes(RESNET, {"size": 224}, (32, 64)) == {"image_size": [32, 64]}
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
    "processor", [[], {"size": "large"}, {"size": {"height": 8}}, {"size": {"shortest_edge": 0}}]
)
def test_damaged_processors_are_named(processor: Any) -> None:
    with pytest.raises(DataError, match="NNM818") as caught:
        sizes(RESNET, processor)
    assert PROCESSOR in str(caught.value)
