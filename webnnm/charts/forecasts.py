"""The chart of a series with its forecast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webnnm.charts.chart import Chart
from webnnm.charts.theme import DASHES
from webnnm.core.errors import DataError

HEIGHT = 300
PAST = "so far"
GAP = 8
"""Pixels between the names of times at least."""
LEGEND_COLUMNS = 3
"""So that the names of lines fit on a phone."""


def forecast(
    times: Sequence[Any],
    values: Sequence[float],
    ahead: Sequence[Any] = (),
    lines: Mapping[str, Sequence[float]] | None = None,
    interval: tuple[Sequence[float], Sequence[float]] | None = None,
    name: str = "",
) -> Chart:
    """Return the values of a series, and lines for what comes next, such as forecasts.

    >>> forecast([1, 2], [5.0, 6.0], [3, 4], {"model": [7.0, 8.0]}, name="sold").description
    'The last 2 values of sold, until 6 at 2; after that model: 7 at 3, 8 at 4.'
    >>> forecast([1, 2], [5.0, 6.0], name="sold").description
    '2 values of sold, from 5 at 1 to 6 at 2.'

    - `times`, `values`: of the series so far; times are ISO dates or numbers.
    - `ahead`: the times of the next steps, and `lines`: name → their values, the forecast first;
      without both, the series is drawn alone.
    - `interval`: their lowest and highest values, drawn as a band.
    - `name`: the name of the quantity.

    Raises `DataError` NNM702 if there is not one value for each time, NNM705 without values.
    """
    lines = lines or {}
    counts = [(len(times), len(values)), *((len(ahead), len(line)) for line in lines.values())]
    if any(a != b for a, b in counts):
        raise DataError("NNM702", "times and values differ in number", hint="one value for each")
    if not times or bool(ahead) != bool(lines):
        hint = "give the last values; and a forecast both its times and its lines"
        raise DataError("NNM705", "no values to show", hint=hint)
    dates = isinstance(times[0], str)
    x = {"field": "time", "type": "temporal" if dates else "quantitative", "title": None}
    x |= {"axis": {"labelSeparation": GAP}}
    x |= {} if dates else {"scale": {"zero": False}, "axis": {"format": "~d"}}
    scale = {"zero": False}
    y = {"field": "value", "type": "quantitative", "title": name or "value", "scale": scale}
    rows = [{"time": t, "value": v, "line": PAST} for t, v in zip(times, values, strict=True)]
    for line, own in lines.items():
        pairs = zip([times[-1], *ahead], [values[-1], *own], strict=True)
        rows += [{"time": time, "value": value, "line": line} for time, value in pairs]
    names = [PAST, *lines]
    legend = {"columns": LEGEND_COLUMNS} if lines else None
    by_line = {"field": "line", "type": "nominal", "title": None, "sort": names, "legend": legend}
    dashes = {"domain": names, "range": [DASHES[k % len(DASHES)] for k in range(len(names))]}
    layers: list[dict[str, Any]] = []
    if interval is not None:
        band = [
            {"time": time, "low": low, "high": high}
            for time, low, high in zip(ahead, *interval, strict=True)
        ]
        layers.append(
            {
                "data": {"name": "interval", "values": band},
                "mark": {"type": "area", "opacity": 0.25},
                "encoding": {
                    "x": x,
                    "y": {**y, "field": "low"},
                    "y2": {"field": "high"},
                },
            }
        )
    layers.append(
        {
            "data": {"name": "lines", "values": rows},
            "mark": {"type": "line", "tooltip": True, "point": len(ahead) == 1},
            "encoding": {
                "x": x,
                "y": y,
                "color": {**by_line, "scale": {"domain": names}},
                "strokeDash": {**by_line, "scale": dashes},
            },
        }
    )
    description = _describe(times, values, ahead, lines, f"of {name}" if name else "of the series")
    return Chart({"description": description, "height": HEIGHT, "layer": layers})


def _describe(
    times: Sequence[Any],
    values: Sequence[float],
    ahead: Sequence[Any],
    lines: Mapping[str, Sequence[float]],
    series: str,
) -> str:
    last = f"{values[-1]:.4g} at {times[-1]}"
    if not lines:
        return f"{len(times)} values {series}, from {values[0]:.4g} at {times[0]} to {last}."
    first, *_ = lines
    points = zip(ahead, lines[first], strict=True)
    forecasts = ", ".join(f"{value:.4g} at {time}" for time, value in [*points][:12])
    return f"The last {len(times)} values {series}, until {last}; after that {first}: {forecasts}."
