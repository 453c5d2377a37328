"""The chart of the receiver operating characteristic of each class."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from webnnm.charts.chart import Chart
from webnnm.charts.theme import DASHES
from webnnm.core.errors import DataError

Point = tuple[float, float]


def roc_curve(scores: Mapping[str, Sequence[float]], actual: Mapping[str, Sequence[bool]]) -> Chart:
    """Return the chart of true positives over false positives, a line for each class.

    >>> roc_curve({"yes": [0.9, 0.4, 0.4, 0.1]}, {"yes": [True, True, False, False]}).description
    'ROC curves. yes: area 0.875.'

    `scores` has the scores of each class for every row, on any scale; `actual` says which rows are
    of the class. Raises `DataError` NNM702 if the numbers of rows differ for a class, or if all
    rows are on one side.
    """
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
    for place, (score, own) in enumerate(ordered):
        true, false = true + bool(own), false + (not own)
        # Rows of equal scores are on one side of every threshold.
        if place + 1 == len(ordered) or ordered[place + 1][0] != score:
            points.append((false / negatives, true / positives))
    return points
