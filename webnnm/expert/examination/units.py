"""What is suspicious about the units of a column: some cells in a different unit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from webnnm.data.preparation.standardize import compute_moments
from webnnm.expert.examination.rows import Column, Rows
from webnnm.expert.examination.statistics import correlation
from webnnm.expert.facts.facts import Suspicion

FACTORS = {
    3600.0: "as seconds to hours",
    1000.0: "as millimetres to metres, grams to kilograms",
    453.59: "as grams to pounds",
    100.0: "as centimetres to metres, cents to euros, percent to shares",
    10.0: "as millimetres to centimetres",
    60.0: "as seconds to minutes, minutes to hours",
    30.48: "as centimetres to feet",
    25.4: "as millimetres to inches",
    12.0: "as inches to feet, months to years",
    4.1868: "as kilojoules to kilocalories",
    3.2808: "as feet to metres",
    2.54: "as centimetres to inches",
    2.2046: "as pounds to kilograms",
    1.6093: "as kilometres to miles",
}
"""How many of a smaller unit make up a usual larger one."""

MIN_CELLS, MIN_ROWS = 5, 100
"""At least this many cells of another unit, and rows, have a distribution to compare."""

MAX_MISTAKEN = 0.2
"""A unit that more than a fifth of the rows have is not a slip: these rows may be of a different
kind, unless columns that correlate with this one in both groups say that it is the same
quantity."""

MIN_RELATION = 4.0
"""Standard errors of no correlation, in both groups, beyond which another column is related to this
one."""

FAHRENHEIT = 1.8, 32.0
DEGREE_TOLERANCE = 0.25
"""Deviations of degrees Fahrenheit are 1.8 times those of Celsius, within a quarter of that."""

MIN_VALUES = 20
"""A quantity has at least this many values, the few cells five; a choice of doses has fewer."""

MIN_GAP_RATIO = 3.0
"""The gap between the units is this many times as wide as the widest gap within either."""

MAX_STANDARD_ERRORS = 2.0
"""Standard errors by which the factor may be off: those of two medians."""

MAX_SPREAD_RATIO = 2.0
"""In its own unit the minority spreads as the majority does, but for this factor: its deviation is
uncertain by a third where there are five cells."""

MAX_DIFFERENCE = 3.5
"""Rows that differ in other columns by so many standard errors are of another kind: trucks among
cars. Slips come in all rows; of 100 columns of chance one goes beyond that in twenty tables."""


def find_unit_mix(rows: Rows) -> Suspicion | None:
    """Find columns with some cells that are above or below the others by a usual factor of
    units."""
    texts: list[str] = []
    factors: dict[str, float] = {}
    for column in rows.columns:
        values = [column.raw(value) for value in column.take(rows.sample)]
        if len(values) < MIN_ROWS or len({*values}) < MIN_VALUES:
            continue
        if text := _describe_degrees(rows, column, values):
            factors[column.name] = FAHRENHEIT[0]
            texts.append(text)
            continue
        logs = list(map(math.log, values)) if min(values) > 0 else []
        groups = _split_at_gap(logs) if logs else None
        if groups is None:
            continue
        low, high, is_minority = groups
        factor = _find_factor(low, high)
        if factor is None or not _same_quantity(rows, column, logs, is_minority, math.log(factor)):
            continue
        fewer, more = sorted((low, high), key=len)
        lowest, highest, smallest_other, largest_other = (
            math.exp(value) for value in (fewer[0], fewer[-1], more[0], more[-1])
        )
        factors[column.name] = factor
        times = f"{factor:,.4g} times" if fewer is high else f"1/{factor:,.4g} of"
        texts.append(
            f"{len(fewer) / len(values):.1%} of the cells of {column.name}, {lowest:.4g} to "
            f"{highest:.4g}, are {times} the others, {smallest_other:.4g} to "
            f"{largest_other:.4g} ({FACTORS[factor]})"
        )
    return Suspicion("; ".join(texts[:5]), factors) if texts else None


def _describe_degrees(rows: Rows, column: Column, values: Sequence[float]) -> str:
    """Return the message about a column in which degrees Celsius and Fahrenheit are mixed."""
    groups = _split_at_gap(values)
    if groups is None:
        return ""
    low, high, is_minority = groups
    (mean_low, std_low), (mean_high, std_high) = compute_moments(low), compute_moments(high)
    factor, offset = FAHRENHEIT
    error = factor * std_low * math.sqrt(1 / len(low) + 1 / len(high))
    slack = DEGREE_TOLERANCE + MAX_STANDARD_ERRORS * math.sqrt(0.5 / len(low) + 0.5 / len(high))
    fits = abs(mean_high - factor * mean_low - offset) <= MAX_STANDARD_ERRORS * error < offset / 4
    if not std_low or not fits or abs(math.log(std_high / std_low / factor)) > math.log(1 + slack):
        return ""
    # How far apart both groups would be if they were in one unit.
    if not _same_quantity(rows, column, values, is_minority, mean_high - mean_low):
        return ""
    return (
        f"{len(high) / len(values):.1%} of the cells of {column.name}, {high[0]:.4g} to "
        f"{high[-1]:.4g}, are the others, {low[0]:.4g} to {low[-1]:.4g}, times 1.8 and 32 more "
        "(as degrees Celsius to Fahrenheit)"
    )


def _split_at_gap(logs: Sequence[float]) -> tuple[list[float], list[float], list[bool]] | None:
    """Return sorted values on both sides of one wide gap, and which cells are the minority."""
    ordered = sorted(logs)
    gaps = [high - low for low, high in pairwise(ordered)]
    widest = max(gaps)
    index = gaps.index(widest) + 1
    low, high = ordered[:index], ordered[index:]
    number = min(len(low), len(high))
    second = max(gaps[: index - 1] + gaps[index:], default=0.0)
    if number < MIN_CELLS or widest < MIN_GAP_RATIO * second:
        return None
    if min(len({*low}), len({*high})) < MIN_CELLS:
        return None
    edge, fewer_above = high[0], len(high) == number
    return low, high, [(value >= edge) == fewer_above for value in logs]


def _find_factor(low: Sequence[float], high: Sequence[float]) -> float | None:
    """Return the factor by which both are the same quantity, as far as that can be determined."""
    spreads = [compute_moments(values)[1] for values in (low, high)]
    if min(spreads) * MAX_SPREAD_RATIO < max(spreads):
        return None
    difference = high[len(high) // 2] - low[len(low) // 2]
    # The standard error of a median is 1.25 times that of a mean.
    error = 1.25 * max(spreads) * math.sqrt(1 / len(low) + 1 / len(high))
    nearest = min(FACTORS, key=lambda factor: abs(math.log(factor) - difference))
    # If errors are larger than the difference between factors, none of them is reported.
    if (
        abs(math.log(nearest) - difference) > MAX_STANDARD_ERRORS * error
        or error > math.log(nearest) / 4
    ):
        return None
    return nearest


def _same_quantity(
    rows: Rows,
    column: Column,
    values: Sequence[float],
    is_minority: Sequence[bool],
    log_factor: float,
) -> bool:
    """Return whether other columns and the target are alike in both groups; in large groups, also
    whether one of them shows that a difference of `log_factor` is only one of units.

    What follows a column, in one group as in the other, would differ between both by the slope
    times their distance.
    """
    others = [*_other_columns(rows, column)]
    if any(_differs_in_mean(column, is_minority) for column in others):
        return False
    is_large = sum(is_minority) > MAX_MISTAKEN * len(is_minority)
    return not is_large or any(
        _shows_no_difference(column, values, is_minority, log_factor) for column in others
    )


def _shows_no_difference(
    other: Sequence[float], values: Sequence[float], is_minority: Sequence[bool], log_factor: float
) -> bool:
    """Return whether a column follows the values in both groups, and is the same in both."""
    slopes: list[float] = []
    errors: list[float] = []
    for side in (True, False):
        values_of_group = [
            value
            for value, is_in_minority in zip(values, is_minority, strict=True)
            if is_in_minority is side
        ]
        others_of_group = [
            value
            for value, is_in_minority in zip(other, is_minority, strict=True)
            if is_in_minority is side
        ]
        related, (_, std_of_values), (_, std_of_others) = (
            correlation(values_of_group, others_of_group),
            compute_moments(values_of_group),
            compute_moments(others_of_group),
        )
        if abs(related) * math.sqrt(len(values_of_group)) < MIN_RELATION or not std_of_values:
            return False
        slopes.append(related * std_of_others / std_of_values)
        errors.append(std_of_others / math.sqrt(len(values_of_group)))
    slope = min(map(abs, slopes)) if slopes[0] * slopes[1] > 0 else 0.0
    return slope * log_factor > 2 * MAX_DIFFERENCE * math.hypot(*errors)


def _other_columns(rows: Rows, column: Column) -> Iterator[Sequence[float]]:
    """Yield the other columns, and the target, by rows of the sample."""
    yield from (other.take(rows.sample) for other in rows.columns if other is not column)
    if rows.target is not None:
        yield [float(rows.target[row]) for row in rows.sample]


def _differs_in_mean(values: Sequence[float], is_minority: Sequence[bool]) -> bool:
    """Return whether the few rows have another mean than the others (Welch 1947)."""
    minority = [value for value, one in zip(values, is_minority, strict=True) if one]
    rest = [value for value, one in zip(values, is_minority, strict=True) if not one]
    (mean, std), (mean_of_rest, spread) = compute_moments(minority), compute_moments(rest)
    error = math.sqrt(max(std, spread / 2) ** 2 / len(minority) + spread**2 / len(rest))
    return abs(mean - mean_of_rest) > MAX_DIFFERENCE * error
