"""Metrics of predictions, and the result of a test that holds them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from webnnm.arrays import HostArray
from webnnm.data.classes import top_classes
from webnnm.data.field import Kind
from webnnm.errors import DataError
from webnnm.shapes import Shape, count, show


@dataclass(frozen=True)
class ClassificationReport:
    """How often which class was taken for which (spec H).

    >>> report = ClassificationReport(((3, 1), (0, 4)), ("no", "yes"))
    >>> report.accuracy, report.precision, report.recall, report.support
    (0.875, (1.0, 0.8), (0.75, 1.0), (4, 4))

    `counts[actual][predicted]` are the numbers of rows, `labels` the names of the classes.
    Everything else follows from them; a quotient 0/0 is 0.
    """

    counts: tuple[tuple[int, ...], ...]
    labels: tuple[str, ...]

    @property
    def confusion_matrix(self) -> Any:
        """The counts as an int64 array: rows actual, columns predicted."""
        return HostArray.of(self.counts, "int64").public()

    @cached_property
    def support(self) -> tuple[int, ...]:
        """How many rows each class has."""
        return tuple(map(sum, self.counts))

    @property
    def accuracy(self) -> float:
        """The share of rows whose class was found."""
        return _share(sum(self._hits), sum(self.support))

    @property
    def precision(self) -> tuple[float, ...]:
        """Of the rows taken for a class, the share that has it; per class."""
        predicted = map(sum, zip(*self.counts, strict=True))
        return tuple(map(_share, self._hits, predicted))

    @property
    def recall(self) -> tuple[float, ...]:
        """Of the rows that have a class, the share taken for it; per class."""
        return tuple(map(_share, self._hits, self.support))

    @property
    def f1(self) -> tuple[float, ...]:
        """The harmonic mean of precision and recall; per class."""
        pairs = zip(self.precision, self.recall, strict=True)
        return tuple(_share(2 * p * r, p + r) for p, r in pairs)

    @property
    def macro_f1(self) -> float:
        """The mean of `f1` over the classes."""
        return math.fsum(self.f1) / len(self.f1)

    @property
    def _hits(self) -> tuple[int, ...]:
        return tuple(row[number] for number, row in enumerate(self.counts))

    def __str__(self) -> str:
        head = ["actual \\ predicted", *self.labels, "precision", "recall", "F1", "support"]
        scores = zip(self.precision, self.recall, self.f1, strict=True)
        rows = [
            [label, *map(str, row), *(f"{score:.3f}" for score in three), str(total)]
            for label, row, three, total in zip(
                self.labels, self.counts, scores, self.support, strict=True
            )
        ]
        title = f"accuracy {self.accuracy:.4f}, macro F1 {self.macro_f1:.4f}"
        return f"{title}\n{_table([head, *rows])}"


@dataclass(frozen=True, slots=True)
class RegressionReport:
    """How far predictions are from the values (spec H).

    >>> print(RegressionReport(mae=0.5, rmse=0.75, r2=0.9))
    MAE 0.5, RMSE 0.75, R² 0.9000

    Attributes: `mae` and `rmse`, mean absolute error and root of the mean squared error over all
    elements; `r2`, 1 - (squared error)/(squared distance from the mean), averaged over the
    elements of a row; of a constant element it is 1 if it was met exactly, else 0.
    """

    mae: float
    rmse: float
    r2: float

    def __str__(self) -> str:
        return f"MAE {self.mae:.6g}, RMSE {self.rmse:.6g}, R² {self.r2:.4f}"


Report = ClassificationReport | RegressionReport


@dataclass(frozen=True)
class TestResult:
    """What a test found (spec H).

    >>> result = TestResult(0.25, {"model": 0.25}, 8, "testing", {
    ...     "model": ClassificationReport(((3, 1), (0, 4)), ("no", "yes"))
    ... })
    >>> result.accuracy
    0.875
    >>> print(result)
    testing: 8 samples, loss 0.25
    accuracy 0.8750, macro F1 0.8730
    actual \\ predicted  no  yes  precision  recall     F1  support
    no                   3    1      1.000   0.750  0.857        4
    yes                  0    4      0.800   1.000  0.889        4

    Attributes: `loss` of all outputs together, `losses` per output, `samples`, `subset`,
    `outputs`: block → report. With one output the attributes of its report are the result's too.
    """

    __test__ = False  # no test of pytest's

    loss: float
    losses: Mapping[str, float]
    samples: int
    subset: str
    outputs: Mapping[str, Report]

    def __getattr__(self, name: str) -> Any:
        outputs: Mapping[str, Report] = self.__dict__.get("outputs", {})
        if len(outputs) == 1 and not name.startswith("_"):
            return getattr(next(iter(outputs.values())), name)
        names = ", ".join(f'outputs["{block}"].{name}' for block in outputs)
        raise AttributeError(f"no {name} of all outputs together; there is {names}")

    def __str__(self) -> str:
        lines = [f"{self.subset}: {self.samples} samples, loss {self.loss:.6g}"]
        for block, report in self.outputs.items():
            if len(self.outputs) > 1:
                lines.append(f'output "{block}": loss {self.losses[block]:.6g}')
            lines.append(str(report))
        return "\n".join(lines)


def evaluate(
    outputs: Any,
    targets: Any,
    kind: Kind,
    labels: Sequence[str] | None = None,
    threshold: float = 0.5,
) -> Report:
    """Return the report that fits a kind of target: regression for continuous, else classes.

    >>> evaluate([1.0, 2.0], [1.0, 4.0], "continuous").mae
    1.0
    """
    if kind == "continuous":
        return regression(outputs, targets)
    return classification(outputs, targets, labels, kind, threshold)


def classification(
    outputs: Any,
    targets: Any,
    labels: Sequence[str] | None = None,
    kind: Kind = "onehot",
    threshold: float = 0.5,
) -> ClassificationReport:
    """Compare scores with classes.

    >>> classification([[0.9, 0.1], [0.2, 0.8]], [0, 0], kind="classes").counts
    ((1, 1), (0, 0))

    - `outputs`: scores `[rows, …, classes]`, the largest counts; or one score per row, class 1
      from `threshold` on (0.5 for probabilities, 0 for logits).
    - `targets`: by `kind` integers `[rows, …]` (negative: not counted), or rows like the outputs.
    - `labels`: names of the classes, by default their numbers.

    Of a multilabel kind every element is a decision of its own between no and yes. Raises
    `DataError` NNM702 where sizes differ, NNM706 for a class that has no score.
    """
    scores, wanted = HostArray.of(outputs), HostArray.of(targets)
    rows = wanted.shape
    if kind == "classes":
        actual = [int(number) for number in wanted.values()]
    elif kind == "multilabel":
        actual = [int(value >= 0.5) for value in wanted.values()]
    else:
        actual, rows = top_classes(wanted), wanted.shape[:-1]
    if kind == "multilabel" or _single(scores.shape) == _single(rows):
        classes = 2
        predicted = [int(value >= threshold) for value in scores.values()]
    else:
        classes = scores.shape[-1]
        predicted = top_classes(scores)
    if len(predicted) != len(actual):
        raise DataError(
            "NNM702", f"outputs {show(scores.shape)} and targets {show(wanted.shape)} do not match"
        )
    if actual and max(actual) >= classes:
        raise DataError("NNM706", f"class {max(actual)}, but there are scores for {classes}")
    counts = [[0] * classes for _ in range(classes)]
    for number, guess in zip(actual, predicted, strict=True):
        if number >= 0:
            counts[number][guess] += 1
    if labels is None or len(labels) != classes:
        labels = [str(number) for number in range(classes)]
    return ClassificationReport(tuple(map(tuple, counts)), tuple(labels))


def regression(outputs: Any, targets: Any) -> RegressionReport:
    """Compare numbers `[rows, …]` with the numbers wanted.

    >>> regression([[1.0], [2.0]], [[1.0], [4.0]])
    RegressionReport(mae=1.0, rmse=1.4142135623730951, r2=0.11111111111111116)

    Raises `DataError` NNM702 where sizes differ or there are no rows.
    """
    found, wanted = HostArray.of(outputs), HostArray.of(targets)
    size = count(wanted.shape)
    if count(found.shape) != size or not size:
        raise DataError(
            "NNM702", f"outputs {show(found.shape)} and targets {show(wanted.shape)} do not match"
        )
    pairs = list(zip(found.values(), wanted.values(), strict=True))
    squares = [(x - y) ** 2 for x, y in pairs]
    width = count(wanted.shape[1:])
    ratios = [
        _determination(wanted.values()[element::width], math.fsum(squares[element::width]))
        for element in range(width)
    ]
    return RegressionReport(
        mae=math.fsum(abs(x - y) for x, y in pairs) / size,
        rmse=math.sqrt(math.fsum(squares) / size),
        r2=math.fsum(ratios) / width,
    )


def _single(shape: Shape) -> Shape:
    """Return the shape without a last size of 1: one number per row is written in both ways."""
    return shape[:-1] if len(shape) > 1 and shape[-1] == 1 else shape


def _determination(values: Sequence[float], error: float) -> float:
    mean = math.fsum(values) / len(values)
    spread = math.fsum((value - mean) ** 2 for value in values)
    if spread == 0:
        return float(error == 0)
    return 1 - error / spread


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _table(rows: Sequence[Sequence[str]]) -> str:
    """Align the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
