"""The chart of predicted over actual quantities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from webnnm.charts.chart import Chart
from webnnm.charts.results import report_of
from webnnm.core.errors import DataError
from webnnm.core.thinning import thin

MAX_ROWS = 2000
"""The maximum number of rows drawn, evenly chosen."""
HEIGHT = 320


def prediction_error(
    actual: Sequence[float] | Any, predicted: Sequence[float] | None = None, name: str = ""
) -> Chart:
    """Return predicted over actual values as points; exact predictions are on the dotted line.

    >>> prediction_error([1.0, 2.0], [1.0, 1.5], "price").description
    'Predicted over actual price of 2 rows: off by 0.25 on average, by 0.5 for 2 taken for 1.5.'

    - `actual`, `predicted`: a number for each row, in the units of the data; or a test result.
    - `name`: the name of the quantity, or which of several quantities of a result.

    If there are more than 2000 rows, every second, third, … one is drawn. Raises `DataError` NNM702
    if the numbers of rows differ, or for a result without quantities or with several, NNM705
    without rows.
    """
    if predicted is None:
        actual, predicted, name = _pairs_of(actual, name)
    if len(actual) != len(predicted):
        raise DataError(
            "NNM702",
            f"{len(actual)} actual values, {len(predicted)} predicted values",
            hint="give one of each per row",
        )
    pairs = [(float(x), float(y)) for x, y in zip(actual, predicted, strict=True)]
    pairs = [pair for pair in pairs if all(map(math.isfinite, pair))]
    if not pairs:
        raise DataError("NNM705", "no rows to show", hint="give finite values")
    worst = max(pairs, key=lambda pair: abs(pair[0] - pair[1]))
    off = math.fsum(abs(x - y) for x, y in pairs) / len(pairs)
    drawn = thin(pairs, MAX_ROWS)
    low, high = min(min(pair) for pair in pairs), max(max(pair) for pair in pairs)
    scale = {"domain": [low, high], "zero": False}
    title = f" {name}" if name else ""
    x = {"field": "actual", "type": "quantitative", "title": f"actual{title}", "scale": scale}
    y = {**x, "field": "predicted", "title": f"predicted{title}"}
    return Chart(
        {
            "description": f"Predicted over actual{title or ' values'} of {len(pairs):,} rows: "
            f"off by {off:.4g} on average, by {abs(worst[0] - worst[1]):.4g} for "
            f"{worst[0]:.4g} taken for {worst[1]:.4g}.",
            "height": HEIGHT,
            "layer": [
                {
                    "data": {"name": "right", "values": [{"actual": low, "predicted": low}]},
                    "mark": {"type": "rule", "strokeDash": [2, 4], "stroke": {"expr": "quiet"}},
                    "encoding": {"x": x, "y": y, "x2": {"datum": high}, "y2": {"datum": high}},
                },
                {
                    "data": {
                        "name": "rows",
                        "values": [{"actual": x, "predicted": y} for x, y in drawn],
                    },
                    "mark": {"type": "point", "filled": True, "opacity": 0.6, "tooltip": True},
                    "encoding": {"x": x, "y": y},
                },
            ],
        }
    )


def _pairs_of(result: Any, name: str) -> tuple[Sequence[float], Sequence[float], str]:
    """Return actual and predicted values of a quantity of a test result, and its name."""
    report = report_of(result, has="pairs", instead="actual and predicted values")
    labels = list(report.labels)
    if (len(labels) > 1 or name) and name not in labels:
        raise DataError(
            "NNM702",
            f"the result is of {len(labels)} quantities: {', '.join(labels[:8])}",
            hint=f'choose one: prediction_error(result, name="{labels[0]}")',
        )
    column, own = (labels.index(name), name) if name else (0, "")
    predicted, actual = (values[column :: len(labels)] for values in report.pairs)
    return actual, predicted, own
