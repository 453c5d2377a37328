"""Segments of a picture: masks of objects, each pixel in one of them at most.

Sources: N. Carion et al., "End-to-end object detection with transformers", arXiv:2005.12872 (2020),
section 4.4; B. Cheng et al., "Per-pixel classification is not all you need for semantic
segmentation", arXiv:2107.06278 (2021), section 3.4.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from webnnm.backends.base import Backend
from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.graph.builder import GraphBuilder
from webnnm.tasks.maps import WHITE, find_above, find_largest, split_masks
from webnnm.tasks.scores import rank, softmax
from webnnm.transformers.processors.picture_settings import Size


class SegmentThresholds(NamedTuple):
    """What segments need: the `score` of the query; at a pixel, its `mask` times the score; of the
    pixels with that, the share that no other query takes, `overlap`."""

    score: float
    mask: float
    overlap: float


class Segment(NamedTuple):
    """A segment: its score, its class, and its mask of bytes, 255 inside."""

    score: float
    label: int
    mask: HostArray


class Candidate(NamedTuple):
    """A query that may have a segment: its number, its score, its class."""

    query: int
    score: float
    label: int


def find_candidates(logits: Sequence[Sequence[float]], threshold: float) -> list[Candidate]:
    """Return the queries whose most likely class has a score above a threshold.

    The last class means that there is no object.

    >>> [(one.query, one.label) for one in find_candidates([[0.0, 5.0], [5.0, 0.0]], 0.9)]
    [(1, 0)]

    Raises `DataError` NNM707 for numbers that are not finite.
    """
    candidates: list[Candidate] = []
    for query, scores in enumerate(_read_scores(logits)):
        (label,) = rank(scores, 1)
        if label != len(scores) - 1 and scores[label] > threshold:
            candidates.append(Candidate(query, scores[label], label))
    return candidates


def _read_scores(logits: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return the scores of classes for each query."""
    if not all(math.isfinite(logit) for row in logits for logit in row):
        message = "the network gives classes whose numbers are not finite"
        hint = 'its weights are damaged, or too large for the data type: try dtype="float32"'
        raise DataError("NNM707", message, hint=hint)
    return [softmax(row) for row in logits]


async def find_segments(
    backend: Backend,
    logits: Sequence[Sequence[float]],
    maps: HostArray,
    size: Size,
    thresholds: SegmentThresholds,
) -> list[Segment]:
    """Return the segments of a picture of a size, in the order of queries.

    `logits` are those of classes for each query, `maps [queries, height, width]` those of pixels.
    Each pixel goes to the query with the largest share there, times its score.

    Raises `DataError` NNM707 for numbers that are not finite.
    """
    candidates = find_candidates(logits, thresholds.score)
    if not candidates:
        return []
    own = maps.rows([candidate.query for candidate in candidates])
    scores = [candidate.score for candidate in candidates]
    numbers = await find_largest(backend, own, size, scores=scores)
    above = await find_above(backend, own, size, thresholds.mask, scores=scores)
    values: Any = numbers.values()
    areas, masks = Counter(values), split_masks(numbers)
    pixels, data = size[0] * size[1], bytes(above.data)
    segments: list[Segment] = []
    for number, candidate in enumerate(candidates):
        area = data[number * pixels : (number + 1) * pixels].count(WHITE)
        if areas[number] and area and round_single(areas[number] / area) > thresholds.overlap:
            segments.append(Segment(round(candidate.score, 6), candidate.label, masks[number]))
    return segments


def round_single(number: float) -> float:
    """Return a number rounded to float32, as which `transformers` compares shares.

    >>> round_single(0.8)
    0.800000011920929
    """
    return array("f", [number])[0]


async def join_maps(
    backend: Backend, logits: Sequence[Sequence[float]], maps: HostArray
) -> HostArray:
    """Return a map for each class, float32 `[classes, height, width]`.

    It is the sum of the shares of all queries, times the scores of the class.

    >>> import asyncio
    >>> from webnnm import backend
    >>> async def joined(logits, maps):
    ...     return await join_maps(await backend("numpy"), logits, HostArray.of(maps))
    >>> asyncio.run(joined([[9.0, 9.0, -99.0]], [[[0.0]]])).tolist()
    [[[0.25]], [[0.25]]]

    Raises `DataError` NNM707 for numbers that are not finite.
    """
    count, height, width = maps.shape
    columns = [*zip(*_read_scores(logits), strict=True)][:-1]
    shares = HostArray.of([*map(list, columns)], "float32")
    b = GraphBuilder()
    flat = b.reshape(b.input("maps", "float32", maps.shape), new_shape=(count, height * width))
    joined = b.matmul(b.input("shares", "float32", shares.shape), b.sigmoid(flat))
    executable = await backend.compile(b.build({"result": joined}))
    try:
        result = (await executable.run_host({"maps": maps, "shares": shares}))["result"]
    finally:
        backend.release(executable)
    return HostArray("float32", (len(columns), height, width), result.data)
