"""Pictures of any shape are cut into patches, and computed together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import webnnm
from tests.parity.pretrained import fixtures
from tests.parity.pretrained.outcome import files
from tests.parity.tasks.processors import draw_pixels, prepare
from webnnm import DataError

PROCESSOR = {
    "image_processor_type": "Siglip2ImageProcessor",
    "patch_size": 2,
    "max_num_patches": 12,
}
QUIET: dict[str, Any] = {"backend": "numpy", "log": lambda line: None}


def make_folder(folder: Path, **changed: Any) -> None:
    fixture = fixtures.read()["siglip2-vision"]
    for name, content in files(fixture, fixtures.SEED).items():
        (folder / name).write_bytes(content)
    (folder / "preprocessor_config.json").write_text(json.dumps({**PROCESSOR, **changed}))


async def test_pictures_of_different_shapes_are_computed_together(tmp_path: Path) -> None:
    make_folder(tmp_path)
    sizes = ((41, 30), (50, 120))
    pictures = [np.asarray(draw_pixels(*size)) for size in sizes]
    async with await webnnm.pipeline("image-feature-extraction", tmp_path, **QUIET) as describe:
        together = await describe(pictures, batch_size=2)
        for picture, result, size in zip(pictures, together, sizes, strict=True):
            inputs = await prepare(PROCESSOR, size)
            states = (await describe.model.predict({**inputs}))["last_hidden_state"]
            np.testing.assert_allclose(result, states, rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(await describe(picture), result, rtol=1e-4, atol=1e-5)


async def test_a_picture_that_cannot_be_cut_is_refused(tmp_path: Path) -> None:
    make_folder(tmp_path, do_resize=False)
    async with await webnnm.pipeline("image-feature-extraction", tmp_path, **QUIET) as describe:
        assert np.asarray(await describe(np.asarray(draw_pixels(6, 4)))).shape == (1, 12, 12)
        for size in ((7, 4), (12, 10)):
            with pytest.raises(DataError, match="NNM702"):
                await describe(np.asarray(draw_pixels(*size)))


@pytest.mark.parametrize(
    ("changed", "key"), [({"patch_size": 0}, "patch_size"), ({"max_num_patches": "x"}, "max_num")]
)
async def test_invalid_numbers_are_named(tmp_path: Path, changed: dict[str, Any], key: str) -> None:
    make_folder(tmp_path, **changed)
    with pytest.raises(DataError, match=f"NNM818: preprocessor_config.json: .{key}"):
        await webnnm.pipeline("image-feature-extraction", tmp_path, **QUIET)
