"""Finds signals of which some are in another unit, whatever their class."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from webnnm.core.shapes import count
from webnnm.core.thinning import thin
from webnnm.data.preparation.standardize import compute_moments
from webnnm.expert.examination.rows import Rows
from webnnm.expert.facts.facts import Suspicion

FACTORS = {
    1000.0: "as millivolts to volts",
    100.0: "as centimetres to metres, percent to shares",
    60.0: "as seconds to minutes",
    9.80665: "as m/s² to g",
    4.4482: "as newtons to pounds",
    2.54: "as centimetres to inches",
}
"""How many of a smaller unit of signals make up a larger one."""

MIN_NUMBERS, MAX_ROWS, MAX_NUMBERS = 8, 600, 120_000
MIN_ROWS_OF_CLASS, MIN_ROWS_OF_UNIT = 40, 8
MIN_CLASSES = 2
"""In so many classes signals are of two sizes, the same factor apart: in one class they may be of
two kinds."""

MIN_SHARE_OF_CLASSES = 0.6
"""In this share of the classes: noise may hide the size of weak signals."""

MIN_SEPARATION = 4.0
"""Both sizes are so many deviations apart: two normal distributions with a gap between them."""

MAX_SPREAD_RATIO, MAX_SPREAD_RATIO_OF_HIGH = 1.7, 2.5
"""The logarithms of sizes spread as much in one unit as in the other, or less in the smaller one,
where noise of the device is added to them."""

MAX_ERRORS, SLACK, MAX_MISSING = 2.5, 0.03, 0.5
"""Standard errors, and what the logarithm of a factor may be off besides. Noise makes it smaller in
classes of weak signals, by so much."""

ROUNDS = 12


class _Sizes(NamedTuple):
    """The logarithms of the sizes of signals in either unit."""

    low: Sequence[float]
    high: Sequence[float]

    @property
    def distance(self) -> float:
        """The logarithm of the factor between both."""
        return compute_moments(self.high)[0] - compute_moments(self.low)[0]

    @property
    def error(self) -> float:
        """The standard error of the distance."""
        return self.deviation * math.sqrt(1 / len(self.low) + 1 / len(self.high))

    @property
    def deviation(self) -> float:
        """The larger deviation of both."""
        return max(compute_moments(self.low)[1], compute_moments(self.high)[1])

    @property
    def is_clear(self) -> bool:
        """Whether there are two sizes that spread alike, and a gap between them."""
        if min(len(self.low), len(self.high)) < MIN_ROWS_OF_UNIT:
            return False
        low, high = compute_moments(self.low)[1], compute_moments(self.high)[1]
        alike = low <= MAX_SPREAD_RATIO * high and high <= MAX_SPREAD_RATIO_OF_HIGH * low
        return alike and self.distance >= MIN_SEPARATION * self.deviation


def find_two_units(rows: Rows) -> Suspicion | None:
    """Find signals of two sizes, a usual factor of units apart, in several classes."""
    if rows.target is None or not rows.classes or rows.columns:
        return None
    for block, sizes_of_class in _list_sizes(rows):
        divided = [_divide(sizes) for sizes in sizes_of_class.values()]
        clear = [sizes for sizes in divided if sizes.is_clear]
        if not clear:
            continue
        largest = max(clear, key=lambda sizes: compute_moments(sizes.high)[0])
        for factor, units in FACTORS.items():
            missing = math.log(factor) - largest.distance
            if abs(missing) > MAX_ERRORS * largest.error + SLACK:
                continue
            fitting = [
                sizes
                for sizes in clear
                if -MAX_ERRORS * sizes.error - SLACK
                <= math.log(factor) - sizes.distance
                <= MAX_ERRORS * sizes.error + MAX_MISSING
            ]
            if len(fitting) < max(MIN_CLASSES, MIN_SHARE_OF_CLASSES * len(divided)):
                continue
            low = sum([len(sizes.low) for sizes in fitting])
            share = low / sum([len(sizes.low) + len(sizes.high) for sizes in fitting])
            return Suspicion(
                f"in {len(fitting)} of {len(divided)} classes, {share:.0%} of the rows of {block} "
                f"are 1/{factor:.4g} of the others ({units})",
                {"factor": factor, "share": share},
            )
    return None


def _list_sizes(rows: Rows) -> Iterator[tuple[str, Mapping[float, list[float]]]]:
    """Yield the inputs that are signals, and by class the logarithms of the deviations of rows."""
    assert rows.target is not None
    for block, values in rows.inputs.items():
        field, size = rows.fields[block], count(values.shape[1:])
        if field.kind != "continuous" or field.sequence or size < MIN_NUMBERS:
            continue
        units = rows.units(block)
        is_scaled = any(unit != (1.0, 0.0) for unit in units)
        flat = values.values()
        sizes: dict[float, list[float]] = {}
        for row in thin(rows.training, max(1, min(MAX_ROWS, MAX_NUMBERS // size))):
            numbers: Sequence[float] = flat[row * size : (row + 1) * size]
            if is_scaled:
                numbers = [n * a + b for n, (a, b) in zip(numbers, units, strict=True)]
            deviation = compute_moments(numbers)[1]
            if deviation > 0:
                sizes.setdefault(rows.target[row], []).append(math.log(deviation))
        large = {kind: own for kind, own in sizes.items() if len(own) >= MIN_ROWS_OF_CLASS}
        if len(large) >= MIN_CLASSES:
            yield block, large


def _divide(sizes: Sequence[float]) -> _Sizes:
    """Return sizes in two groups, each of those nearer to its own mean (2-means)."""
    ordered = sorted(sizes)
    middle = (ordered[0] + ordered[-1]) / 2
    for _ in range(ROUNDS):
        low = [size for size in ordered if size <= middle]
        high = [size for size in ordered if size > middle]
        if not low or not high:
            break
        middle = (compute_moments(low)[0] + compute_moments(high)[0]) / 2
    return _Sizes([s for s in ordered if s <= middle], [s for s in ordered if s > middle])
