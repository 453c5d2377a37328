"""Pictures whose background becomes transparent, by the mask of an ONNX file."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import webnnm
from tests.unit.formats.onnx_models import constant, graph, info, node
from tests.unit.tasks.words import QUIET
from tests.unit.transformers.onnx_folders import write
from webnnm import DataError
from webnnm.core.arrays import HostArray
from webnnm.transformers.processors.picture_settings import read_picture_settings
from webnnm.transformers.processors.picture_sizes import find_cut

pytestmark = pytest.mark.desktop
pytest.importorskip("PIL.Image")
PROCESSOR = {
    "feature_extractor_type": "ImageFeatureExtractor",
    "do_normalize": False,
    "size": {"shortest_edge": 8},
    "size_divisibility": 4,
}


def make_folder(input_name: str = "pixel_values", masks: int = 1, scale: float = 1.0) -> Any:
    """Return a folder whose network has the red channel as its mask, or several."""
    nodes = [
        node("red = Slice(x, start, end, axis)".replace("(x", f"({input_name}")),
        node("wide = Mul(red, scale)"),
        node("alpha = Add(wide, shift)")
        if masks == 1
        else node("alpha = Concat(wide, wide)", axis=1),
    ]
    held = [constant("start", [0]), constant("end", [1]), constant("axis", [1])]
    held += [constant("scale", [scale], "float32"), constant("shift", [0.0], "float32")]
    network = graph(nodes, [info(input_name, "batch", 3, "height", "width")], [], *held)
    network.output = [info("alpha", "batch", masks, "height", "width")]
    return {
        "config.json": json.dumps({"model_type": "modnet"}).encode(),
        "preprocessor_config.json": json.dumps(PROCESSOR).encode(),
        "onnx/model.onnx": write(network),
    }


def draw(height: int, width: int) -> HostArray:
    """Return a picture whose red becomes stronger from left to right."""
    rows = [[[255 * x // (width - 1), 7, 9] for x in range(width)] for _ in range(height)]
    return HostArray.of(rows, "uint8")


@pytest.mark.parametrize("name", ["pixel_values", "input.1"])
async def test_alpha_is_the_mask(name: str) -> None:
    picture = draw(8, 12)
    async with await webnnm.pipeline("background-removal", make_folder(name), **QUIET) as remove:
        result = np.asarray(await remove(picture))
        assert result.shape == (8, 12, 4) and result.dtype == np.uint8
        np.testing.assert_array_equal(result[..., :3], np.asarray(picture.tolist()))
        np.testing.assert_array_equal(result[..., 3], result[..., 0])
        several = await remove([picture, draw(16, 24), draw(9, 30)], batch_size=2)
        assert [one.shape for one in several] == [(8, 12, 4), (16, 24, 4), (9, 30, 4)]
        shares = np.asarray(several[1])
        assert np.abs(shares[..., 3].astype(int) - shares[..., 0]).max() <= 12
        assert webnnm.list_tasks(remove.model) == ["background-removal"]


async def test_numbers_beyond_one_are_logits() -> None:
    folder = make_folder(scale=8.0)
    async with await webnnm.pipeline("background-removal", folder, **QUIET) as remove:
        alpha = np.asarray(await remove(draw(8, 12)))[..., 3]
        red = np.asarray(draw(8, 12).tolist())[..., 0] / 255
        np.testing.assert_allclose(alpha / 255, 1 / (1 + np.exp(-8 * red)), atol=1 / 255)


async def test_networks_with_several_masks_are_refused() -> None:
    async with await webnnm.pipeline("background-removal", make_folder(masks=2), **QUIET) as remove:
        with pytest.raises(DataError, match="NNM717: the output is"):
            await remove(draw(8, 12))


@pytest.mark.parametrize(
    ("size", "picture", "expected"),
    [
        ({"shortest_edge": 512}, (600, 900), (512, 768)),
        ({"shortest_edge": 512}, (450, 333), (672, 512)),
        ({"shortest_edge": 512, "longest_edge": 600}, (600, 900), (384, 576)),
        ({"longest_edge": 64}, (128, 256), (32, 64)),
        ({"height": 70, "width": 100}, (128, 256), (64, 96)),
    ],
)
def test_sizes_are_those_of_transformers_js(size: Any, picture: Any, expected: Any) -> None:
    settings = read_picture_settings({**PROCESSOR, "size": size, "size_divisibility": 32})
    assert find_cut(picture, settings).resized == expected
