"""The report on an output with several labels, each present or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.evaluation.averages import AVERAGES, Averaged, mean
from webnnm.evaluation.classification_report import (
    ClassificationReport,
    probability_metrics,
)
from webnnm.evaluation.history import plain
from webnnm.evaluation.table import decimals, line


@dataclass(frozen=True)
class MultilabelReport(Averaged):
    """How well each of several labels was predicted; a report of two classes per label.

    >>> from webnnm.evaluation.compare import evaluate
    >>> scores, wanted = [[0.9, 0.1], [0.6, 0.4]], [[1, 0], [0, 1]]
    >>> report = evaluate(scores, wanted, "multilabel", ["warm", "wet"])
    >>> report.accuracy, report.exact_match, report.recall
    (0.5, 0.5, (1.0, 0.0))

    Attributes: `labels`, their names; `reports`, one per label with the classes "no" and "yes";
    `exact_match`, the share of rows in which every label is right. Precision, recall, F1 and
    support are those of "yes".
    """

    labels: tuple[str, ...]
    reports: tuple[ClassificationReport, ...]
    exact_match: float

    @property
    def counts(self) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """The counts `[actual][predicted]` of each label."""
        return tuple(report.counts for report in self.reports)

    @property
    def confusion_matrix(self) -> Any:
        """The counts as an int64 array `[labels, 2, 2]`: actual in rows, predicted in columns."""
        return HostArray.of(self.counts, "int64").public()

    @property
    def support(self) -> tuple[int, ...]:
        """How many rows have each label."""
        return tuple(report.support[1] for report in self.reports)

    @property
    def accuracy(self) -> float:
        """The share of correct decisions, over all rows and labels."""
        return self._mean("accuracy")

    @property
    def roc_auc_per_class(self) -> tuple[float, ...]:
        """The area under the ROC curve of each label; nan if all rows or none have it."""
        return tuple(report.roc_auc for report in self.reports)

    @property
    def roc_auc(self) -> float:
        """The mean area under the ROC curve, over the labels for which it is defined."""
        return mean(self.roc_auc_per_class)

    @property
    def log_loss(self) -> float:
        """The mean of −ln p of the actual value of each label (natural logarithm)."""
        return self._mean("log_loss")

    @property
    def brier_score(self) -> float:
        """The mean of (p − y)² over rows and labels."""
        return self._mean("brier_score")

    @property
    def calibration_error(self) -> float:
        """The mean of the expected calibration errors of the labels."""
        return self._mean("calibration_error")

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ready for JSON, and the report of each label."""
        names = ["labels", "accuracy", "exact_match", "precision", "recall", "f1", "support"]
        names += AVERAGES
        names += ["roc_auc", "roc_auc_per_class", "log_loss", "brier_score", "calibration_error"]
        values = {name: getattr(self, name) for name in names}
        reports = [report.to_dict() for report in self.reports]
        return {"kind": "multilabel", **plain(values), "reports": reports}

    @property
    def _hits(self) -> Sequence[int]:
        return [report.counts[1][1] for report in self.reports]

    @property
    def _guessed(self) -> Sequence[int]:
        return [report.counts[0][1] + report.counts[1][1] for report in self.reports]

    def _mean(self, name: str) -> float:
        # Every label is decided in the same number of rows.
        return sum(getattr(report, name) for report in self.reports) / len(self.reports)

    def _describe(self) -> tuple[list[str], list[list[str]]]:
        names = {"accuracy": "accuracy", "exact match": "exact_match", "macro F1": "macro_f1"}
        title = [line((name, getattr(self, attribute)) for name, attribute in names.items())]
        title.append(line(probability_metrics(self)))
        columns = (self.precision, self.recall, self.f1, self.roc_auc_per_class)
        support, listed = self.support, self._select_listed()
        if len(listed) < len(self.labels):
            title.append(f"the {len(listed)} of {len(self.labels)} labels with the lowest F1")
        rows = [["label", "precision", "recall", "F1", "ROC-AUC", "support"]]
        for c in listed:
            rows.append([self.labels[c], *decimals(k[c] for k in columns), str(support[c])])
        return title, rows
