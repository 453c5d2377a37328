"""Folders of timm: a config without `model_type`, which also says how pictures are prepared."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import webnnm
from tests.parity.pretrained import fixtures
from tests.parity.pretrained.outcome import files
from tests.parity.tasks.processors import draw_pixels
from webnnm import DataError
from webnnm.tasks.scores import softmax
from webnnm.transformers.processors.timm_settings import read_timm_settings

QUIET: dict[str, Any] = {"backend": "numpy", "log": lambda line: None}
DATA = {
    "input_size": [3, 64, 64],
    "interpolation": "bilinear",
    "crop_pct": 0.875,
    "crop_mode": "center",
    "mean": [0.4, 0.5, 0.6],
    "std": [0.2, 0.25, 0.5],
}
NAMES = ["cat", "dog", "newt"]


def make_folder(folder: Path, **data: Any) -> Mapping[str, Any]:
    """Write a folder as timm does, and return its config."""
    fixture = fixtures.read()["timm-mobilenet3"]
    for name, content in files(fixture, fixtures.SEED).items():
        if name != "preprocessor_config.json":
            (folder / name).write_bytes(content)
    left_out = ("model_type", "architectures")
    config = {key: value for key, value in fixture.config.items() if key not in left_out}
    config |= {"label_names": NAMES, "pretrained_cfg": {**config["pretrained_cfg"], **DATA, **data}}
    (folder / "config.json").write_text(json.dumps(config))
    return config


def prepare(pixels: Any, size: tuple[int, int], corner: tuple[int, int]) -> Any:
    """Return a picture as torchvision prepares it: resized, cropped, scaled."""
    image = pytest.importorskip("PIL.Image")
    resized = image.fromarray(pixels).resize(size, image.Resampling.BILINEAR)
    left, top = corner
    values = np.asarray(resized.crop((left, top, left + 64, top + 64)), np.float64) / 255
    return ((values - DATA["mean"]) / DATA["std"]).transpose(2, 0, 1)[None].astype(np.float32)


@pytest.mark.parametrize(
    ("mode", "size", "corner"),
    [
        # The shorter side becomes 64 / 0.875. Half of the 43 columns too many is 21.5, rounded to
        # the even number; so is half of 9 rows.
        ("center", (107, 73), (22, 4)),
        ("squash", (73, 73), (4, 4)),
    ],
)
async def test_pictures_are_classified_as_the_config_prepares_them(
    tmp_path: Path, mode: str, size: tuple[int, int], corner: tuple[int, int]
) -> None:
    make_folder(tmp_path, crop_mode=mode)
    pixels = np.asarray(draw_pixels(59, 40))
    async with await webnnm.pipeline("image-classification", tmp_path, **QUIET) as classify:
        results = await classify(pixels, top_k=None)
        values = prepare(pixels, size, corner)
        logits = (await classify.model.predict(pixel_values=values))["logits"][0]
    expected = dict(zip(NAMES, softmax(logits.tolist()), strict=True))
    assert {one["label"]: one["score"] for one in results} == pytest.approx(expected, rel=1e-4)


async def test_a_folder_without_classes_gives_what_is_pooled(tmp_path: Path) -> None:
    config = make_folder(tmp_path)
    arguments = {**config["model_args"], "num_classes": 0}
    without = {**config, "num_classes": 0, "model_args": arguments}
    (tmp_path / "config.json").write_text(json.dumps(without))
    async with await webnnm.from_pretrained(tmp_path, **QUIET) as model:
        assert {*model.outputs()} == {"last_hidden_state", "pooler_output"}


@pytest.mark.parametrize(
    ("changed", "code", "message"),
    [
        ({"architecture": "mobilenetv3_small_10"}, "NNM817", "mobilenetv3_small_10.*unknown"),
        ({"architecture": "tf_mobilenetv4_conv_small"}, "NNM817", "unknown"),
        ({"global_pool": "max"}, "NNM818", '"global_pool" is "max"'),
        ({"model_args": {"in_chans": 1}}, "NNM818", '"model_args.in_chans" is 1'),
        ({"model_args": {"act_layer": "relu"}}, "NNM818", '"model_args.act_layer" is "relu"'),
        ({"num_classes": -1}, "NNM818", '"num_classes" is -1'),
    ],
)
async def test_what_is_not_known_is_refused(
    tmp_path: Path, changed: dict[str, Any], code: str, message: str
) -> None:
    config = make_folder(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({**config, **changed}))
    with pytest.raises(DataError, match=f"{code}.*{message}"):
        await webnnm.from_pretrained(tmp_path, **QUIET)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"crop_mode": "border"}, '"pretrained_cfg.crop_mode" is "border"'),
        ({"input_size": [3, 64, 32]}, '"pretrained_cfg.crop_mode" is "center"'),
        ({"input_size": [1, 64, 64]}, '"pretrained_cfg.input_size" is'),
        ({"interpolation": "random"}, '"pretrained_cfg.interpolation" is "random"'),
        ({"mean": [0.5]}, '"pretrained_cfg.mean" is'),
        ({"std": [0, 1, 1]}, '"pretrained_cfg.std" is'),
    ],
)
def test_other_ways_to_prepare_pictures_are_refused(data: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=f"NNM818: config.json: {message}"):
        read_timm_settings({"pretrained_cfg": {**DATA, **data}})
