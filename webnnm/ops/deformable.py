"""Deformable attention: queries read a few places of feature maps, wherever they choose.

Sources: X. Zhu et al., "Deformable DETR: Deformable transformers for end-to-end object detection",
arXiv:2010.04159 (2020); places as in W. Lv et al., "RT-DETRv2", arXiv:2407.17140 (2024).
"""

from __future__ import annotations

from itertools import product
from typing import Any

from webnnm.core.shapes import count, is_integer, show
from webnnm.ops.declare import checks
from webnnm.ops.declare.composite import declare_composite
from webnnm.ops.declare.operator import no_gradient, sample
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor

CORNERS = tuple(product((0, 1), repeat=2))
"""The cells around a place: whether each is below and to the right."""


def _check_levels(value: Any) -> tuple[int, ...]:
    """Accept the heights and widths of maps, one pair after the other."""
    numbers: Any = value if isinstance(value, (tuple, list)) else ()
    if not numbers or len(numbers) % 2 or not all(is_integer(n) and n > 0 for n in numbers):
        raise ValueError(f"{value!r} are not the heights and widths of maps")
    return tuple(numbers)


@declare_composite(
    "topIndices",
    summary="the indices of the largest numbers along the last axis, largest first",
    ranks=(1, None),
    checks={"count": checks.integer(1)},
    result="int32",
    gradient=no_gradient,
    samples=(sample((5,), count=2), sample((2, 3, 4), count=4)),
)
def top_indices(b: Builder, x: Tensor, *, count: int) -> Tensor:
    """Return the indices of the `count` largest numbers; of equal ones, the first comes first."""
    if count > x.shape[-1]:
        raise OperatorError("NNM303", f"count={count} of {x.shape[-1]} numbers")
    _, indices = b.top_k(x, k=count, axis=x.rank - 1)
    return b.identity(indices)


