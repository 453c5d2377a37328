"""What simple models reach on the rows of a test, and whether the network is better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from webnnm.core.readable import show_number
from webnnm.evaluation.averages import share
from webnnm.evaluation.explained_loss import pinball
from webnnm.evaluation.history import plain
from webnnm.evaluation.paired_tests import MCNEMAR, PAIRED_T, compare_hits, compare_losses
from webnnm.evaluation.simple_models import CONSTANT
from webnnm.evaluation.table import Tabular, decimals

Scores = Mapping[str, float]
"""The name of a score → its value; the one that decides comes first."""

NETWORK = "the network"

SIGNIFICANT = 0.05
"""Models differ where equally good ones would do so in at most this share of tests."""

ERRORS = frozenset(("MAE", "RMSE", "pinball loss"))
"""Scores of which less is better."""

MACRO_F1 = "macro F1"

SQUARED, ABSOLUTE = "squared", "absolute"

Measure = str | Sequence[float]
"""The loss of quantities: squared or absolute, or the levels of quantiles."""


@dataclass(frozen=True)
class Baselines(Tabular):
    """The scores of a network beside those of simple models on the same rows.

    >>> baselines = Baselines(
    ...     {"accuracy": 0.93}, {"a linear model": {"accuracy": 0.94}}, {"a linear model": 0.61},
    ...     rows=120, fitted=480, training=480,
    ... )
    >>> print(baselines.verdict)
    the network is no better than a linear model beyond chance: accuracy 0.9300 against 0.9400 ...

    Attributes: `network`, its scores; `simple`, those of the simple models by name; `p_values`, how
    likely it is that equally good models differ as much; `rows`, the number of rows compared;
    `fitted`, the number of training rows that simple models were fitted on, of `training`; `test`,
    the name of the statistical test.
    """

    network: Scores
    simple: Mapping[str, Scores]
    p_values: Mapping[str, float]
    rows: int
    fitted: int
    training: int
    test: str = MCNEMAR

    @property
    def score(self) -> str:
        """The name of the score that decides."""
        return next(iter(self.network))

    @property
    def best(self) -> str:
        """The name of the best simple model; of classes by F1, however rare one of them is."""
        score = MACRO_F1 if MACRO_F1 in self.network else self.score
        sign = -1 if score in ERRORS else 1
        return max(self.simple, key=lambda name: sign * self.simple[name][score])

    def find_better(self, level: float = SIGNIFICANT) -> str:
        """Return the best simple model if it is better than the network, "" if it is not.

        It is better only if it is so by all scores: a network whose classes have weights may find
        rare classes at the cost of its accuracy.
        """
        best = self.simple[self.best]
        better = all(
            value <= self.network[name] if name in ERRORS else value >= self.network[name]
            for name, value in best.items()
        )
        return self.best if better and self.p_values[self.best] < level else ""

    def measure_lead(self, name: str) -> float:
        """Return by how much of the score a simple model is better than the network.

        >>> scores = {"a constant": {"MAE": 4.0}, "a linear model": {"MAE": 1.0}}
        >>> two = Baselines({"MAE": 2.0}, scores, {}, rows=9, fitted=40, training=40)
        >>> two.measure_lead("a linear model")
        0.25

        An error counts as a share of that of a constant.
        """
        lead = self.simple[name][self.score] - self.network[self.score]
        if self.score not in ERRORS:
            return lead
        return -lead / (self.simple[CONSTANT][self.score] or 1.0)

    @property
    def verdict(self) -> str:
        """Whether the network is better than the best simple model, in a sentence."""
        best, score, p = self.best, self.score, self.p_values[self.best]
        own, other = self.network[score], self.simple[best][score]
        [shown, shown_other] = _write_scores(score, own, other)
        chance = f"p {_write_p(p, '= ')}, {self.test}"
        both = f"{score} {shown_other} against {shown}"
        if self.find_better():
            return f"{best} {_agree(best)} better than the network: {both} ({chance})"
        both = f"{score} {shown} against {shown_other}"
        if p >= SIGNIFICANT:
            return f"the network is no better than {best} beyond chance: {both} ({chance})"
        if own < other if score in ERRORS else own > other:
            return f"the network is better than simple models: {both} of {best} ({chance})"
        names = [name for name in self.network if name != score]
        return f"the network is better than {best} by {names[0]}, not by {both} ({chance})"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ready for JSON, with the verdict."""
        return {**plain(self), "better": self.find_better(), "verdict": self.verdict}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Baselines:
        """Return what `to_dict` wrote."""
        return cls(**{field.name: values[field.name] for field in fields(cls)})

    def _describe(self) -> tuple[list[str], list[list[str]]]:
        models = {NETWORK: self.network, **self.simple}
        columns = [
            [name, *_write_scores(name, *(scores[name] for scores in models.values()))]
            for name in self.network
        ]
        head = f"on {self.rows:,} rows"
        ps = ["p", "–", *(_write_p(self.p_values[name]) for name in self.simple)]
        rows = [list(row) for row in zip([head, *models], *columns, ps, strict=True)]
        lines = [self.verdict]
        if self.fitted < self.training:
            few = f"{self.fitted:,} of {self.training:,} training rows"
            lines.append(f"the simple models were fitted on {few}")
        return lines, rows


