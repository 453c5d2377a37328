"""The chart of a model's decisions at every point of a plane, with the training rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webnnm.charts.chart import Chart
from webnnm.charts.theme import STRAIGHT
from webnnm.core.errors import DataError

GRID, POINTS = "grid", "points"
"""The names of the data of cells and of points, with which a page repaints them."""
SIZE = 360
Extent = tuple[float, float]


def decision_boundary(
    probabilities: Sequence[Sequence[float]],
    points: Sequence[Sequence[float]] = (),
    classes: Sequence[int] = (),
    *,
    x: Extent = (-1.0, 1.0),
    y: Extent = (-1.0, 1.0),
    labels: Sequence[str] = ("0", "1"),
    names: Sequence[str] = ("x1", "x2"),
) -> Chart:
    """Return a map of the probability of the second of two classes, with points on top.

    >>> chart = decision_boundary([[0.1, 0.9]], [[0.5, 0.0]], [1])
    >>> chart.description
    'Decision boundary: 50% of the plane is class 1. 1 of 1 points are on the side of their class.'

    - `probabilities`: of the second class, at the centres of the cells of a grid, row by row
      from the lowest y.
    - `points`, `classes`: pairs of numbers, and the class of each, 0 or 1.
    - `x`, `y`: the extent of the plane.
    - `labels`, `names`: the names of the classes and of the axes.

    Classes differ by shape as well as by colour. Raises `DataError` NNM702 if rows of the grid
    differ in length, or points and classes in number.
    """
    columns = len(probabilities[0]) if probabilities else 0
    if any(len(row) != columns for row in probabilities) or len(points) != len(classes):
        raise DataError(
            "NNM702",
            f"a grid of {len(probabilities)} rows, {len(points)} points, {len(classes)} classes",
            hint="all rows of a grid have the same length, and each point has a class",
        )
    marked = point_rows(points, classes, labels)
    horizontal = {"type": "quantitative", "title": names[0]}
    horizontal |= {"scale": {"domain": list(x), "nice": False}, "axis": {"grid": False}}
    vertical = {"type": "quantitative", "title": names[1]}
    vertical |= {"scale": {"domain": list(y), "nice": False}, "axis": {"grid": False}}
    named = {"field": "class", "type": "nominal", "scale": {"domain": list(labels)}}
    return Chart(
        {
            "description": _describe(probabilities, points, classes, x, y, labels),
            "height": SIZE,
            # Pages paint the cells as one image, which is cheaper than a rectangle for each.
            "usermeta": {"image": {"data": GRID, "columns": columns}},
            "layer": [
                {
                    "data": {"name": GRID, "values": grid_rows(probabilities, x, y)},
                    "mark": {"type": "rect", "clip": True, "opacity": 0.55, "aria": False},
                    "encoding": {
                        "x": {"field": "x", **horizontal},
                        "x2": {"field": "x2"},
                        "y": {"field": "y", **vertical},
                        "y2": {"field": "y2"},
                        "color": {
                            "field": "p",
                            "type": "quantitative",
                            "legend": None,
                            # The first class has the first colour.
                            "scale": {"domain": [1, 0.5, 0], "range": "diverging", **STRAIGHT},
                        },
                    },
                },
                {
                    "data": {"name": POINTS, "values": marked},
                    "mark": {
                        "type": "point",
                        "filled": True,
                        "opacity": 1,
                        "size": 42,
                        "clip": True,
                        "stroke": {"expr": "ground"},
                        "strokeWidth": 1,
                    },
                    "encoding": {
                        "x": {"field": "x", **horizontal},
                        "y": {"field": "y", **vertical},
                        "fill": {**named, "title": None},
                        "shape": {**named, "title": None},
                    },
                },
            ],
            "resolve": {"scale": {"color": "independent"}},
        }
    )


def grid_rows(
    probabilities: Sequence[Sequence[float]], x: Extent, y: Extent
) -> list[dict[str, float]]:
    """Return the cells of a grid.

    >>> grid_rows([[0.25]], (0, 1), (0, 2))
    [{'x': 0.0, 'x2': 1.0, 'y': 0.0, 'y2': 2.0, 'p': 0.25}]
    """
    high = (y[1] - y[0]) / max(len(probabilities), 1)
    wide = (x[1] - x[0]) / max(len(probabilities[0]) if probabilities else 0, 1)
    return [
        {
            "x": x[0] + j * wide,
            "x2": x[0] + (j + 1) * wide,
            "y": y[0] + i * high,
            "y2": y[0] + (i + 1) * high,
            "p": p,
        }
        for i, row in enumerate(probabilities)
        for j, p in enumerate(row)
    ]


def point_rows(
    points: Sequence[Sequence[float]], classes: Sequence[int], labels: Sequence[str]
) -> list[dict[str, Any]]:
    """Return points with the names of their classes.

    >>> point_rows([[1, 2]], [1], ["no", "yes"])
    [{'x': 1, 'y': 2, 'class': 'yes'}]
    """
    pairs = zip(points, classes, strict=True)
    return [{"x": point[0], "y": point[1], "class": labels[number]} for point, number in pairs]


def _describe(
    probabilities: Sequence[Sequence[float]],
    points: Sequence[Sequence[float]],
    classes: Sequence[int],
    x: Extent,
    y: Extent,
    labels: Sequence[str],
) -> str:
    cells = [p for row in probabilities for p in row]
    if not cells:
        return f"Points of two classes: {len(points)}."
    share = sum(p > 0.5 for p in cells) / len(cells)
    text = f"Decision boundary: {share:.0%} of the plane is class {labels[1]}."
    if not points:
        return text
    high, wide = len(probabilities), len(probabilities[0])
    right = 0
    for point, number in zip(points, classes, strict=True):
        row = _cell(point[1], y, high)
        column = _cell(point[0], x, wide)
        right += (probabilities[row][column] > 0.5) == bool(number)
    return f"{text} {right} of {len(points)} points are on the side of their class."


def _cell(value: float, extent: Extent, cells: int) -> int:
    index = int((value - extent[0]) / (extent[1] - extent[0]) * cells)
    return min(max(index, 0), cells - 1)
