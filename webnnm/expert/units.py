"""What is suspicious about the units of a column: a few cells in another unit than the others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from webnnm.data.standardize import moments
from webnnm.expert.facts import Suspicion
from webnnm.expert.rows import Column, Rows

FACTORS = {
    1000.0: "as millimetres to metres, grams to kilograms",
    100.0: "as centimetres to metres, cents to euros, percent to shares",
    10.0: "as millimetres to centimetres",
    60.0: "as seconds to minutes, minutes to hours",
    25.4: "as millimetres to inches",
    3.2808: "as feet to metres",
    2.54: "as centimetres to inches",
    2.2046: "as pounds to kilograms",
    1.6093: "as kilometres to miles",
}
"""How many of a smaller unit a usual larger one has."""

FEWEST, ENOUGH = 5, 100
"""So many cells of another unit, of so many rows, have a distribution to compare."""

MISTAKEN = 0.2
"""A unit that more than a fifth of the rows have is no slip: it may be a kind of its own."""

LEVELS = 20
"""A quantity has so many values, the few cells five of them; a choice of doses has fewer."""

WIDER = 3.0
"""The gap between both units is so many times as wide as the widest within either."""

ERRORS = 2.0
"""Standard errors that the factor may be off: those of two medians."""

SPREADS = 2.0
"""In its own unit the minority spreads as the majority does, but for this factor: its deviation is
uncertain by a third where there are five cells."""

OF_A_KIND = 3.5
"""Rows that differ in other columns by so many standard errors are of another kind: trucks among
cars. Slips come in all rows; of 100 columns of chance one goes beyond that in twenty tables."""


def mixed_units(rows: Rows) -> Suspicion | None:
    """Find columns of which a few cells are a usual factor of units above or below the others."""
    texts: list[str] = []
    factors: dict[str, float] = {}
    for column in rows.columns:
        values = [column.raw(value) for value in column.of(rows.sample)]
        if len(values) < ENOUGH or min(values) <= 0 or len({*values}) < LEVELS:
            continue
        found = _apart(list(map(math.log, values)))
        if found is None:
            continue
        low, high, few = found
        factor = _factor(low, high)
        if factor is None or any(_differ(each, few) for each in _others(rows, column)):
            continue
        fewer, more = sorted((low, high), key=len)
        lowest, highest, least, most = (
            math.exp(value) for value in (fewer[0], fewer[-1], more[0], more[-1])
        )
        factors[column.name] = factor
        times = f"{factor:,.4g} times" if fewer is high else f"1/{factor:,.4g} of"
        texts.append(
            f"{len(fewer) / len(values):.1%} of the cells of {column.name}, {lowest:.4g} to "
            f"{highest:.4g}, are {times} the others, {least:.4g} to {most:.4g} ({FACTORS[factor]})"
        )
    return Suspicion("; ".join(texts[:5]), factors) if texts else None


def _apart(logs: Sequence[float]) -> tuple[list[float], list[float], list[bool]] | None:
    """Return sorted logarithms on both sides of one wide gap, and which cells are the fewer."""
    ordered = sorted(logs)
    gaps = [high - low for low, high in pairwise(ordered)]
    widest = max(gaps)
    place = gaps.index(widest) + 1
    low, high = ordered[:place], ordered[place:]
    number = min(len(low), len(high))
    second = max(gaps[: place - 1] + gaps[place:], default=0.0)
    if not FEWEST <= number <= MISTAKEN * len(logs) or widest < WIDER * second:
        return None
    if min(len({*low}), len({*high})) < FEWEST:
        return None
    edge, fewer_above = high[0], len(high) == number
    return low, high, [(value >= edge) == fewer_above for value in logs]


def _factor(low: Sequence[float], high: Sequence[float]) -> float | None:
    """Return the factor by which both are the same quantity, as far as that can be told."""
    spreads = [moments(each)[1] for each in (low, high)]
    if min(spreads) * SPREADS < max(spreads):
        return None
    off = high[len(high) // 2] - low[len(low) // 2]
    # The standard error of a median is 1.25 times that of a mean.
    error = 1.25 * max(spreads) * math.sqrt(1 / len(low) + 1 / len(high))
    nearest = min(FACTORS, key=lambda factor: abs(math.log(factor) - off))
    # Where errors are larger than what tells factors apart, none of them is told.
    if abs(math.log(nearest) - off) > ERRORS * error or error > math.log(nearest) / 4:
        return None
    return nearest


def _others(rows: Rows, column: Column) -> Iterator[Sequence[float]]:
    """Yield the other columns, and the target, by rows of the sample."""
    yield from (each.of(rows.sample) for each in rows.columns if each is not column)
    if rows.target is not None:
        yield [float(rows.target[row]) for row in rows.sample]


def _differ(values: Sequence[float], few: Sequence[bool]) -> bool:
    """Tell whether the few rows have another mean than the others (Welch 1947)."""
    some = [value for value, one in zip(values, few, strict=True) if one]
    most = [value for value, one in zip(values, few, strict=True) if not one]
    (mean, std), (usual, spread) = moments(some), moments(most)
    error = math.sqrt(max(std, spread / 2) ** 2 / len(some) + spread**2 / len(most))
    return abs(mean - usual) > OF_A_KIND * error
