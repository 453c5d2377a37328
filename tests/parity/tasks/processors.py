"""Processors of pictures: cases, and what `transformers` makes of them, recorded.

A fixture has the file of a processor, the size of a picture, and some of the numbers that it
becomes; `live` compares all of them.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from webnnm import backend
from webnnm.core.arrays import HostArray
from webnnm.transformers.processors.picture_settings import read_picture_settings
from webnnm.transformers.processors.pictures import join_pictures, process_picture
from webnnm.transformers.processors.tiles import process_tiles

FILE = Path(__file__).with_name("processors.json")
LIMIT = 1e-5
SAMPLES = 16
"""The numbers of a picture that are recorded."""
SIZES = ((41, 30), (64, 64), (50, 120), (125, 45))
"""Widths and heights of pictures."""
ALTERED: tuple[Mapping[str, Any], ...] = (
    *({"resample": number} for number in range(6)),
    *({key: False} for key in ("do_resize", "do_normalize", "do_rescale")),
    {"do_normalize": True},
    {"image_mean": [0.1, 0.2, 0.3], "image_std": [1.5, 2, 3]},
    {"rescale_factor": 0.01},
)
OWN: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "CLIP": ({"size": {"height": 40, "width": 30}}, {"crop_size": {"height": 77, "width": 20}}),
    "ConvNext": ({"size": {"shortest_edge": 400}}, {"crop_pct": 0.7}),
    "DPT": (
        {"ensure_multiple_of": 14, "keep_aspect_ratio": True},
        {"do_pad": True, "size_divisor": 14},
    ),
    "Detr": ({"size": {"shortest_edge": 40, "longest_edge": 60}},),
    "Donut": (
        {"do_align_long_axis": True},
        {"do_pad": False, "do_thumbnail": False},
        {"size": [90, 130]},
        {"size": {"height": 31, "width": 64}, "do_align_long_axis": True},
    ),
    "EfficientNet": ({"include_top": False}, {"rescale_offset": True}, {"do_center_crop": True}),
    "Idefics3": (
        {"size": {"longest_edge": 100}, "max_image_size": {"longest_edge": 30}},
        {"size": {"longest_edge": 97}, "max_image_size": {"longest_edge": 16}},
        {"size": {"longest_edge": 50}, "max_image_size": {"longest_edge": 64}},
        {"do_image_splitting": False, "max_image_size": {"longest_edge": 20}},
        {"do_resize": False, "max_image_size": {"longest_edge": 32}},
    ),
    "MaskFormer": (
        {"size": {"shortest_edge": 40, "longest_edge": 60}, "size_divisor": 7},
        {"size_divisor": 0},
    ),
    "Owlv2": ({"do_pad": False}, {"size": {"height": 200, "width": 90}}),
    "PoolFormer": ({"size": {"height": 30, "width": 40}}, {"size": {"height": 30, "width": 30}}),
    "RTDetr": ({"do_pad": True, "pad_size": {"height": 90, "width": 100}},),
    "Siglip2": ({"patch_size": 4, "max_num_patches": 30},),
    "Sam": ({"size": {"longest_edge": 50}, "pad_size": {"height": 60, "width": 70}},),
}
"""Settings that only some classes have."""
CUTS = {"Siglip2"}
"""Classes that cut pictures into patches, which only some sizes can be."""
RECORDED = "ViT"
"""The class with fixtures of all altered settings, which work alike for all."""
DIVISOR = 8
"""Default sizes are divided by it: fixtures are small."""


class Case(NamedTuple):
    """The class of a processor, its settings, and whether there is a fixture."""

    name: str
    settings: Mapping[str, Any]
    is_recorded: bool


WITHOUT_PILLOW = {"DINOv3ViT", "Image", "TimmWrapper"}
"""Classes that `transformers` has for torchvision alone, or not at all."""


def list_cases(defaults: Mapping[str, Mapping[str, Any]]) -> Iterator[Case]:
    """Yield all cases, for classes with their default sizes."""
    for name, sizes in defaults.items():
        small = {
            key: {side: max(16, length // DIVISOR) for side, length in size.items()}
            for key, size in sizes.items()
        }
        for settings in ({}, *ALTERED, *OWN.get(name, ())):
            if name in CUTS and "do_resize" in settings:
                continue
            is_recorded = name == RECORDED or settings not in ALTERED
            yield Case(name, {**small, **settings}, is_recorded)


def draw_pixels(width: int, height: int) -> HostArray:
    """Return a picture with gradients and noise, uint8 `[height, width, 3]`."""
    noise = random.Random(width * height).randbytes(width * height * 3)
    pixels = bytearray()
    for index, value in enumerate(noise):
        pixel, colour = divmod(index, 3)
        row, column = divmod(pixel, width)
        pixels.append((3 * row + 5 * column + 70 * colour + value % 60) % 256)
    return HostArray("uint8", (height, width, 3), bytes(pixels))


async def prepare(file: Mapping[str, Any], size: tuple[int, int]) -> Mapping[str, HostArray]:
    """Return the inputs for a picture of a size."""
    settings = read_picture_settings(file)
    if settings.tile:
        tiles = (await process_tiles(draw_pixels(*size), "the picture", settings)).tiles
        data = b"".join(bytes(tile.data) for tile in tiles)
        return {"pixel_values": HostArray("float32", (1, len(tiles), *tiles[0].shape), data)}
    device = await backend("numpy")
    picture = await process_picture(draw_pixels(*size), "the picture", settings, backend=device)
    return join_pictures([picture], settings)


def sample(values: HostArray) -> list[float]:
    """Return some of the numbers of an array, evenly spaced."""
    flat = values.values()
    step = max(1, len(flat) // SAMPLES)
    return [flat[index] for index in range(step // 2, len(flat), step)]


def read_fixtures() -> list[Mapping[str, Any]]:
    """Return what was recorded."""
    return json.loads(FILE.read_text())
