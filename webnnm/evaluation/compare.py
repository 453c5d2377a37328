"""Compares outputs with targets, and returns the matching report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.core.shapes import Shape, count, show
from webnnm.data.field import Kind
from webnnm.evaluation.averages import share
from webnnm.evaluation.classification_report import ClassificationReport
from webnnm.evaluation.probabilities import THRESHOLDS, Scale, Scores

if TYPE_CHECKING:
    from webnnm.evaluation.multilabel_report import MultilabelReport
    from webnnm.evaluation.regression_report import RegressionReport
    from webnnm.evaluation.result import Report


def evaluate(
    outputs: Any,
    targets: Any,
    kind: Kind,
    labels: Sequence[str] | None = None,
    threshold: float | None = None,
    *,
    scale: Scale = "probability",
    mask: Any = None,
    sequence: bool = False,
) -> Report:
    """Return the report for a kind of target: regression, classification or multilabel.

    >>> evaluate([1.0, 2.0], [1.0, 4.0], "continuous").mae
    1.0
    >>> evaluate([[2.0], [-1.0]], [1, 1], "classes", scale="logit").counts
    ((0, 0), (1, 1))

    - `outputs`, `targets`: arrays or nested lists, `[rows, …]`.
    - `labels`: names of classes, labels or elements, by default their numbers.
    - `threshold`: the score from which a single score means yes; by default where p is 0.5.
    - `scale`: what the outputs are, see `scale_of`; measurements have no scale.
    - `mask`: `[rows]` or `[rows, length]`, 0 where a row or position does not count.
    - `sequence`: whether axis 1 is a sequence, whose positions then are rows.

    Raises `DataError` NNM702 if sizes differ, NNM705 if no row counts, NNM706 for a class
    without a score.
    """
    if kind == "continuous":
        return regression(outputs, targets, labels, mask=mask, sequence=sequence)
    target_array = HostArray.of(targets)
    if kind == "multilabel" and count(_element(target_array.shape, mask, sequence)[-1:]) > 1:
        return multilabel(outputs, target_array, labels, threshold, scale=scale, mask=mask)
    return classification(outputs, target_array, labels, kind, threshold, scale=scale, mask=mask)


def classification(
    outputs: Any,
    targets: Any,
    labels: Sequence[str] | None = None,
    kind: Kind = "onehot",
    threshold: float | None = None,
    *,
    scale: Scale = "probability",
    mask: Any = None,
) -> ClassificationReport:
    """Compare scores with classes.

    >>> classification([[0.9, 0.1], [0.2, 0.8]], [0, 0], kind="classes").counts
    ((1, 1), (0, 0))

    - `outputs`: scores `[rows, …, classes]`, of which the largest is predicted; or one score per
      row, which predicts class 1 from `threshold`.
    - `targets`: by `kind` integers `[rows, …]` (negative: not counted), or rows like the outputs,
      whose largest number is the class (a row without a positive number: not counted). For
      a multilabel kind every element is a row, yes from 0.5.
    - the others as in `evaluate`.

    Raises `DataError` NNM702 if sizes differ, NNM706 for a class without a score.
    """
    output_array, target_array = HostArray.of(outputs), HostArray.of(targets)
    values = list(output_array.values())
    rows, actual = _actual(target_array, kind)
    single = kind == "multilabel" or _single(output_array.shape) == _single(rows)
    columns = 1 if single else count(output_array.shape[-1:])
    if len(values) != len(actual) * columns:
        raise _mismatch_error(output_array, target_array)
    is_counted = [number >= 0 for number in actual]
    if mask is not None:
        is_counted = [a and b for a, b in zip(is_counted, _expand_mask(mask, rows), strict=True)]
    if not all(is_counted):
        actual = list(compress(actual, is_counted))
        values = list(compress(values, _repeat(is_counted, columns)))
    if not actual:
        raise _no_rows_error(target_array)
    return _report_classes(Scores(actual, values, columns, scale), labels, threshold)


def multilabel(
    outputs: Any,
    targets: Any,
    labels: Sequence[str] | None = None,
    threshold: float | None = None,
    *,
    scale: Scale = "probability",
    mask: Any = None,
) -> MultilabelReport:
    """Compare scores `[rows, …, labels]` with yes or no for each label.

    >>> multilabel([[0.9, 0.1], [0.6, 0.4]], [[1, 0], [0, 1]]).counts
    (((0, 1), (0, 1)), ((1, 0), (1, 0)))

    Targets are yes from 0.5; the other arguments and errors are those of `evaluate`.
    """
    from webnnm.evaluation.multilabel_report import MultilabelReport

    output_array, target_array = HostArray.of(outputs), HostArray.of(targets)
    width = count(target_array.shape[-1:])
    values, target_values = _pairs(output_array, target_array, mask, width)
    actual = [int(value >= 0.5) for value in target_values]
    scores = [Scores(actual[c::width], values[c::width], 1, scale) for c in range(width)]
    reports = tuple(_report_classes(column, NO_YES, threshold) for column in scores)
    limit = THRESHOLDS[scale] if threshold is None else threshold
    right = [(value >= limit) == number for value, number in zip(values, actual, strict=True)]
    exact = sum(map(all, _parts(right, width)))
    return MultilabelReport(_names(labels, width), reports, share(exact, len(right) // width))


NO_YES = ("no", "yes")


def regression(
    outputs: Any,
    targets: Any,
    labels: Sequence[str] | None = None,
    *,
    mask: Any = None,
    sequence: bool = False,
) -> RegressionReport:
    """Compare numbers `[rows, …]` with target numbers.

    >>> report = regression([[1.0], [2.0]], [[1.0], [3.0]])
    >>> report.mae, report.mse, report.r2
    (0.5, 0.5, 0.5)

    The arguments and errors are those of `evaluate`.
    """
    from webnnm.evaluation.regression_report import RegressionReport, deviation

    output_array, target_array = HostArray.of(outputs), HostArray.of(targets)
    width = count(_element(target_array.shape, mask, sequence))
    values, target_values = _pairs(output_array, target_array, mask, width)
    elements = [deviation(values[c::width], target_values[c::width]) for c in range(width)]
    return RegressionReport(tuple(elements), _names(labels, width), (values, target_values))


def _report_classes(
    scores: Scores, labels: Sequence[str] | None, threshold: float | None
) -> ClassificationReport:
    classes = scores.classes
    if max(scores.actual) >= classes:
        raise DataError("NNM706", f"class {max(scores.actual)}, but there are scores for {classes}")
    counts = [[0] * classes for _ in range(classes)]
    for number, guess in zip(scores.actual, scores.predict(threshold), strict=True):
        counts[number][guess] += 1
    return ClassificationReport(tuple(map(tuple, counts)), _names(labels, classes), scores)


def _actual(targets: HostArray, kind: Kind) -> tuple[Shape, list[int]]:
    """Return the shape of the decisions, and the class of each, negative if it has none."""
    values = list(targets.values())
    if kind == "classes":
        return targets.shape, [int(number) for number in values]
    if kind == "multilabel":
        return targets.shape, [int(value >= 0.5) for value in values]  # pyrefly: ignore[unknown-argument-type]
    rows = _parts(values, count(targets.shape[-1:]))
    return targets.shape[:-1], [row.index(top) if (top := max(row)) > 0 else -1 for row in rows]


def _pairs(
    outputs: HostArray, targets: HostArray, mask: Any, width: int
) -> tuple[list[float], list[float]]:
    """Return the outputs and targets that count, flat, in rows of `width`."""
    if count(outputs.shape) != count(targets.shape):
        raise _mismatch_error(outputs, targets)
    values, target_values = list(outputs.values()), list(targets.values())
    if mask is not None:
        is_counted = _expand_mask(mask, targets.shape)
        values, target_values = (
            list(compress(values, is_counted)),
            list(compress(target_values, is_counted)),
        )
    if len(target_values) < max(width, 1):
        raise _no_rows_error(targets)
    return values, target_values


def _element(shape: Shape, mask: Any, sequence: bool) -> Shape:
    """Return the shape of one row, where every position of a sequence is a row."""
    leading = max(len(HostArray.of(mask).shape) if mask is not None else 1, 2 if sequence else 1)
    return shape[leading:]


def _expand_mask(mask: Any, shape: Shape) -> list[bool]:
    """Expand a mask to all elements of its rows or positions."""
    mask_array = HostArray.of(mask)
    leading = len(mask_array.shape)
    if shape[:leading] != mask_array.shape:
        raise DataError("NNM702", f"a mask {show(mask_array.shape)} does not fit {show(shape)}")
    return list(_repeat([value > 0 for value in mask_array.values()], count(shape[leading:])))


def _repeat(flags: Sequence[bool], times: int) -> Iterator[bool]:
    return (flag for flag in flags for _ in range(times))


def _parts(flat: Sequence[float], width: int) -> Iterator[Sequence[float]]:
    return (flat[first : first + width] for first in range(0, len(flat), max(width, 1)))


def _single(shape: Shape) -> Shape:
    """Return the shape without a last size of 1: one number per row can be written either way."""
    return shape[:-1] if len(shape) > 1 and shape[-1] == 1 else shape


def _names(labels: Sequence[str] | None, number: int) -> tuple[str, ...]:
    if labels is None or len(labels) != number:
        labels = [str(index) for index in range(number)]
    return tuple(labels)


def _no_rows_error(targets: HostArray) -> DataError:
    return DataError(
        "NNM705",
        f"no row of the targets {show(targets.shape)} counts",
        hint="give rows whose class is not negative, and a mask that is not 0 everywhere",
    )


def _mismatch_error(outputs: HostArray, targets: HostArray) -> DataError:
    return DataError(
        "NNM702", f"outputs {show(outputs.shape)} and targets {show(targets.shape)} do not match"
    )
