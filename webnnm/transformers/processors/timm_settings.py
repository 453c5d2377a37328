"""How a network of timm takes pictures: the data settings in its config."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from webnnm.data.pictures.decoded_picture import Filter
from webnnm.transformers.config import Config
from webnnm.transformers.pretrained import DATA_OF_TIMM
from webnnm.transformers.processors.picture_settings import (
    CLASSES,
    MAX_SIDE,
    PictureSettings,
    read_colour,
    read_picture_settings,
)

SHARE = 0.875
"""The share of a picture that is taken, if the config does not say."""
FILTERS = {
    "nearest": Filter.NEAREST,
    "lanczos": Filter.LANCZOS,
    "bilinear": Filter.BILINEAR,
    "bicubic": Filter.BICUBIC,
    "box": Filter.BOX,
    "hamming": Filter.HAMMING,
}


def read_timm_settings(config: Mapping[str, Any]) -> PictureSettings:
    """Return the settings in a config of timm, which are those for the validation of a network.

    >>> settings = read_timm_settings({"pretrained_cfg": {"input_size": [3, 64, 64]}})
    >>> settings.size, settings.crop
    ({'shortest_edge': 73}, (64, 64))

    Pictures are resized so that a share of them has the size of the network: their shorter side, or
    both sides with a `crop_mode` of "squash". Raises `DataError` NNM818 for invalid values, and for
    other modes.
    """
    data = Config(config).part(DATA_OF_TIMM)
    size = data.integers("input_size", [3, 224, 224], 1, MAX_SIDE)
    if len(size) != 3 or size[0] != 3:
        raise data.wrong("input_size", "3 colours, height and width")
    share = data.number("crop_pct", SHARE, above=0)
    mode, name = data.text("crop_mode", "center"), data.text("interpolation", "bicubic")
    if name not in FILTERS:
        raise data.not_supported("interpolation", name, f"supported are {', '.join(FILTERS)}")
    height, width = size[1:]
    sides = {"height": math.floor(height / share), "width": math.floor(width / share)}
    if mode == "center" and height == width:
        sides = {"shortest_edge": sides["height"]}
    elif mode != "squash":
        hint = "supported are center, for squares, and squash"
        raise data.not_supported("crop_mode", mode, hint)
    defaults = read_picture_settings({CLASSES[0]: "TimmWrapperImageProcessor"})
    return replace(
        defaults,
        size=sides,
        crop=(height, width),
        filter=FILTERS[name],
        mean=read_colour(data, "mean", defaults.mean),
        deviation=read_colour(data, "std", defaults.deviation),
    )