def compare_reports(
    network: Any, simple: Mapping[str, Any], measure: Measure, *, fitted: int, training: int
) -> Baselines:
    """Compare the report on a network with those on simple models for the same rows.

    `measure` is the loss of quantities.
    """
    own = _judge_rows(network, measure)
    others = {name: _judge_rows(report, measure) for name, report in simple.items()}
    is_classes = hasattr(network, "counts") and not hasattr(network, "reports")
    compare: Any = compare_hits if is_classes else compare_losses
    return Baselines(
        get_scores(network, measure),
        {name: get_scores(report, measure) for name, report in simple.items()},
        {name: compare(own, other) for name, other in others.items()},
        len(own),
        fitted,
        training,
        MCNEMAR if is_classes else PAIRED_T,
    )


def get_scores(report: Any, measure: Measure = SQUARED) -> Scores:
    """Return the scores of a report, the one first that its loss is about."""
    if hasattr(report, "accuracy"):
        return {"accuracy": report.accuracy, MACRO_F1: report.macro_f1}
    if measure == SQUARED:
        return {"R²": report.r2, "MAE": report.mae, "RMSE": report.rmse}
    if measure == ABSOLUTE:
        return {"MAE": report.mae}
    losses = _judge_rows(report, measure)
    return {"pinball loss": share(sum(losses), len(losses))}


def _judge_rows(report: Any, measure: Measure) -> list[Any]:
    """Return whether each row is right; of several labels and of quantities, the loss of each."""
    if hasattr(report, "reports"):
        wrong = [
            [a != b for a, b in zip(one.scores.predict(), one.scores.actual, strict=True)]
            for one in report.reports
        ]
        return [sum(row) / len(row) for row in zip(*wrong, strict=True)]
    if hasattr(report, "counts"):
        predicted = report.scores.predict()
        return [a == b for a, b in zip(predicted, report.scores.actual, strict=True)]
    predicted, actual = report.pairs
    width = len(report.elements)
    rest = [y - x for x, y in zip(predicted, actual, strict=True)]
    if measure == SQUARED:  # relative to the variance: their mean is 1 − R²
        scales = [
            e.mse / (1 - e.r2) if e.r2 < 1 else 1.0  # nothing is left of an exact element
            for e in report.elements
        ]
        losses = [value * value / (scales[k % width] or 1.0) for k, value in enumerate(rest)]
    elif measure == ABSOLUTE:
        losses = [abs(value) for value in rest]
    else:
        levels = [float(level) for level in measure]
        losses = [pinball(value, levels[k % len(levels)]) for k, value in enumerate(rest)]
    return [sum(losses[k : k + width]) / width for k in range(0, len(losses), width)]


def _write_scores(name: str, *values: float) -> list[str]:
    """Return errors with four digits, in the units of the data, shares with four decimals."""
    return [*map(show_number, values)] if name in ERRORS else decimals(values, 4)


def _write_p(value: float, equals: str = "") -> str:
    return f"{equals}{value:.2g}" if value >= 0.001 else "< 0.001"


def _agree(name: str) -> str:
    return "are" if name.endswith("s") else "is"
