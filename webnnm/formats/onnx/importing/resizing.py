"""Resizing of tensors, and sampling at computed positions.

Along each axis, a new cell is a weighted mean of a few old ones: `Taps` holds indices and weights.
The formulas are those of ONNX's Resize (https://onnx.ai/onnx/operators/onnx__Resize.html).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from webnnm.core.dtypes import is_float
from webnnm.core.shapes import count
from webnnm.formats.onnx.importing.call import Call
from webnnm.formats.onnx.importing.shaping import as_type, full, part, reshape_to, scalar_like
from webnnm.formats.onnx.importing.table import imports
from webnnm.graph.node import Operand


class Taps(NamedTuple):
    """The old cells of which each new cell along an axis is a mean, and their weights."""

    cells: list[list[int]]
    weights: list[list[float]]
    outside: list[bool]


MAX_GATHERED_TAPS = 4
"""How many taps are gathered one by one at most; more become a matrix product."""


def _linear(distance: float) -> float:
    return max(0.0, 1 - abs(distance))


def _cubic(a: float) -> Callable[[float], float]:
    def weight(distance: float) -> float:
        t = abs(distance)
        if t < 1:
            return ((a + 2) * t - (a + 3)) * t * t + 1
        return ((t - 5) * t + 8) * t * a - 4 * a if t < 2 else 0.0

    return weight


_NEAREST: dict[str, Callable[[float], int]] = {
    "round_prefer_floor": lambda x: math.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: math.floor(x + 0.5),
    "floor": math.floor,
    "ceil": math.ceil,
}


class Axis(NamedTuple):
    """One axis of a resizing: old and new size, scale, and the region of interest."""

    size: int
    target: int
    scale: float
    start: float = 0.0
    end: float = 1.0


def _position(mode: str, a: Axis, k: int) -> float:
    """Return the position of the centre of a new cell among the old ones."""
    if mode == "align_corners":
        return k * (a.size - 1) / (a.size * a.scale - 1) if a.target > 1 else 0.0
    if mode == "asymmetric":
        return k / a.scale
    if mode == "tf_crop_and_resize":
        if a.target > 1:
            return a.start * (a.size - 1) + k * (a.end - a.start) * (a.size - 1) / (a.target - 1)
        return 0.5 * (a.start + a.end) * (a.size - 1)
    if mode == "pytorch_half_pixel" and a.target == 1:
        return 0.0
    if mode == "half_pixel_symmetric":
        adjustment = a.target / (a.scale * a.size)
        return a.size / 2 * (1 - adjustment) + (k + 0.5) / a.scale - 0.5
    if mode == "tf_half_pixel_for_nn":
        return (k + 0.5) / a.scale
    return (k + 0.5) / a.scale - 0.5


def _taps(c: Call, a: Axis, mode: str, transform: str) -> Taps:
    """Return the taps of an axis."""
    c.check_size(a.target, "its result")
    taps = Taps([], [], [])
    for k in range(a.target):
        x = _position(transform, a, k)
        taps.outside.append(transform == "tf_crop_and_resize" and not 0 <= x <= a.size - 1)
        if mode == "nearest":
            cells = [_rounding(c)(x)]
            weights = [1.0]
        else:
            cells, weights = _weights(c, a, mode, x)
        if c.flag("exclude_outside"):
            weights = [w if 0 <= n < a.size else 0.0 for n, w in zip(cells, weights, strict=True)]
        total = sum(weights)
        taps.cells.append([min(max(n, 0), a.size - 1) for n in cells])
        taps.weights.append([w / total for w in weights])
    return taps


def _rounding(c: Call) -> Callable[[float], int]:
    mode = c.string("nearest_mode", "round_prefer_floor")
    if mode not in _NEAREST:
        raise c.not_supported(f'there is no nearest_mode "{mode}"')
    return _NEAREST[mode]


def _weights(c: Call, a: Axis, mode: str, x: float) -> tuple[list[int], list[float]]:
    """Return the cells and weights of a linear or cubic interpolation; antialiasing widens it."""
    weight = _linear if mode == "linear" else _cubic(c.number("cubic_coeff_a", -0.75))
    reach = 1 if mode == "linear" else 2
    shrink = min(1.0, a.scale) if c.flag("antialias") else 1.0
    width = reach / shrink
    first, last = math.floor(x - width) + 1, math.floor(x + width)
    cells = [*range(first, last + 1)] or [first]
    c.check_size(len(cells) * a.target, "its weights")
    return cells, [weight((cell - x) * shrink) for cell in cells]


def _along(c: Call, x: Operand, axis: int, taps: Taps) -> Operand:
    """Return a tensor resampled along one axis."""
    tap_count = max(map(len, taps.cells))
    if tap_count > MAX_GATHERED_TAPS:
        return _by_matrix(c, x, axis, taps)
    shape = [-1 if k == axis else 1 for k in range(x.rank)]
    total: Operand | None = None
    for k in range(tap_count):
        cells = [row[min(k, len(row) - 1)] for row in taps.cells]
        cell_values = c.b.gather(x, c.b.constant(cells, "int32"), axis=axis)
        if tap_count == 1:
            return cell_values
        weights = [row[k] if k < len(row) else 0.0 for row in taps.weights]
        term = cell_values * reshape_to(c, c.b.constant(weights, x.dtype), shape)
        total = term if total is None else total + term
    assert total is not None
    return total


def _by_matrix(c: Call, x: Operand, axis: int, taps: Taps) -> Operand:
    """Return a tensor resampled by a product with a weight matrix."""
    size, target = x.shape[axis], len(taps.cells)
    c.check_size(size * target, "its weights")
    matrix = [0.0] * (size * target)
    for row, (cells, weights) in enumerate(zip(taps.cells, taps.weights, strict=True)):
        for cell, weight in zip(cells, weights, strict=True):
            matrix[cell * target + row] += weight
    order = [k for k in range(x.rank) if k != axis] + [axis]
    rows = c.b.transpose(x, permutation=order)
    flat = reshape_to(c, rows, (count(rows.shape[:-1]), size))
    product = c.b.matmul(flat, c.b.constant(matrix, x.dtype, (size, target)))
    back = [order.index(k) for k in range(x.rank)]
    return c.b.transpose(reshape_to(c, product, (*rows.shape[:-1], target)), permutation=back)


@imports("Resize")
def resize(
    c: Call,
    x: Operand,
    roi: Operand | None = None,
    scales: Operand | None = None,
    sizes: Operand | None = None,
) -> Operand:
    """Resampling to another size along some axes."""
    if c.opset < 11:
        return _resize_legacy(
            c,
            x,
            [*range(x.rank)],
            c.require_floats(_second(c, roi), "scales"),
            "asymmetric",
            "floor",
        )
    axes = c.axes(c.integers("axes", [*range(x.rank)]), x.rank)
    transform = c.string("coordinate_transformation_mode", "half_pixel")
    region = [0.0] * len(axes) + [1.0] * len(axes)
    if transform == "tf_crop_and_resize" and roi is not None:
        region = c.require_floats(roi, "roi")
        if len(region) != 2 * len(axes):
            region = [region[k + half * x.rank] for half in (0, 1) for k in axes]
    if sizes is not None and sizes.shape != (0,):
        targets, factors = _resolve_sizes(c, x, axes, c.require_integers(sizes, "sizes"))
    elif scales is not None:
        factors = c.require_floats(scales, "scales")
        targets = [
            math.floor(x.shape[axis] * (region[k + len(axes)] - region[k]) * scale)
            if transform == "tf_crop_and_resize"
            else math.floor(x.shape[axis] * scale)
            for k, (axis, scale) in enumerate(zip(axes, factors, strict=True))
        ]
    else:
        raise c.invalid("it has neither scales nor sizes")
    half = len(axes)
    lines = [
        Axis(x.shape[axis], target, scale, region[k], region[k + half])
        for k, (axis, target, scale) in enumerate(zip(axes, targets, factors, strict=True))
    ]
    return _interpolate(c, x, axes, lines, c.string("mode", "nearest"), transform)


def _second(c: Call, scales: Operand | None) -> Operand:
    if scales is None:
        raise c.invalid("it has no scales")
    return scales


def _resolve_sizes(
    c: Call, x: Operand, axes: Sequence[int], sizes: list[int]
) -> tuple[list[int], list[float]]:
    """Return new sizes and scales; a single scale may apply to all axes."""
    old = [x.shape[axis] for axis in axes]
    factors = [size / n for size, n in zip(sizes, old, strict=True)]
    policy = c.string("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return sizes, factors
    scale = min(factors) if policy == "not_larger" else max(factors)
    return [math.floor(scale * n + 0.5) for n in old], [scale] * len(old)


def _interpolate(
    c: Call, x: Operand, axes: Sequence[int], lines: Sequence[Axis], mode: str, transform: str
) -> Operand:
    """Return a tensor resampled along axes."""
    if mode not in ("nearest", "linear", "cubic"):
        raise c.not_supported(f'there is no mode "{mode}"')
    if any(line.target < 1 for line in lines):
        raise c.not_supported("nothing would be left")
    result = x if mode == "nearest" else _as_float(c, x)
    outside: Operand | None = None
    for axis, line in zip(axes, lines, strict=True):
        if line.size == line.target and line.scale == 1 and transform != "tf_crop_and_resize":
            continue
        taps = _taps(c, line, mode, transform)
        if [*range(line.size)] == [row[0] for row in taps.cells if len(row) == 1]:
            continue
        result = _along(c, result, axis, taps)
        if any(taps.outside):
            shape = [-1 if k == axis else 1 for k in range(x.rank)]
            beyond = reshape_to(c, c.b.constant([int(o) for o in taps.outside], "uint8"), shape)
            outside = beyond if outside is None else c.b.logical_or(outside, beyond)
    if outside is not None:
        value = scalar_like(c, c.number("extrapolation_value", 0.0), result)
        result = c.b.where(outside, value, result)
    return (
        result if result.dtype == x.dtype else as_type(c, _round_to_integers(c, result, x), x.dtype)
    )


def _as_float(c: Call, x: Operand) -> Operand:
    return x if is_float(x.dtype) else as_type(c, x, "float32")


def _round_to_integers(c: Call, values: Operand, x: Operand) -> Operand:
    low, high = {"uint8": (0, 255), "int8": (-128, 127)}.get(x.dtype, (-(2**31), 2**31 - 128))
    return c.b.clamp(c.b.round_even(values), min_value=low, max_value=high)


def _resize_legacy(
    c: Call, x: Operand, axes: Sequence[int], scales: Sequence[float], transform: str, nearest: str
) -> Operand:
    """Return a resizing of opsets before 11: positions are asymmetric, and rounded down."""
    del nearest
    lines = [
        Axis(x.shape[axis], math.floor(x.shape[axis] * scale), scale)
        for axis, scale in zip(axes, scales, strict=True)
    ]
    mode = c.string("mode", "nearest")
    if mode != "nearest":
        return _interpolate(c, x, axes, lines, mode, transform)
    result = x
    for axis, line in zip(axes, lines, strict=True):
        cells = [
            min(math.floor(k / line.scale), line.size - 1)
            for k in range(c.check_size(line.target, "it"))
        ]
        if cells != [*range(line.size)]:
            result = c.b.gather(result, c.b.constant(cells, "int32"), axis=axis)
    return result


@imports("Upsample")
def upsample(c: Call, x: Operand, scales: Operand | None = None) -> Operand:
    """Upsampling of images, the predecessor of Resize."""
    factors = c.numbers("scales") if scales is None else c.require_floats(scales, "scales")
    return _resize_legacy(c, x, [*range(x.rank)], factors, "asymmetric", "floor")


# Cells at computed positions.


@imports("AffineGrid")
def affine_grid(c: Call, theta: Operand, size: Operand) -> Operand:
    """The grid of positions of an affine map of the square, or cube, from −1 to 1."""
    batch, _, *sizes = c.require_integers(size, "size")
    lines = [_unit_line(n, corners=c.flag("align_corners")) for n in sizes]
    c.check_size(count(sizes), "its result")
    grid: list[float] = []
    for offset in range(count(sizes)):
        point: list[float] = []
        for line in reversed(lines):
            offset, k = divmod(offset, len(line))
            point.append(line[k])
        grid += [*point, 1.0]
    points = c.b.constant(grid, theta.dtype, (1, count(sizes), len(sizes) + 1))
    positions = c.b.matmul(
        c.b.expand(points, new_shape=(batch, *points.shape[1:])),
        c.b.transpose(theta, permutation=(0, 2, 1)),
    )
    return reshape_to(c, positions, (batch, *sizes, len(sizes)))


def _unit_line(size: int, *, corners: bool) -> list[float]:
    """Return the centres of cells between −1 and 1, or positions from −1 to 1."""
    if corners:
        return [2 * k / (size - 1) - 1 if size > 1 else -1.0 for k in range(size)]
    return [(2 * k + 1) / size - 1 for k in range(size)]


@imports("GridSample")
def grid_sample(c: Call, x: Operand, grid: Operand) -> Operand:
    """Cells interpolated at the positions of a grid between −1 and 1."""
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(
        c.string("mode", "linear"), c.string("mode", "linear")
    )
    if mode not in ("linear", "nearest", "cubic"):
        raise c.not_supported(f'there is no mode "{mode}"')
    rank, corners = x.rank - 2, c.flag("align_corners")
    sizes = x.shape[2:]
    grid = as_type(c, grid, "float32")
    lines: list[list[tuple[Operand, Operand | None]]] = []
    for axis in range(rank):
        position = part(c, grid, grid.rank - 1, rank - 1 - axis, 1)
        position = reshape_to(c, position, (x.shape[0], -1))
        size = sizes[axis]
        centre = (position + 1) / 2 * (size - 1) if corners else ((position + 1) * size - 1) / 2
        lines.append(_line_taps(c, centre, size, mode))
    return _sample(c, x, lines, grid.shape[1:-1])


def _line_taps(
    c: Call, centre: Operand, size: int, mode: str
) -> list[tuple[Operand, Operand | None]]:
    """Return the cells and weights for positions along one axis; cells outside have weight 0."""
    b, padding = c.b, c.string("padding_mode", "zeros")
    corners = c.flag("align_corners")
    if padding == "border" and mode != "cubic":
        centre = b.clamp(centre, min_value=0, max_value=size - 1)
    if padding == "reflection" and mode != "cubic":
        centre = _reflect(c, centre, size, corners)
    if mode == "nearest":
        steps = [(b.round_even(centre), None)]
    else:
        low = b.floor(centre)
        offsets = (0, 1) if mode == "linear" else (-1, 0, 1, 2)
        steps = [
            (low + offset, _distance_weight(c, centre - low - offset, mode)) for offset in offsets
        ]
    taps: list[tuple[Operand, Operand | None]] = []
    for cell, weight in steps:
        if padding == "zeros":
            is_inside = b.logical_and(
                b.greater_or_equal(cell, scalar_like(c, 0, cell)),
                b.lesser_or_equal(cell, scalar_like(c, size - 1, cell)),
            )
            mask = as_type(c, is_inside, "float32")
            weight = mask if weight is None else weight * mask
        if padding == "reflection":
            cell = _reflect(c, cell, size, corners)
        taps.append((b.clamp(cell, min_value=0, max_value=size - 1), weight))
    return taps


def _distance_weight(c: Call, t: Operand, mode: str) -> Operand:
    size = c.b.abs(t)
    if mode == "linear":
        return 1 - size
    a = -0.75
    inner = ((a + 2) * size - (a + 3)) * size * size + 1
    outer = ((size - 5) * size + 8) * size * a - 4 * a
    return c.b.where(c.b.lesser_or_equal(size, scalar_like(c, 1, size)), inner, outer)


def _reflect(c: Call, x: Operand, size: int, corners: bool) -> Operand:
    """Return positions reflected at the ends of an axis as often as necessary."""
    low, high = (0.0, size - 1.0) if corners else (-0.5, size - 0.5)
    span = high - low
    if span == 0:
        return x * 0
    away = c.b.abs(x - low)
    turns = c.b.floor(away / span)
    rest = away - turns * span
    odd = turns - c.b.floor(turns / 2) * 2
    return c.b.where(c.b.greater(odd, scalar_like(c, 0.5, x)), high - rest, low + rest)


def _sample(
    c: Call,
    x: Operand,
    lines: Sequence[Sequence[tuple[Operand, Operand | None]]],
    shape: Sequence[int],
) -> Operand:
    """Return the weighted sum of the cells at all combinations of taps."""
    b, sizes = c.b, x.shape[2:]
    batch, channels = x.shape[:2]
    flat = reshape_to(c, x, (batch, channels, count(sizes)))
    total: Operand | None = None
    combined: list[tuple[Operand, Operand | None]] = [
        (full(c, 0.0, "float32", (batch, count(shape))), None)
    ]
    for axis, line in enumerate(lines):
        combined = [
            (
                offset * sizes[axis] + cell,
                weight if more is None else more if weight is None else weight * more,
            )
            for offset, weight in combined
            for cell, more in line
        ]
    for offset, weight in combined:
        index = reshape_to(c, as_type(c, offset, "int32"), (batch, 1, count(shape)))
        index = b.expand(index, new_shape=(batch, channels, count(shape)))
        cell_values = b.gather_elements(flat, index, axis=2)
        if weight is not None:
            cell_values = cell_values * as_type(
                c, reshape_to(c, weight, (batch, 1, count(shape))), x.dtype
            )
        total = cell_values if total is None else total + cell_values
    assert total is not None
    return reshape_to(c, total, (batch, channels, *shape))
