"""The chart of a table of numbers as colours, such as the shares of an attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webnnm.charts.chart import Chart
from webnnm.charts.theme import STRAIGHT
from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError

CELL = 24
"""Pixels of a side of a cell."""
LETTER = 7
"""Pixels of a letter: cells are wide enough for the names of columns."""


def heat_map(
    values: Any,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    x: str = "",
    y: str = "",
    name: str = "value",
) -> Chart:
    """Return a chart of a matrix, a coloured cell for each number.

    >>> heat_map([[0.9, 0.1], [0.2, 0.8]], ["a", "b"], ["c", "d"], name="share").description
    'share from 0.1 to 0.9 in 2 rows and 2 columns; the largest of each row: a c, b d.'

    - `values`: `[rows, columns]`.
    - `rows`, `columns`: their names, all different.
    - `x`, `y`: the names of the axes, and `name` that of the numbers.

    The background colour is the smallest number, the strongest colour the largest. Raises
    `DataError` NNM702 if names are not as many as rows and columns, NNM710 if a name repeats.
    """
    array = HostArray.of(values)
    if array.shape != (len(rows), len(columns)) or not rows or not columns:
        raise DataError(
            "NNM702",
            f"values of shape {list(array.shape)}, {len(rows)} rows and {len(columns)} columns",
            hint="a name for each row and each column",
        )
    for names in (rows, columns):
        if repeated := [label for label in dict.fromkeys(names) if names.count(label) > 1]:
            raise DataError("NNM710", f'"{repeated[0]}" names two rows or columns')
    table: list[list[float]] = array.tolist()
    cells = [
        {"row": row, "column": column, "value": float(value)}
        for row, numbers in zip(rows, table, strict=True)
        for column, value in zip(columns, numbers, strict=True)
    ]
    numbers = [cell["value"] for cell in cells]
    low, high = min(numbers), max(numbers)
    largest = ", ".join(
        f"{row} {columns[own.index(max(own))]}" for row, own in zip(rows, table, strict=True)
    )
    scale = {"domain": [low, high if high > low else low + 1], "range": "ramp", **STRAIGHT}
    return Chart(
        {
            "description": f"{name} from {low:.3g} to {high:.3g} in {len(rows)} rows and "
            f"{len(columns)} columns; the largest of each row: {largest}.",
            "data": {"name": "cells", "values": cells},
            "width": max(CELL, LETTER * (max(map(len, columns)) + 1)) * len(columns),
            "height": CELL * len(rows),
            "mark": {"type": "rect", "tooltip": True},
            "encoding": {
                "x": _encode_axis("column", columns, x),
                "y": _encode_axis("row", rows, y),
                "color": {
                    "field": "value",
                    "type": "quantitative",
                    "title": name,
                    "scale": scale,
                    "legend": {"title": name},
                },
            },
        }
    )


def _encode_axis(field: str, names: Sequence[str], title: str) -> dict[str, Any]:
    axis = {"labelAngle": 0, "domain": False, "ticks": False}
    return {
        "field": field,
        "type": "ordinal",
        "sort": [*names],
        "title": title or None,
        "axis": axis,
    }
