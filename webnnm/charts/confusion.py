"""The chart of a confusion matrix, as a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from webnnm.charts.chart import Chart
from webnnm.charts.results import report_of
from webnnm.charts.theme import STRAIGHT
from webnnm.core.errors import DataError

CELLS = "cells"
"""The name of its data, from which a page knows which cell was clicked."""
SIDE = 40
"""Pixels of a cell."""
LIMIT = 20
"""The maximum number of classes for which counts are written into the cells."""


def confusion_matrix(
    counts: Sequence[Sequence[int]] | Any, labels: Sequence[str] | None = None
) -> Chart:
    """Return the heat map of a confusion matrix: actual classes in rows, predicted in columns.

    >>> confusion_matrix([[5, 0], [0, 5]], ["no", "yes"]).description
    'Confusion matrix: 10 of 10 rows are right.'

    The argument is a test result, or `counts` with their `labels`: `counts[actual][predicted]` is
    a number of rows, as in `result.counts`. The colour of a cell shows its share of the actual
    class. Raises `DataError` NNM702 for a result without classes or of several outputs, and if the
    numbers of rows, columns and labels differ.
    """
    if labels is None:
        report = report_of(counts, has="counts", instead="counts and labels of one output")
        if hasattr(report, "reports"):
            raise DataError(
                "NNM702",
                f"the result is of {len(report.labels)} labels, each with a matrix of its own",
                hint="pass one of them: result.reports[0]",
            )
        counts, labels = report.counts, report.labels
    labels = list(map(str, cast("Sequence[object]", labels)))
    if len(counts) != len(labels) or any(len(row) != len(labels) for row in counts):
        sizes = " × ".join(str(n) for n in (len(counts), *{len(row) for row in counts}))
        raise DataError(
            "NNM702",
            f"a confusion matrix of {sizes} counts, with {len(labels)} labels",
            hint="give a row, a column and a label for each class",
        )
    cells = [
        {
            "actual": actual,
            "predicted": predicted,
            "row": i,
            "column": j,
            "count": counts[i][j],
            "share": counts[i][j] / max(sum(counts[i]), 1),
        }
        for i, actual in enumerate(labels)
        for j, predicted in enumerate(labels)
    ]
    x = {"field": "predicted", "type": "nominal", "sort": None, "title": "predicted"}
    y = {"field": "actual", "type": "nominal", "sort": None, "title": "actual"}
    share = {"field": "share", "type": "quantitative", "scale": {"domain": [0, 1], **STRAIGHT}}
    tooltip = [
        {"field": "actual", "type": "nominal"},
        {"field": "predicted", "type": "nominal"},
        {"field": "count", "type": "quantitative", "title": "rows"},
        {"field": "share", "type": "quantitative", "title": "share", "format": ".1%"},
    ]
    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "rect", "cursor": "pointer"},
            "encoding": {"color": {**share, "legend": None}, "tooltip": tooltip},
        }
    ]
    if len(labels) <= LIMIT:
        inverse = {"test": "datum.share > 0.5", "value": {"expr": "ground"}}
        letters = {"condition": inverse, "value": {"expr": "text"}}
        text = {"field": "count", "type": "quantitative"}
        encoding = {"text": text, "color": letters, "tooltip": tooltip}
        layers.append({"mark": {"type": "text", "cursor": "pointer"}, "encoding": encoding})
    return Chart(
        {
            "description": _describe(counts, labels),
            "data": {"name": CELLS, "values": cells},
            "height": {"step": SIDE} if len(labels) <= LIMIT else 480,
            "encoding": {"x": {**x, "axis": {"labelAngle": 0}}, "y": y},
            "layer": layers,
        }
    )


def _describe(counts: Sequence[Sequence[int]], labels: Sequence[str]) -> str:
    right, rows = sum(row[k] for k, row in enumerate(counts)), sum(map(sum, counts))
    text = f"Confusion matrix: {right:,} of {rows:,} rows are right."
    size = range(len(labels))
    wrong = [(counts[i][j], i, j) for i in size for j in size if i != j and counts[i][j]]
    if wrong:
        count, i, j = max(wrong, key=lambda cell: cell[0])
        often = "1 time" if count == 1 else f"{count:,} times"
        text += f" Most often confused: {labels[i]} taken for {labels[j]}, {often}."
    return text
