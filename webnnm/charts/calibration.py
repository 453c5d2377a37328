"""The chart of calibration: how often probabilities come true."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from webnnm.charts.chart import Chart
from webnnm.charts.results import report_of


class Bin(Protocol):
    """Rows of similar probability, as in `result.calibration`."""

    @property
    def count(self) -> int:
        """How many rows there are."""
        ...

    @property
    def confidence(self) -> float:
        """Their mean probability."""
        ...

    @property
    def accuracy(self) -> float:
        """The share of rows for which it came true."""
        ...


def calibration_curve(bins: Sequence[Bin] | Any) -> Chart:
    """Return the reliability diagram: accuracy over confidence, and the row count of each point.

    >>> from webnnm.evaluation.calibration import reliability
    >>> calibration_curve(reliability([0.25, 0.75, 1.0], [False, True, True])).description
    'Calibration of 3 rows: accuracy is up to 25 points below and 25 points above the confidence.'

    The argument is a test result, or its `result.calibration`; empty bins are left out. On the
    dotted line the probabilities are right; above it the model is underconfident, below it
    overconfident. Raises `DataError` NNM702 for a result without scores of classes, or of several
    outputs.
    """
    if not isinstance(bins, Sequence):
        report = report_of(bins, has="scores", instead="the calibration of one output or label")
        bins = report.calibration
    rows = [
        {"count": bin.count, "confidence": bin.confidence, "accuracy": bin.accuracy}
        for bin in bins
        if bin.count
    ]
    gaps = [100 * (bin.accuracy - bin.confidence) for bin in bins if bin.count]
    below, above = max(0.0, -min(gaps, default=0.0)), max(0.0, max(gaps, default=0.0))
    share = {"type": "quantitative", "scale": {"domain": [0, 1]}, "axis": {"format": "%"}}
    x = {"field": "confidence", "title": "confidence", **share}
    y = {"field": "accuracy", "title": "accuracy", **share}
    legend = {"tickCount": 3}  # more do not fit into narrow pages
    size = {"field": "count", "type": "quantitative", "title": "rows", "legend": legend}
    return Chart(
        {
            "description": f"Calibration of {sum(bin.count for bin in bins):,} rows: accuracy is "
            f"up to {below:.0f} points below and {above:.0f} points above the confidence.",
            "height": 320,
            "layer": [
                {
                    "data": {"values": [{}]},
                    "mark": {"type": "rule", "strokeDash": [2, 4], "stroke": {"expr": "quiet"}},
                    "encoding": {
                        "x": {"datum": 0, "type": "quantitative"},
                        "y": {"datum": 0, "type": "quantitative"},
                        "x2": {"datum": 1},
                        "y2": {"datum": 1},
                    },
                },
                {
                    "data": {"name": "bins", "values": rows},
                    "mark": {"type": "line"},
                    "encoding": {"x": x, "y": y},
                },
                {
                    "data": {"name": "bins"},
                    "mark": {"type": "point", "filled": True, "opacity": 1, "tooltip": True},
                    "encoding": {"x": x, "y": y, "size": size},
                },
            ],
        }
    )
