"""Measures the facts about the labels of an output that determine its loss."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import compress

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import is_float
from webnnm.core.shapes import count
from webnnm.data.classes import SUM_TOLERANCE
from webnnm.data.field import Field
from webnnm.data.preparation.standardize import Standardization, compute_moments
from webnnm.training.loss_choice import MAD_TO_STD, LabelFacts

ROUNDED = 1e-5
"""An integer that was standardised in float32 is restored to within this share of it."""

EXCESS_KURTOSIS = 3.0
ROBUST_LIMIT = 3.0
FAR_SHARE = 0.01
"""Outliers: excess kurtosis above the first, or above 0 and more than the last share beyond the
second times σ = 1.4826·MAD (spec D.4.5). Two groups of values have a kurtosis below a normal's."""


def measure_labels(
    values: HostArray,
    field: Field,
    mask: HostArray | None = None,
    fitted: Standardization | None = None,
) -> LabelFacts:
    """Measure the labels of an output, which should be those of the training rows.

    >>> facts = measure_labels(HostArray.of([[0, 1], [1, 0], [0, 1]]), Field((2,), "float32",
    ...     kind="onehot", classes=2))
    >>> facts.class_counts, facts.single
    ((1, 2), True)

    `values` are `[rows, …]` as the dataset has them, `field` describes them. `mask`,
    `[rows, length]` of 0 and 1, marks the positions of a sequence that count, by default all;
    `fitted` is how they were standardised, None if they were not.
    """
    shape = values.shape[1:]
    if field.kind == "boxes":  # no number of which is a label on its own
        return LabelFacts(kind=field.kind, shape=shape, classes=field.classes)
    flat: list[float] = list(values.values())
    if mask is not None or field.sequence:
        shape = shape[1:]
    if mask is not None:
        flat = _select_valid(flat, count(shape), mask)
    width = shape[-1] if shape else 1
    if not flat:
        return LabelFacts(kind=field.kind, shape=shape, classes=field.classes)
    if field.kind == "classes":
        return _measure_classes(flat, field, shape)
    low, high = min(flat), max(flat)
    ones = flat.count(1)
    binary = ones + flat.count(0) == len(flat)
    sums = list(map(sum, _iterate_rows(flat, width))) if low >= 0 and width > 1 else []
    single = binary and bool(sums) and min(sums) == max(sums) == 1
    columns = [flat[start::width] for start in range(width)]
    pairs = [compute_moments(column) for column in columns]
    means = [mean for mean, _ in pairs]
    middle, outliers = (
        _measure_spread(columns, pairs) if field.kind == "continuous" else (0.0, False)
    )
    is_integer = not is_float(values.dtype) or all(map(float.is_integer, flat))
    raw, raw_low, raw_high, raw_is_integer = flat, low, high, is_integer
    if fitted is not None:
        raw = fitted.undo(HostArray.of(flat)).values()
        raw_low, raw_high, raw_is_integer = min(raw), max(raw), all(map(_is_nearly_integer, raw))
    return LabelFacts(
        kind=field.kind,
        declared=field.declared,
        shape=shape,
        classes=field.classes,
        class_counts=_count_classes(flat, columns, "onehot" if single else field.kind, ones),
        minimum=low,
        maximum=high,
        mean=math.fsum(means) / width,
        std=math.sqrt(math.fsum(std * std for _, std in pairs) / width),
        deviation=math.fsum(
            math.fsum([abs(value - mean) for value in column])
            for column, mean in zip(columns, means, strict=True)
        )
        / len(flat),
        median_deviation=middle,
        whole=is_integer,
        binary=binary,
        signs=ones + flat.count(-1) == len(flat),
        single=single,
        several=binary and bool(sums) and max(sums) > 1,
        sums_to_one=bool(sums)
        and max(sums) <= 1 + SUM_TOLERANCE
        and min(sums) >= 1 - SUM_TOLERANCE,
        outliers=outliers,
        skewed=outliers and _is_long_tailed([raw[start::width] for start in range(width)]),
        raw_minimum=raw_low,
        raw_maximum=raw_high,
        raw_whole=raw_is_integer,
        constant=tuple(n for n, (_, std) in enumerate(pairs) if not std and width > 1),
    )


