"""Boxes in pictures: selection of the best ones, and features of regions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce

from webnnm.core.rectangles import Rectangle, suppress_overlaps
from webnnm.formats.onnx.importing.call import Call
from webnnm.formats.onnx.importing.shaping import arange, as_type, part, reshape_to, scalar_like
from webnnm.formats.onnx.importing.table import imports
from webnnm.graph.node import Operand


def _from_corners(y1: float, x1: float, y2: float, x2: float) -> Rectangle:
    """Return the box between two opposite corners."""
    return Rectangle(min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2))


def _from_center(x: float, y: float, width: float, height: float) -> Rectangle:
    """Return the box around a center."""
    return Rectangle(x - width / 2, y - height / 2, x + width / 2, y + height / 2)


@imports("NonMaxSuppression")
def non_max_suppression(
    c: Call,
    boxes: Operand,
    scores: Operand,
    max_boxes: Operand | None = None,
    iou_threshold: Operand | None = None,
    min_score: Operand | None = None,
) -> Operand:
    """Indices of the boxes with the highest scores, without those that overlap a better one.

    It is computed on the host: how many there are depends on the data.
    """
    limit = 0 if max_boxes is None else int(c.require_scalar(max_boxes, "its number of boxes"))
    threshold = (
        0.0 if iou_threshold is None else float(c.require_scalar(iou_threshold, "its threshold"))
    )
    lowest = (
        -math.inf if min_score is None else float(c.require_scalar(min_score, "its lowest score"))
    )
    batches, classes, amount = scores.shape
    if boxes.shape != (batches, amount, 4):
        raise c.invalid(f"boxes {boxes} do not fit scores {scores}")
    values, corners = c.require_floats(scores, "its scores"), c.require_floats(boxes, "its boxes")
    make = _from_center if c.flag("center_point_box") else _from_corners
    selected: list[int] = []
    for batch in range(batches):
        first = batch * amount * 4
        for kind in range(classes):
            start = (batch * classes + kind) * amount
            row = values[start : start + amount]
            candidates = [k for k, score in enumerate(row) if score > lowest]
            candidates.sort(key=lambda k: -row[k])
            rectangles = [make(*corners[first + 4 * k : first + 4 * k + 4]) for k in candidates]
            for index in suppress_overlaps(rectangles, threshold, max(0, limit)):
                selected += (batch, kind, candidates[index])
    if not selected:
        return c.empty("int64", (0, 3))
    return c.b.constant(selected, "int64", (len(selected) // 3, 3))


@imports("RoiAlign")
def roi_align(c: Call, x: Operand, regions: Operand, batch: Operand) -> Operand:
    """Means, or maxima, of samples interpolated within the cells of regions."""
    amount, ratio = regions.shape[0], c.integer("sampling_ratio", 0)
    cells = c.integer("output_height", 1), c.integer("output_width", 1)
    if ratio > 0:
        return _align_regions(c, x, regions, batch, cells, (ratio, ratio))
    # As many samples as there are pixels in a cell: regions of the same number at once.
    groups: dict[Pair, list[int]] = {}
    for k, samples in enumerate(_samples(c, regions, cells)):
        groups.setdefault(samples, []).append(k)
    if not groups:
        return c.empty(x.dtype, (0, x.shape[1], *cells))
    results: list[Operand] = []
    for samples, members in groups.items():
        rows = c.b.constant(members, "int32")
        boxes, pictures = (c.b.gather(x, rows, axis=0) for x in (regions, batch))
        results.append(_align_regions(c, x, boxes, pictures, cells, samples))
    order = [k for members in groups.values() for k in members]
    if len(results) == 1:
        return results[0]
    back = c.b.constant([order.index(k) for k in range(amount)], "int32")
    return c.b.gather(c.b.concat(results, axis=0), back, axis=0)


Pair = tuple[int, int]


def _half_pixel(c: Call) -> bool:
    default = "half_pixel" if c.opset >= 16 else "output_half_pixel"
    return c.string("coordinate_transformation_mode", default) == "half_pixel"


def _samples(c: Call, regions: Operand, cells: Pair) -> list[Pair]:
    """Return how many samples the cells of each region have along both axes."""
    scale, min_size = c.number("spatial_scale", 1.0), 0.0 if _half_pixel(c) else 1.0
    values = c.require_floats(regions, "its regions, without a sampling_ratio,")
    samples: list[Pair] = []
    for k in range(0, len(values), 4):
        left, top, right, bottom = (value * scale for value in values[k : k + 4])
        sizes = max(bottom - top, min_size), max(right - left, min_size)
        down, across = (math.ceil(n / m) for n, m in zip(sizes, cells, strict=True))
        samples.append((max(1, down), max(1, across)))
    return samples


def _align_regions(
    c: Call, x: Operand, regions: Operand, batch: Operand, cells: Pair, samples: Pair
) -> Operand:
    """Return [regions, channels, rows, columns] with so many samples in a cell along each axis."""
    b, (amount, _) = c.b, regions.shape
    _, channels, height, width = x.shape
    corners = regions * c.number("spatial_scale", 1.0) - (0.5 if _half_pixel(c) else 0.0)
    left, top, right, bottom = (part(c, corners, 1, k, 1) for k in range(4))
    across, down = right - left, bottom - top
    if not _half_pixel(c):
        across, down = b.max(across, scalar_like(c, 1, x)), b.max(down, scalar_like(c, 1, x))
    shape = (amount, cells[0] * samples[0], cells[1] * samples[1])
    rows = _axis(c, top, down, shape[1], height, (amount, -1, 1))
    columns = _axis(c, left, across, shape[2], width, (amount, 1, -1))
    # The pictures as rows of pixels, so that one index finds all channels of one.
    pixels = b.reshape(b.transpose(x, permutation=(0, 2, 3, 1)), new_shape=(-1, channels))
    first = reshape_to(c, as_type(c, batch, "int32") * (height * width), (amount, 1, 1))
    terms: list[Operand] = []
    for row, down_weight in rows:
        for column, across_weight in columns:
            pixels_of_sample = b.gather(pixels, first + row * width + column, axis=0)
            terms.append(pixels_of_sample * reshape_to(c, down_weight * across_weight, (*shape, 1)))
    # ONNX Runtime, too, takes the maximum of the terms of an interpolation.
    largest = c.string("mode", "avg") == "max"
    total = reduce(b.max if largest else b.add, terms)
    split = (amount, cells[0], samples[0], cells[1], samples[1], channels)
    pooled = (b.reduce_max if largest else b.reduce_mean)(reshape_to(c, total, split), axes=[2, 4])
    return b.transpose(pooled, permutation=(0, 3, 1, 2))


def _axis(
    c: Call, start: Operand, length: Operand, samples: int, size: int, shape: Sequence[int]
) -> list[tuple[Operand, Operand]]:
    """Return the two pixels next to each sample along an axis, each with its weight.

    Samples more than a pixel outside of the picture have the weight 0.
    """
    b = c.b
    steps = as_type(c, arange(c, samples), start.dtype) + 0.5
    position = start + length * reshape_to(c, steps / samples, (1, samples))
    above = b.greater_or_equal(position, scalar_like(c, -1, position))
    inside = b.logical_and(above, b.lesser_or_equal(position, scalar_like(c, size, position)))
    nearest = b.clamp(position, min_value=0, max_value=size - 1)
    low = b.floor(nearest)
    high = b.clamp(low + 1, min_value=0, max_value=size - 1)
    share = nearest - low
    zero = scalar_like(c, 0, share)
    return [
        (
            reshape_to(c, as_type(c, pixel, "int32"), shape),
            reshape_to(c, b.where(inside, weight, zero), shape),
        )
        for pixel, weight in ((low, 1 - share), (high, share))
    ]
