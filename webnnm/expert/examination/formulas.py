"""What is suspicious about columns that together give a quantity, as a product or sum."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from operator import add, mul, sub
from typing import NamedTuple

from webnnm.core.thinning import thin
from webnnm.data.preparation.standardize import compute_moments
from webnnm.expert.examination.columns import MIN_ROWS, find_identifiers
from webnnm.expert.examination.neighbours import shift_of_windows
from webnnm.expert.examination.rows import Column, Rows
from webnnm.expert.examination.statistics import (
    DEPENDENT,
    combination,
    correlation,
    normalise,
    orthonormalise,
)
from webnnm.expert.facts.facts import Suspicion

MAX_RESIDUAL = 1e-3
"""A formula leaves at most this share of the variance: computed and rounded values leave less,
measured values more."""

MIN_RESIDUAL_OF_PARTS = 2e-3
"""Each column alone, and for a product or quotient their best linear combination, leaves at least
this share, and `MIN_RESIDUAL_RATIO` times as much as the formula, which otherwise explains nothing
more."""

MIN_RESIDUAL_RATIO = 20
MAX_COLUMNS = 24
"""This many columns are examined in pairs, first on `FIRST_ROWS` rows: 0.1 s."""

FIRST_ROWS, MAX_RESIDUAL_OF_FIRST = 24, 0.03
"""On the first rows a formula may leave more, where the target hardly varies on them."""

MIN_PART, MAX_WEIGHT_RATIO = 0.02, 1.03
"""In a total all parts have the same weight, within 3%; a column with less than a fiftieth of the
deviation of the whole is not a part."""

MAX_ROWS = 400
MIN_VALUES = 8
"""A quantity has at least this many values; yes and no times a price is a choice."""

Formula = Callable[[float, float], float]


def _divide(one: float, other: float) -> float:
    return one / other


def _with_square(one: float, other: float) -> float:
    return one * other**2


def _by_square(one: float, other: float) -> float:
    return one / other**2


class Form(NamedTuple):
    """A formula of two columns: how it is written, and whether a linear model is as good."""

    text: str
    of: Formula
    linear: bool = False
    swapped: bool = False


FORMS = (
    Form("{0} + {1}", add, linear=True),
    Form("{0} − {1}", sub, linear=True),
    Form("{0} · {1}", mul),
    Form("{0} / {1}", _divide),
    Form("{1} / {0}", _divide, swapped=True),
    Form("{0} · {1}²", _with_square),
    Form("{1} · {0}²", _with_square, swapped=True),
    Form("{0} / {1}²", _by_square),
    Form("{1} / {0}²", _by_square, swapped=True),
)
"""What is usually computed: totals and rests, amounts and rates, a body mass index."""


def find_formula(rows: Rows) -> Suspicion | None:
    """Find two named columns, or parts of a total, that together give a quantity."""
    target, named = rows.quantity, [*_quantities_with_names(rows)]
    examined = thin(rows.sample, MAX_ROWS)
    if target is None or not 1 < len(named) <= MAX_COLUMNS or len(examined) < MIN_ROWS:
        return None
    if shift_of_windows(rows) is not None:  # the next value of a smooth series follows from two
        return None
    targets = [target.raw(value) for value in target.take(examined)]
    values = [[column.raw(value) for value in column.take(examined)] for column in named]
    step = len(examined) // FIRST_ROWS
    first = targets[::step]
    best: tuple[float, Form, int, int] | None = None
    for one, other in combinations(range(len(named)), 2):
        pair = values[one], values[other]
        fewer = pair[0][::step], pair[1][::step]
        for form in FORMS:
            if _residual_share(form, *fewer, first) > MAX_RESIDUAL_OF_FIRST:
                continue
            residual = _residual_share(form, *pair, targets)
            is_formula = residual <= MAX_RESIDUAL and _share_of_simpler_model(
                form, *pair, targets
            ) >= max(MIN_RESIDUAL_OF_PARTS, MIN_RESIDUAL_RATIO * residual)
            if is_formula and (best is None or residual < best[0]):
                best = residual, form, one, other
    if best is None:
        return _find_total([column.name for column in named], values, targets)
    residual, form, one, other = best
    names = named[one].name, named[other].name
    alone = [correlation(values[index], targets) ** 2 for index in (one, other)]
    return Suspicion(
        f"the target is {form.text.format(*names)} (R² {_format_r2(1 - residual)}), up to scale "
        f"and offset; {names[0]} alone has R² {alone[0]:.2f}, {names[1]} {alone[1]:.2f}",
        {"columns": list(names), "r2": 1 - residual},
    )


def _find_total(
    names: Sequence[str], values: Sequence[Sequence[float]], targets: Sequence[float]
) -> Suspicion | None:
    """Find a quantity that is the sum of three columns and more, some of them with a minus."""
    target = normalise(targets)
    residual = combination(target, orthonormalise(values))[2] ** 2
    if len(names) < 3 or residual > MAX_RESIDUAL:
        return None
    weights: dict[str, float] = {}
    for index, name in enumerate(names):
        others = [*values[:index], *values[index + 1 :]]
        _, rest, length = combination(normalise(values[index]), orthonormalise(others))
        if length < DEPENDENT:
            return None
        share = math.fsum(map(mul, rest, target)) / length**2
        if abs(share) > MIN_PART:
            weights[name] = share / compute_moments(values[index])[1]
    sizes = [abs(weight) for weight in weights.values()]
    first = next(iter(weights.values()), 0.0)
    if len(sizes) < 3 or max(sizes) > MAX_WEIGHT_RATIO * min(sizes):
        return None
    signs = ["+" if weight * first > 0 else "−" for weight in weights.values()]
    text = "".join(f" {sign} {name}" for sign, name in zip(signs, weights, strict=True))
    return Suspicion(
        f"the target is {text.removeprefix(' + ')} (R² {_format_r2(1 - residual)}), up to scale "
        "and offset",
        {"columns": [*weights], "r2": 1 - residual},
    )


def _format_r2(r2: float) -> str:
    """Return an R² that is not rounded up to 1.

    >>> _format_r2(0.99996), _format_r2(1.0)
    ('0.9999', '1')
    """
    return "1" if 1 - r2 < 1e-9 else f"{math.floor(1e4 * r2) / 1e4:.4f}"


def _quantities_with_names(rows: Rows) -> Iterator[Column]:
    """Yield the quantities among columns that have names, except those that identify rows."""
    names = {name for field in rows.fields.values() for name in field.features or ()}
    names -= {column.name for column in find_identifiers(rows)}
    for column in rows.columns:
        if column.name in names and len({*column.take(rows.sample)}) >= MIN_VALUES:
            yield column


def _residual_share(
    form: Form, one: Sequence[float], other: Sequence[float], targets: Sequence[float]
) -> float:
    """Return the share of the variance that a formula leaves, 1 where it has no value."""
    if form.swapped:
        one, other = other, one
    try:
        predictions = list(map(form.of, one, other))
    except (ZeroDivisionError, OverflowError):
        return 1.0
    return 1 - correlation(predictions, targets) ** 2


def _share_of_simpler_model(
    form: Form, one: Sequence[float], other: Sequence[float], targets: Sequence[float]
) -> float:
    """Return the share that a simpler model leaves: one column, or a line of both."""
    if form.linear:
        return min(1 - correlation(values, targets) ** 2 for values in (one, other))
    return combination(normalise(targets), orthonormalise([one, other]))[2] ** 2