def _measure_classes(flat: Sequence[float], field: Field, shape: tuple[int, ...]) -> LabelFacts:
    """Return the facts of class numbers, with the moments of their one-hot form."""
    counted = Counter(int(value) for value in flat)
    negative = sum(counted.pop(number) for number in [n for n in counted if n < 0])
    valid = len(flat) - negative
    classes = max(field.classes, max(counted, default=-1) + 1)
    shares = [number / valid for number in counted.values()]
    # A column that is 1 in a share p of the rows has variance p(1 − p), deviation 2p(1 − p).
    variance = math.fsum(p * (1 - p) for p in shares) / max(1, classes)
    low, high = min(flat), max(flat)
    return LabelFacts(
        kind=field.kind,
        shape=shape,
        classes=classes,
        class_counts=tuple(counted[number] for number in range(classes)),
        minimum=low,
        maximum=high,
        raw_minimum=low,
        raw_maximum=high,
        raw_whole=True,
        mean=1 / classes if valid else 0.0,
        std=math.sqrt(variance),
        deviation=2 * variance,
        whole=True,
        binary=low >= 0 and high <= 1,
        negative=negative / len(flat),
    )


def _count_classes(
    flat: Sequence[float], columns: Sequence[Sequence[float]], kind: str, ones: int
) -> tuple[int, ...]:
    if kind == "onehot":
        return tuple(int(sum(column)) for column in columns)
    return (len(flat) - ones, ones) if kind == "multilabel" else ()


def _measure_spread(
    columns: Sequence[Sequence[float]], pairs: Sequence[tuple[float, float]]
) -> tuple[float, bool]:
    """Return the median absolute deviation, and whether there are outliers.

    Each column is measured in units of its own spread, and all are judged together: among many
    columns one would look unusual by chance. Constant columns, and for the second test columns
    most of whose values are equal, have no unit and are left out.
    """
    fourth = far = 0.0
    judged = robust = 0
    total = 0.0
    for column, (mean, std) in zip(columns, pairs, strict=True):
        centre = _median(column)
        apart = [abs(value - centre) for value in column]
        middle = _median(apart)
        total += middle
        if std > 0:
            judged += len(column)
            fourth += math.fsum([((value - mean) / std) ** 4 for value in column])
        if middle > 0:
            limit = ROBUST_LIMIT * MAD_TO_STD * middle
            robust += len(column)
            far += sum([value > limit for value in apart])
    outliers = fourth > (3 + EXCESS_KURTOSIS) * judged
    outliers |= fourth > 3 * judged and far > FAR_SHARE * robust
    return total / len(columns), outliers


def _is_long_tailed(columns: Sequence[Sequence[float]]) -> bool:
    """Return whether values with outliers are non-negative, and their logarithms have none: those
    of 1 + value/median if values may be 0, as counts may."""
    centres = [_median(column) for column in columns]
    least: float = min(map(min, columns))
    if least < 0 or min(centres) <= 0:
        return False
    for base in (0.0, 1.0) if least else (1.0,):
        logs = [
            [math.log(base + value / centre) for value in column]
            for column, centre in zip(columns, centres, strict=True)
        ]
        if not _measure_spread(logs, [*map(compute_moments, logs)])[1]:
            return True
    return False


def _is_nearly_integer(value: float) -> bool:
    return abs(value - round(value)) <= ROUNDED * (1 + abs(value))


def _median(values: Iterable[float]) -> float:
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _iterate_rows(flat: Sequence[float], width: int) -> Iterable[tuple[float, ...]]:
    return zip(*[iter(flat)] * width, strict=True)


def _select_valid(flat: Sequence[float], width: int, mask: HostArray) -> list[float]:
    """Return the values of the positions whose mask is not 0."""
    chosen = compress(_iterate_rows(flat, width), mask.values())
    return [value for row in chosen for value in row]
