"""The chart of the receiver operating characteristic of each class."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from webnnm.charts.chart import Chart
from webnnm.charts.results import report_of
from webnnm.charts.theme import DASHES
from webnnm.core.errors import DataError

Point = tuple[float, float]


def roc_curve(
    scores: Mapping[str, Sequence[float]] | Any,
    actual: Mapping[str, Sequence[bool]] | None = None,
) -> Chart:
    """Return the chart of true positives over false positives, a line for each class.

    >>> roc_curve({"yes": [0.9, 0.4, 0.4, 0.1]}, {"yes": [True, True, False, False]}).description
    'ROC curves. yes: area 0.875.'

    The argument is a test result, or `scores` and `actual`: the scores of each class for every row,
    on any scale, and which rows are of the class. Of a result, classes that no row or every row has
    are left out, and of two classes the first, whose curve is the other one upside down. Raises
    `DataError` NNM702 for a result without scores or of several outputs, if the numbers of rows
    differ for a class, or if all rows are on one side.
    """
    if actual is None:
        scores, actual = _scores_of(scores)
    if not isinstance(scores, Mapping) or not isinstance(actual, Mapping):
        hint = 'pass a test result, or {"yes": [0.9, 0.1]} and {"yes": [True, False]}'
        raise DataError("NNM702", "scores and actual are no dicts by class", hint=hint)
    rows: list[dict[str, Any]] = []
    parts = ["ROC curves."]
    for name, values in scores.items():
        points = roc_points(name, values, actual[name])
        area = math.fsum((x1 - x0) * (y0 + y1) / 2 for (x0, y0), (x1, y1) in pairwise(points))
        parts.append(f"{name}: area {area:.3f}.")
        rows += [
            {"class": name, "false": x, "true": y, "order": k} for k, (x, y) in enumerate(points)
        ]
    share = {"type": "quantitative", "scale": {"domain": [0, 1]}, "axis": {"format": "%"}}
    named = {"field": "class", "type": "nominal", "sort": None}
    x = {"field": "false", "title": "false positives", **share}
    y = {"field": "true", "title": "true positives", **share}
    chance = [{"false": 0, "true": 0}, {"false": 1, "true": 1}]
    dash = {**named, "scale": {"range": list(DASHES)}}
    return Chart(
        {
            "description": " ".join(parts),
            "height": 320,
            "encoding": {"x": x, "y": y},
            "layer": [
                {
                    "data": {"values": chance},
                    "mark": {"type": "rule", "strokeDash": [2, 4], "stroke": {"expr": "quiet"}},
                    "encoding": {"x2": {"datum": 1}, "y2": {"datum": 1}},
                    "transform": [{"filter": "datum.false == 0"}],
                },
                {
                    "data": {"name": "roc", "values": rows},
                    "mark": {"type": "line"},
                    "encoding": {
                        "color": named,
                        "strokeDash": dash,
                        "order": {"field": "order", "type": "quantitative"},
                    },
                },
            ],
        }
    )


def _scores_of(
    result: Any,
) -> tuple[dict[str, Sequence[float]], dict[str, list[bool]]]:
    """Return scores and actual classes by the names of the classes of a test result."""
    instead = "scores and actual, by the names of the classes"
    report_of_output = report_of(result, has="labels", instead=instead)
    if hasattr(report_of_output, "reports"):
        parts = [
            (name, one, 1)
            for name, one in zip(report_of_output.labels, report_of_output.reports, strict=True)
        ]
    else:
        report_of(report_of_output, has="scores", instead=instead)
        classes = [1] if len(report_of_output.labels) == 2 else range(len(report_of_output.labels))
        parts = [(report_of_output.labels[number], report_of_output, number) for number in classes]
    scores: dict[str, Sequence[float]] = {}
    actual: dict[str, list[bool]] = {}
    for name, report, number in parts:
        is_class = [other == number for other in report.scores.actual]
        if 0 < sum(is_class) < len(is_class):
            single: bool = report.scores.columns == 1  # raw: large logits are rounded to ties
            scores[name] = report.scores.values if single else report.scores.of_class(number)
            actual[name] = is_class
    if not scores:
        raise DataError(
            "NNM702",
            "no class has rows of its own beside rows of others",
            hint="test with rows of at least two classes",
        )
    return scores, actual


def roc_points(name: str, scores: Sequence[float], actual: Sequence[bool]) -> list[Point]:
    """Return the points of a curve: false and true positive rates by falling threshold.

    >>> roc_points("yes", [0.9, 0.1], [True, False])
    [(0.0, 0.0), (0.0, 1.0), (1.0, 1.0)]
    """
    positives = sum(map(bool, actual))
    negatives = len(actual) - positives
    if len(scores) != len(actual) or not positives or not negatives:
        raise DataError(
            "NNM702",
            f'ROC of "{name}": {len(scores)} scores, '
            f"{positives} positive and {negatives} negative rows",
            hint="give a score for each row, and rows both of the class and not of it",
        )
    ordered = sorted(zip(scores, actual, strict=True), key=lambda pair: -pair[0])
    points, true, false = [(0.0, 0.0)], 0, 0
    for index, (score, is_positive) in enumerate(ordered):
        true, false = true + bool(is_positive), false + (not is_positive)
        # Rows of equal scores are on one side of every threshold.
        if index + 1 == len(ordered) or ordered[index + 1][0] != score:
            points.append((false / negatives, true / positives))
    return points