@declare_composite(
    "deformableAttend",
    summary="attention to a few places around a box, in feature maps of several sizes",
    ranks=(2, None),
    checks={
        "heads": checks.integer(1),
        "points": checks.integer(1),
        "levels": _check_levels,
    },
    samples=(
        sample(
            (7, 4),
            (2, 16),
            (2, 8),
            (2, 4),
            heads=2,
            points=2,
            levels=(2, 3, 1, 1),
            values=(
                None,
                [[0.3, -0.4, 0.2, 0.7, -0.6, 0.1, 0.35, 0.9] * 2, [0.15] * 16],
                None,
                [[0.4, 0.6, 0.5, 0.3], [0.9, 0.2, 0.2, 0.7]],
            ),
        ),
        sample(
            (1, 6, 2),
            (1, 1, 4),
            (1, 1, 2),
            (1, 1, 4),
            heads=1,
            points=2,
            levels=(2, 3),
            scale=1.0,
            nearest=True,
            values=(None, [[[0.3, -0.4, 0.2, 0.7]]], None, [[[0.4, 0.6, 0.5, 0.3]]]),
        ),
    ),
)
def deformable_attend(
    b: Builder,
    x: Tensor,
    offsets: Tensor,
    scores: Tensor,
    boxes: Tensor,
    *,
    heads: int = 1,
    points: int = 1,
    levels: tuple[int, ...],
    scale: float = 0.5,
    nearest: bool = False,
) -> Tensor:
    """Return `[…, queries, features]` of the cells x `[…, cells, features]` of all maps.

    `levels` are the heights and widths of the maps, one after the other. Each head of each query
    reads `points` places per map: the centre of its box, plus `offsets […, queries, heads · maps ·
    points · 2]` times `scale / points` and the size of the box. Boxes `[…, queries, 4]` are centre,
    width and height, as shares of the maps. Places are interpolated, zero outside, or with
    `nearest` the nearest cells; the softmax of `scores […, queries, heads · maps · points]` weights
    them.
    """
    sizes = [*zip(levels[::2], levels[1::2], strict=True)]
    *lead, cells, features = x.shape
    queries, places = scores.shape[-2], len(sizes) * points
    expected = [
        (*lead, sum(height * width for height, width in sizes), features),
        (*lead, queries, heads * places * 2),
        (*lead, queries, heads * places),
        (*lead, queries, 4),
    ]
    shapes = [operand.shape for operand in (x, offsets, scores, boxes)]
    if shapes != expected or features % heads:
        both = ", ".join(map(show, shapes)), ", ".join(map(show, expected))
        raise OperatorError("NNM401", f"{both[0]} for {heads} heads; {both[1]} expected")
    samples, depth = count(lead), features // heads
    lines = samples * queries

    def per_place(values: list[float], *last: int) -> Any:
        """Return a constant with a number, or several, for each place of a head."""
        return b.constant(values, x.dtype, (1, 1, places, *last))

    wide = [float(n) for height, width in sizes for _ in range(points) for n in (width, height)]
    box: Any = b.reshape(boxes, new_shape=(lines, 1, 1, 4))
    centre: Any = b.slice(box, (0, 0, 0, 0), (lines, 1, 1, 2))
    extent: Any = b.slice(box, (0, 0, 0, 2), (lines, 1, 1, 2))
    moves: Any = b.reshape(offsets, new_shape=(lines, heads, places, 2))
    position = (centre + moves * (scale / points) * extent) * per_place(wide, 2)
    last = per_place([n - 1 for n in wide], 2)
    weights: Any = b.softmax(b.reshape(scores, new_shape=(lines, heads, places)), axis=2)
    rows = b.reshape(x, new_shape=(samples, cells, heads, depth))
    rows = b.reshape(b.transpose(rows, permutation=(0, 2, 1, 3)), new_shape=(-1, depth))
    starts = _index_starts(b, sizes, points, samples, queries, heads)
    widths = per_place([float(width) for _, width in sizes for _ in range(points)])

    def read(cell: Any, share: Any) -> Any:
        """Return what is at a cell of each place, times its share."""
        inside = b.clamp(cell, min_value=0.0)
        inside = b.min(inside, last)
        column = b.reshape(_part(b, inside, 0), new_shape=(lines, heads, places))
        row = b.reshape(_part(b, inside, 1), new_shape=(lines, heads, places))
        index = b.cast(row * widths + column, type="int32") + starts
        values = b.gather(rows, index, axis=0)
        return b.reduce_sum(values * b.reshape(share, new_shape=(*share.shape, 1)), axes=[2])

    if nearest:
        result = read(b.floor(position + 0.5), weights)
    else:
        corner: Any = b.floor(position - 0.5)
        part: Any = position - 0.5 - corner
        result: Any = None
        for below, right in CORNERS:
            cell = corner + b.constant([float(right), float(below)], x.dtype, (2,))
            share = weights
            for axis, beyond in ((0, right), (1, below)):
                along = b.reshape(_part(b, part, axis), new_shape=(lines, heads, places))
                share = share * (along if beyond else 1.0 - along)
            is_inside = b.reduce_min(
                b.cast(b.equal(b.min(b.max(cell, 0.0), last), cell), type=x.dtype), axes=[3]
            )
            picked = read(cell, share * is_inside)
            result = picked if result is None else result + picked
    return b.reshape(result, new_shape=(*lead, queries, features))


def _part(b: Builder, places: Any, axis: int) -> Any:
    """Return the numbers of places across, or down for the axis 1."""
    *lead, _ = places.shape
    return b.slice(places, (*(0 for _ in lead), axis), (*lead, 1))


def _index_starts(
    b: Builder,
    sizes: list[tuple[int, int]],
    points: int,
    samples: int,
    queries: int,
    heads: int,
) -> Any:
    """Return where the rows of each sample, head and map begin, `[samples · queries, heads, …]`."""
    starts: list[int] = []
    cells = 0
    for height, width in sizes:
        starts += [cells] * points
        cells += height * width
    heads_of = [
        (sample * heads + head) * cells
        for sample in range(samples)
        for _ in range(queries)
        for head in range(heads)
    ]
    first = b.constant(heads_of, "int32", (samples * queries, heads, 1))
    return first + b.constant(starts, "int32", (1, 1, len(starts)))
