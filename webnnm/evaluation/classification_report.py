"""The report on an output that assigns one of several classes to every row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.evaluation.averages import AVERAGES, Averaged, mean, share
from webnnm.evaluation.history import plain
from webnnm.evaluation.probabilities import Scores
from webnnm.evaluation.table import decimals, line

if TYPE_CHECKING:
    from webnnm.evaluation.calibration import Bin

TOP5_CLASSES = 6
"""The number of classes from which there is a `top5` (spec H)."""


@dataclass(frozen=True)
class ClassificationReport(Averaged):
    """The confusion matrix of classes, and the quality of the probabilities (spec H).

    >>> report = ClassificationReport(((3, 1), (0, 4)), ("no", "yes"))
    >>> report.accuracy, report.precision, report.recall, report.support
    (0.875, (1.0, 0.8), (0.75, 1.0), (4, 4))

    `counts[actual][predicted]` are the numbers of rows, `labels` the names of the classes; a
    quotient 0/0 is 0. With `scores` there are also `top_k`, `top5` (from 6 classes), `roc_auc`,
    `log_loss`, `brier_score`, `calibration` and `calibration_error`; a report made only from counts
    lacks them (AttributeError).
    """

    counts: tuple[tuple[int, ...], ...]
    labels: tuple[str, ...]
    scores: Scores | None = field(default=None, repr=False, compare=False)

    @property
    def confusion_matrix(self) -> Any:
        """The counts as an int64 array: actual classes in rows, predicted classes in columns."""
        return HostArray.of(self.counts, "int64").public()

    @property
    def support(self) -> tuple[int, ...]:
        """How many rows each class has."""
        return tuple(map(sum, self.counts))

    @property
    def accuracy(self) -> float:
        """The share of rows whose class was predicted."""
        return share(sum(self._hits), sum(self.support))

    @property
    def iou_per_class(self) -> tuple[float, ...]:
        """The intersection over the union of predicted and actual rows, or places, of each class.

        >>> ClassificationReport(((3, 1), (0, 4)), ("no", "yes")).iou_per_class
        (0.75, 0.8)
        """
        predicted = map(sum, zip(*self.counts, strict=True))
        return tuple(
            share(hits, actual + own - hits)
            for hits, actual, own in zip(self._hits, self.support, predicted, strict=True)
        )

    @property
    def mean_iou(self) -> float:
        """The mean of `iou_per_class` over the classes that some row has: usual for masks."""
        pairs = zip(self.iou_per_class, self.support, strict=True)
        return mean([iou for iou, support in pairs if support])

    def top_k(self, k: int) -> float:
        """Return the share of rows whose class is among the k highest scores.

        >>> from webnnm.evaluation.compare import classification
        >>> classification([[0.5, 0.3, 0.2]], [1], kind="classes").top_k(2)
        1.0

        Of equal scores, the first class counts as the higher one. Raises `DataError` NNM704
        if k is not from 1 to the number of classes.
        """
        if not 1 <= k <= len(self.labels):
            raise DataError("NNM704", f"top {k} of {len(self.labels)} classes does not exist")
        if self._require_scores("top_k").columns == 1:
            return self.accuracy if k == 1 else 1.0
        return share(sum(rank < k for rank in self._ranks), len(self._ranks))

    @property
    def top5(self) -> float:
        """The share of rows whose class is among the five highest scores (from 6 classes)."""
        if len(self.labels) < TOP5_CLASSES:
            raise AttributeError(f"no top5 of {len(self.labels)} classes; there is top_k(k)")
        return self.top_k(5)

    @cached_property
    def roc_auc_per_class(self) -> tuple[float, ...]:
        """The area under the ROC curve of each class against the rest.

        It is undefined (nan) for a class that no row or every row has.
        """
        scores = self._require_scores("roc_auc")
        if scores.columns == 1:  # raw: probabilities of large logits are rounded to ties
            return (self._area(scores, 1, scores.values),) * 2
        numbers = range(scores.classes)
        return tuple(self._area(scores, c, scores.of_class(c)) for c in numbers)

    @property
    def roc_auc(self) -> float:
        """The area under the ROC curve: of class 1 of two classes, or the mean over all classes.

        Classes that no row has are left out of the mean.
        """
        areas = self.roc_auc_per_class
        return areas[1] if len(areas) == 2 else mean(areas)

    @cached_property
    def log_loss(self) -> float:
        """The mean of −ln p of the actual class of each row (natural logarithm)."""
        surprise = self._require_scores("log_loss").surprise
        return share(math.fsum(surprise), len(surprise))

    @cached_property
    def brier_score(self) -> float:
        """The mean squared distance between probabilities and outcomes (Brier 1950).

        For two classes (p − y)² of class 1, from 0 to 1; for more classes the sum over them, from
        0 to 2.
        """
        scores = self._require_scores("brier_score")
        if scores.classes == 2:
            wrong = [1 - p for p in scores.of_actual()]
            return share(math.fsum([p * p for p in wrong]), len(wrong))
        # Σ_c (p_c − y_c)² = Σ_c p_c² − 2 p_actual + 1
        squares = math.fsum([p * p for p in scores.probabilities])
        own = scores.of_actual()
        return max(share(squares - 2 * math.fsum(own) + len(own), len(own)), 0.0)

    @cached_property
    def calibration(self) -> tuple[Bin, ...]:
        """The ten bins of a reliability diagram.

        For two classes: the probability of class 1, and how often it was that class. For more: the
        probability of the predicted class, and how often it was right.
        """
        from webnnm.evaluation.calibration import reliability

        scores = self._require_scores("calibration")
        if scores.classes == 2:
            return reliability(scores.of_class(1), map(bool, scores.actual))
        return reliability(
            list(map(max, scores.rows(scores.probabilities))), [not rank for rank in self._ranks]
        )

    @property
    def calibration_error(self) -> float:
        """The expected calibration error over the bins of `calibration`."""
        from webnnm.evaluation.calibration import compute_calibration_error

        return compute_calibration_error(self.calibration)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ready for JSON, with None for undefined values.

        >>> ClassificationReport(((3, 1), (0, 4)), ("no", "yes")).to_dict()["confusion_matrix"]
        [[3, 1], [0, 4]]
        """
        names = ["labels", "accuracy", "precision", "recall", "f1", "support", *AVERAGES]
        if self.scores is not None:
            names += ["top5"] if len(self.labels) >= TOP5_CLASSES else []
            names += ["roc_auc", "roc_auc_per_class", "log_loss", "brier_score"]
            names += ["calibration_error", "calibration"]
        values = {name: getattr(self, name) for name in names}
        return plain({"kind": "classification", "confusion_matrix": self.counts, **values})

    @property
    def _hits(self) -> Sequence[int]:
        return tuple(row[number] for number, row in enumerate(self.counts))

    @property
    def _guessed(self) -> Sequence[int]:
        return tuple(map(sum, zip(*self.counts, strict=True)))

    @cached_property
    def _ranks(self) -> list[int]:
        from webnnm.evaluation.ranking import ranks

        scores = self._require_scores("top_k")
        return ranks(scores.values, scores.actual)

    def _require_scores(self, name: str) -> Scores:
        if self.scores is None:
            raise AttributeError(f"no {name}: it needs scores, this report was made from counts")
        return self.scores

    @staticmethod
    def _area(scores: Scores, number: int, values: Any) -> float:
        from webnnm.evaluation.ranking import roc_auc

        has = [actual == number for actual in scores.actual]
        pairs = list(zip(values, has, strict=True))
        return roc_auc([v for v, own in pairs if own], [v for v, own in pairs if not own])

    def _describe(self) -> tuple[list[str], list[list[str]]]:
        number, listed = len(self.labels), self._select_listed()
        shows_matrix = len(listed) == number  # otherwise there is no place for the matrix either
        title = [line([("accuracy", self.accuracy), ("macro F1", self.macro_f1)])]
        columns = {"precision": self.precision, "recall": self.recall, "F1": self.f1}
        if self.scores is not None:
            top = [("top-5", self.top5)] if number >= TOP5_CLASSES else []
            title.append(line([*top, *probability_metrics(self)]))
            if number > 2:
                columns["ROC-AUC"] = self.roc_auc_per_class
        if not shows_matrix:
            title.append(f"the {len(listed)} of {number} classes with the lowest F1")
        rows = [["actual \\ predicted", *self.labels] if shows_matrix else ["class"]]
        rows[0] += [*columns, "support"]
        support = self.support
        for c in listed:
            scores = decimals(column[c] for column in columns.values())
            counts = map(str, self.counts[c] if shows_matrix else ())
            rows.append([self.labels[c], *counts, *scores, str(support[c])])
        return title, rows


def probability_metrics(report: Any) -> list[tuple[str, float]]:
    """Return the metrics of probabilities with their display names."""
    return [
        ("log loss", report.log_loss),
        ("Brier score", report.brier_score),
        ("ROC-AUC", report.roc_auc),
        ("calibration error", report.calibration_error),
    ]
