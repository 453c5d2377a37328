"""The result of a test: losses, and a report on each output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from webnnm.core.readable import show_number
from webnnm.evaluation.history import plain

if TYPE_CHECKING:
    from webnnm.core.markup import Markup
    from webnnm.evaluation.baselines import Baselines
    from webnnm.evaluation.classification_report import ClassificationReport
    from webnnm.evaluation.detection_report import DetectionReport
    from webnnm.evaluation.multilabel_report import MultilabelReport
    from webnnm.evaluation.regression_report import RegressionReport

    Report = ClassificationReport | DetectionReport | MultilabelReport | RegressionReport


METRICS = ("r2", "map_50", "accuracy")


def find_metric(report: Report) -> str:
    """Return the name of the metric that stands for a report: r2, map_50 or accuracy."""
    return next((name for name in METRICS if hasattr(report, name)), METRICS[-1])


@dataclass(frozen=True)
class TestResult:
    """The result of evaluating a model on a subset (spec H).

    >>> from webnnm.evaluation.classification_report import ClassificationReport
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

    Attributes: `loss`, the total over all outputs; `losses` per output; `samples`, the number of
    rows; `subset`; `outputs`, a report for each output; `baselines`, for each output what simple
    models reach on the same rows, where that makes sense. If there is only one output, the
    attributes of its report are also attributes of the result: for classes `accuracy`, `macro_f1`,
    `roc_auc`, and `precision`, `recall`, `f1` by class; for quantities `r2`, `rmse`, `mae`; for
    boxes `map`, `map_50`, and `ap`, `ap_50` by class.
    """

    __test__ = False  # not a test for pytest

    loss: float
    losses: Mapping[str, float]
    samples: int
    subset: str
    outputs: Mapping[str, Report]
    baselines: Mapping[str, Baselines] = field(default_factory=dict[str, "Baselines"])

    def __getattr__(self, name: str) -> Any:
        outputs: Mapping[str, Report] = self.__dict__.get("outputs", {})
        if len(outputs) == 1 and not name.startswith("_"):
            return getattr(next(iter(outputs.values())), name)
        names = ", ".join(f'outputs["{block}"].{name}' for block in outputs)
        raise AttributeError(f"no {name} for all outputs together; use {names}")

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values that strict JSON can represent.

        >>> TestResult(0.25, {"model": 0.25}, 8, "testing", {}).to_dict()["losses"]
        {'model': 0.25}

        Non-finite numbers become None. Each report has a `kind`: "classification", "multilabel",
        "regression" or "detection".
        """
        own = {name: getattr(self, name) for name in ("loss", "losses", "samples", "subset")}
        parts = {"outputs": self.outputs, "baselines": self.baselines}
        return {
            **plain(own),
            **{name: {b: r.to_dict() for b, r in part.items()} for name, part in parts.items()},
        }

    def to_html(self) -> Markup:
        """Return the result as HTML tables, as shown in notebooks."""
        from webnnm.core.markup import html_table, join, tag

        rows = [("samples", f"{self.samples:,}"), ("loss", show_number(self.loss))]
        parts = [html_table(rows, self.subset)]
        for block, report in self.outputs.items():
            if len(self.outputs) > 1:
                parts.append(tag("p", f"{block}: loss {show_number(self.losses[block])}"))
            parts.append(report.to_html())
            parts += [self.baselines[block].to_html()] if block in self.baselines else []
        return join(parts)

    _repr_html_ = to_html

    def __str__(self) -> str:
        lines = [f"{self.subset}: {self.samples} samples, loss {show_number(self.loss)}"]
        for block, report in self.outputs.items():
            if len(self.outputs) > 1:
                lines.append(f'output "{block}": loss {show_number(self.losses[block])}')
            lines.append(str(report))
            lines += [str(self.baselines[block])] if block in self.baselines else []
        return "\n".join(lines)
