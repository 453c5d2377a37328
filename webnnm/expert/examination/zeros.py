"""What is suspicious about zeros: that they are the exception under a logarithm."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from webnnm.data.preparation.standardize import compute_moments
from webnnm.expert.examination.rows import Column, Rows
from webnnm.expert.facts.facts import Suspicion

MIN_SHARE, MIN_CELLS = 0.01, 3
"""Zeros of fewer rows are no kind of their own."""

MIN_OTHER_VALUES = 10
MIN_DEVIATIONS = 3.0
"""Logarithms of zeros lie this many deviations of all other logarithms below the lowest of them."""

BASES = (math.e, 10.0, 2.0)
EPSILONS = (*(10.0**-k for k in range(1, 17)), 2.0**-23, 2.0**-52, 2.0**-24)
"""What is added so that the logarithm of 0 is finite; 2⁻²³ and 2⁻⁵² are the ε of floats."""

TOLERANCE = 1e-3
"""How exactly a value is the logarithm of such a number: by chance one in a thousand is."""


class Amounts(NamedTuple):
    """A column of numbers of 0 and more: the share of zeros, and of the other ones the smallest,
    the median, and the deviation of their logarithms."""

    name: str
    zeros: float
    smallest: float
    median: float
    spread: float

    def is_far(self, epsilon: float) -> bool:
        """Return whether the logarithm of 0 + ε lies far from those of all other numbers.

        >>> Amounts("income", 0.2, 300.0, 3000.0, 0.8).is_far(1e-6)
        True
        """
        distance = math.log1p(self.smallest / epsilon)
        return distance > MIN_DEVIATIONS * max(self.spread, math.log(2) / MIN_DEVIATIONS)


def find_logarithms_of_zeros(rows: Rows) -> Suspicion | None:
    """Find columns, and targets, of logarithms whose lowest value is log ε, and far from all
    others."""
    texts: list[str] = []
    typical = 1.0
    target = rows.quantity
    for column in [*rows.columns, *([target] if target is not None else [])]:
        values = [column.raw(value) for value in column.take(rows.subsets["full"])]
        lowest = min(values, default=0.0)
        close = 1e-5 * max(1.0, abs(lowest))
        others = [value for value in values if value > lowest + close]
        number = len(values) - len(others)
        base = _find_base(lowest, others)
        if not base or number < max(MIN_CELLS, MIN_SHARE * len(values)):
            continue
        middle, spread = compute_moments(others)
        if min(others) - lowest <= MIN_DEVIATIONS * spread:
            continue
        typical = max(typical, base**middle)
        logarithm = "log" if base == math.e else f"log{base:g}"
        texts.append(
            f"{number} of {len(values)} values of {column.name} are {lowest:.4g}, which is "
            f"{logarithm}({base**lowest:.2g}), the others lie from {min(others):.4g} to "
            f"{max(others):.4g}"
        )
    if not texts:
        return None
    return Suspicion(
        "; ".join(texts[:5]), {"columns": len(texts)}, logarithm_remedy("log(x + ε)", typical)
    )


def _find_base(lowest: float, others: Sequence[float]) -> float:
    """Return the base to which a value is the logarithm of a usual ε, 0 if there is none."""
    if len(set(others)) < MIN_OTHER_VALUES or all(value == round(value) for value in others):
        return 0.0
    for base in BASES:
        logarithms = [math.log(epsilon) / math.log(base) for epsilon in EPSILONS]
        if any(abs(lowest - value) < TOLERANCE for value in logarithms):
            return base
    return 0.0


def measure_amounts(rows: Rows) -> Suspicion | None:
    """Measure the columns of numbers of 0 and more, with zeros among them, as the model gets
    them."""
    amounts: dict[str, list[Amounts]] = {}
    for column in rows.columns:
        if column.scale == 1.0 and column.offset == 0.0:
            for one in _measure(column, rows.training):
                amounts.setdefault(column.block, []).append(one)
    return Suspicion("there are amounts of 0", amounts) if amounts else None


def _measure(column: Column, training: Sequence[int]) -> Iterator[Amounts]:
    values = sorted(column.take(training))
    positive = [value for value in values if value > 0]
    zeros = len(values) - len(positive)
    if not values or values[0] != 0 or len(set(positive)) < 2:
        return
    if zeros >= max(MIN_CELLS, MIN_SHARE * len(values)):
        spread = compute_moments([math.log(value) for value in positive])[1]
        median = positive[len(positive) // 2]
        yield Amounts(column.name, zeros / len(values), positive[0], median, spread)


def logarithm_remedy(before: str, typical: float) -> str:
    """Return what to take in place of a logarithm of zeros: a shift of the size of the numbers.

    >>> logarithm_remedy("log(x + ε)", 2.7)
    'Take log(1 + x) in place of log(x + ε).'
    >>> logarithm_remedy("log(x + ε)", 2873.0)
    'Take log(1 + x / 3000) in place of log(x + ε): 3000 is a usual value.'
    """
    if typical < 10:
        return f"Take log(1 + x) in place of {before}."
    size = f"{float(f'{typical:.1g}'):g}"
    return f"Take log(1 + x / {size}) in place of {before}: {size} is a usual value."
