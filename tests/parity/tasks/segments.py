"""Segments from drawn numbers of queries: cases, and what processors of `transformers` made of it.

Masks are recorded as their number of pixels and a checksum: they have to be the same.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from webnnm import backend
from webnnm.core.arrays import HostArray
from webnnm.tasks.maps import find_largest, split_masks
from webnnm.tasks.segments import SegmentThresholds, find_segments, join_maps

FILE = Path(__file__).with_name("segments.json")
LIMIT = 1e-4
SPREAD = 4.0
"""The standard deviation of logits."""


class SegmentCase(NamedTuple):
    """Sizes, by which logits are drawn, the size of a picture, and what is asked for.

    `sizes` are the number of queries, the classes without that for no object, and the height and
    width of maps.
    """

    sizes: tuple[int, int, int, int]
    picture: tuple[int, int]
    thresholds: SegmentThresholds
    subtask: str = "panoptic"


def list_segment_cases() -> Iterator[SegmentCase]:
    """Yield all cases."""
    for sizes, picture in (((12, 5, 7, 9), (29, 41)), ((30, 3, 10, 8), (20, 16))):
        for score in (0.2, 0.6, 0.9):
            yield SegmentCase(sizes, picture, SegmentThresholds(score, 0.5, 0.5))
        yield SegmentCase(sizes, picture, SegmentThresholds(0.5, 0.3, 0.1), "instance")
        yield SegmentCase(sizes, picture, SegmentThresholds(0.0, 0.0, 0.0))
        yield SegmentCase(sizes, picture, SegmentThresholds(0.5, 0.5, 0.5), "semantic")


def draw_logits(case: SegmentCase, seed: int) -> tuple[Any, Any]:
    """Return the logits of classes and those of pixels, for each query."""
    queries, classes, height, width = case.sizes
    random = np.random.default_rng([seed, *case.sizes])
    scores = random.normal(0, SPREAD, (queries, classes + 1))
    maps = random.normal(0, SPREAD, (queries, height, width))
    return scores.astype("float32"), maps.astype("float32")


async def compute(case: SegmentCase, seed: int) -> list[tuple[float | None, int, Any]]:
    """Return our segments: score, class and mask."""
    device, (scores, maps) = await backend("numpy"), draw_logits(case, seed)
    rows, arrays = scores.tolist(), HostArray.of(maps)
    if case.subtask != "semantic":
        return [*await find_segments(device, rows, arrays, case.picture, case.thresholds)]
    joined = await join_maps(device, rows, arrays)
    masks = split_masks(await find_largest(device, joined, case.picture))
    return [(None, label, mask) for label, mask in masks.items()]


def summarize_segments(segments: list[tuple[float | None, int, Any]]) -> list[list[Any]]:
    """Return score, class, pixels and checksum of each segment, whose masks are 255 inside."""
    data = [bytes(np.asarray(HostArray.of(mask, "uint8"))) for _, _, mask in segments]
    return [
        [score, label, own.count(255), zlib.crc32(own)]
        for (score, label, _), own in zip(segments, data, strict=True)
    ]


def read_fixtures() -> list[list[list[Any]]]:
    """Return what was recorded, by case."""
    return json.loads(FILE.read_text())
