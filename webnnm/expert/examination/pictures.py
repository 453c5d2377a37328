"""What is suspicious about pictures: channels that are elsewhere in memory than the shape says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from operator import sub
from typing import NamedTuple

from webnnm.core.shapes import count
from webnnm.core.thinning import thin
from webnnm.data.preparation.standardize import compute_moments, find_channel_axis
from webnnm.expert.examination.rows import Rows
from webnnm.expert.facts.facts import Suspicion
from webnnm.expert.facts.structure import MAX_CHANNELS

MIN_SIDE = 8
"""In smaller pictures the pixels of one channel are too often next to those of another."""

MIN_PICTURES, MAX_PICTURES = 20, 100
MAX_NUMBERS = 200_000
"""The number of pictures, and of their values, that are examined: 0.1 s on a desktop."""

MIN_ROUGHNESS_RATIO, MIN_HORIZONTAL_RATIO = 1.4, 1.3
"""A reshaped picture is at least this many times rougher than in the other order, if its channels
are related; photographs are two to nine times as rough. Noise is equally rough in either order,
within 2%. Horizontal neighbours are not `MIN_HORIZONTAL_RATIO` times as smooth in it."""

MIN_LINE_RATIO, MIN_SUM_RATIO = 1.06, 1.5
"""The right order shows in vertically neighbouring lines, which the wrong order separates: they are
then at least this much rougher, and this much together with horizontal neighbours, or with the
channels of a pixel. Figures on noise, and unrelated channels, show it only in this way."""

Picture = Sequence[float]


class Roughness(NamedTuple):
    """Mean squared differences of pixels to their horizontal and vertical neighbours, and of
    channels to the next one, in units of the variance: 2 if they are independent."""

    across: float
    down: float
    between: float


def find_wrong_channels(rows: Rows) -> Suspicion | None:
    """Find pictures that are smoother if their channels are assumed at the other end."""
    for block, values in rows.inputs.items():
        field = rows.fields[block]
        axis = find_channel_axis(field)
        if field.sequence or field.kind != "continuous" or len(field.shape) != 3:
            continue
        if axis not in (0, 2) or not 1 < field.shape[axis] <= MAX_CHANNELS:
            continue
        sides = field.shape[:axis] + field.shape[axis + 1 :]
        if min(sides) < MIN_SIDE or len(rows.sample) < MIN_PICTURES:
            continue
        size, flat = count(field.shape), values.values()
        limit = max(MIN_PICTURES, min(MAX_PICTURES, MAX_NUMBERS // size))
        examined = thin(rows.sample, limit)
        pictures = [flat[row * size : (row + 1) * size] for row in examined]
        first = roughness(pictures, *sides, first=True)
        last = roughness(pictures, *sides, first=False)
        declared, swapped = (first, last) if axis == 0 else (last, first)
        if _is_other_order_right(declared, swapped):
            end, other_end = ("first", "last") if axis == 0 else ("last", "first")
            return Suspicion(
                f"pixels of {block} and those below them differ by {declared.down:.2f} of the "
                f"variance with the channels {end}, as its shape has them, and by "
                f"{swapped.down:.2f} if the same numbers are read with the channels {other_end}",
                {"given": declared.down, "other": swapped.down},
            )
    return None


def _is_other_order_right(declared: Roughness, swapped: Roughness) -> bool:
    """Return whether the other order is the right one."""
    across = declared.down * declared.across > MIN_SUM_RATIO * swapped.down * swapped.across
    between = declared.down * declared.between > MIN_SUM_RATIO * swapped.down * swapped.between
    if declared.down > MIN_LINE_RATIO * swapped.down and (across or between):
        return True
    beside = MIN_HORIZONTAL_RATIO * declared.across >= swapped.across
    return (
        declared.down >= swapped.down
        and beside
        and sum(declared) > MIN_ROUGHNESS_RATIO * sum(swapped)
    )


def roughness(pictures: Sequence[Picture], height: int, width: int, *, first: bool) -> Roughness:
    """Return how rough pictures are if their channels are first, or last.

    >>> ramp = [float(x + y) for y in range(8) for x in range(8) for _ in range(3)]
    >>> [round(each, 2) for each in roughness([ramp], 8, 8, first=False)]
    [0.1, 0.1, 0.0]
    """
    plane = height * width
    channels = len(pictures[0]) // plane
    length, step = (width, 1) if first else (width * channels, channels)
    stride = length * max(1, len(pictures) * len(pictures[0]) // MAX_NUMBERS)
    across, down, between, seen = list[float](), list[float](), list[float](), list[float]()
    for picture in pictures:
        lines: list[Picture] = []
        for begin in range(0, len(picture), stride):
            line = picture[begin : begin + length]
            lines.append(line)
            across.append(_squares(map(sub, line[step:], line)) / (length - step))
            if begin // length % height < height - 1:
                below = picture[begin + length : begin + 2 * length]
                down.append(_squares(map(sub, below, line)) / length)
            for one, next_one in _channels(picture, begin, plane, line, step):
                between.append(_squares(map(sub, next_one, one)) / len(one))
        seen.append(compute_moments(list(chain.from_iterable(lines)))[1] ** 2)
    variance = sum(seen) / len(seen) or 1.0
    return Roughness(
        *(sum(squares) / (len(squares) or 1) / variance for squares in (across, down, between))
    )


def _channels(
    picture: Picture, begin: int, plane: int, line: Picture, step: int
) -> Iterator[tuple[Picture, Picture]]:
    """Yield the pixels of a line in one channel and in the next one."""
    if step > 1:
        yield from ((line[n::step], line[n + 1 :: step]) for n in range(step - 1))
    elif begin + plane < len(picture):
        yield line, picture[begin + plane : begin + plane + len(line)]


def _squares(values: Iterable[float]) -> float:
    return sum([value * value for value in values])
