"""The chart of points, lines and bands over one quantity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webnnm.charts.chart import Chart
from webnnm.charts.theme import DASHES, SHAPES
from webnnm.core.errors import DataError

HEIGHT = 300
SIDE = 360
"""The height and width of a square chart."""
PADDING = 6
"""Pixels around all points, so that none is cut off."""
MARGIN = 0.05
"""The space around all points of a square chart, as a share of their extent."""
Numbers = Sequence[float]
Group = Mapping[str, Sequence[Numbers]]


def plot(
    points: Group | None = None,
    lines: Group | None = None,
    bands: Group | None = None,
    *,
    x: str = "x",
    y: str = "y",
    square: bool = False,
) -> Chart:
    """Return a chart of points, of lines, and of bands between two curves, each with a name.

    >>> plot({"rows": [(0, 1), (1, 3)]}, {"model": [(0, 1.1), (1, 2.9)]}).description
    'y over x, from 0 to 1. Points: rows (2). Lines: model.'

    - `points`, `lines`: name → pairs (x, y); a line joins them in their order.
    - `bands`: name → triples (x, lowest y, highest y), such as an interval around predictions.
    - `x`, `y`: the names of the axes.
    - `square`: whether a step along one axis is as long as along the other.

    Names differ by colour, points also by shape and lines by dashes; with more than six names,
    points are drawn as their names. Raises `DataError` NNM702 if a row has too few numbers, NNM705
    if there is nothing to show.
    """
    groups = {"Points": points or {}, "Lines": lines or {}, "Bands": bands or {}}
    for kind, group in groups.items():
        length = 3 if kind == "Bands" else 2
        if any(len(row) != length for rows in group.values() for row in rows):
            raise DataError("NNM702", f"{kind.lower()} have {length} numbers each")
    rows = [row for group in groups.values() for rows in group.values() for row in rows]
    if not rows:
        raise DataError("NNM705", "nothing to show", hint="give points, lines or bands")
    axes = _encode_axes(rows, (x, y), square)
    layers: list[dict[str, Any]] = []
    names: list[str] = []
    for group, layer in zip(groups.values(), LAYERS, strict=True):
        if group:
            names = [*names, *group]
            layers.insert(0, layer(group, names, axes))
    if len(names) == 1:
        _drop_legends(layers[0])
    ends = [float(row[0]) for row in rows]
    parts = [f"{y} over {x}, from {min(ends):.3g} to {max(ends):.3g}."]
    for kind, group in groups.items():
        counts = [f"{n} ({len(r)})" if kind == "Points" else n for n, r in group.items()]
        parts += [f"{kind}: {', '.join(counts)}."] if counts else []
    size: dict[str, Any] = {"height": HEIGHT}
    if square:
        size = {"height": SIDE, "width": SIDE}
    return Chart({"description": " ".join(parts), **size, "layer": layers})


def _encode_axes(rows: Sequence[Numbers], names: tuple[str, str], square: bool) -> dict[str, Any]:
    """Return the encoding of both axes, over a common extent in a square chart."""
    scales: list[dict[str, Any]] = [{"zero": False, "padding": PADDING} for _ in range(2)]
    if square:
        values = [[float(row[0]) for row in rows], [float(v) for row in rows for v in row[1:]]]
        middles = [(min(axis) + max(axis)) / 2 for axis in values]
        half = max(max(axis) - min(axis) for axis in values) * (0.5 + MARGIN) or 1.0
        scales = [{"domain": [m - half, m + half], "nice": False} for m in middles]
    return {
        axis: {"field": axis, "type": "quantitative", "title": name, "scale": scale}
        for axis, name, scale in zip("xy", names, scales, strict=True)
    }


def _encode_names(group: Group, names: Sequence[str], **scale: Any) -> dict[str, Any]:
    """Return the encoding of the names of a group, which come last among all names so far.

    Names of earlier groups keep colours apart; and legends over the same names would become one.
    """
    legend = {"values": [*group]}
    domain = {"domain": [*names], **scale}
    return {"field": "name", "type": "nominal", "title": None, "scale": domain, "legend": legend}


def _drop_legends(layer: dict[str, Any]) -> None:
    """Take the legends from a layer with a single name."""
    for channel in layer["encoding"].values():
        if "legend" in channel:
            channel["legend"] = None


def _layer_points(group: Group, names: Sequence[str], axes: dict[str, Any]) -> dict[str, Any]:
    rows = [
        {"name": name, "x": float(x), "y": float(y)} for name, own in group.items() for x, y in own
    ]
    data = {"data": {"name": "points", "values": rows}}
    if len(group) > len(SHAPES):
        text = {"field": "name", "type": "nominal"}
        colour = {**_encode_names(group, names), "legend": None}
        mark = {"type": "text", "fontSize": 11, "clip": True}
        return {**data, "mark": mark, "encoding": {**axes, "text": text, "color": colour}}
    mark = {"type": "point", "filled": True, "size": 36, "opacity": 0.8, "clip": True}
    shapes = [SHAPES[k % len(SHAPES)] for k in range(len(names))]
    return {
        **data,
        "mark": mark,
        "encoding": {
            **axes,
            "fill": _encode_names(group, names),
            "shape": _encode_names(group, names, range=shapes),
        },
    }


def _layer_lines(group: Group, names: Sequence[str], axes: dict[str, Any]) -> dict[str, Any]:
    rows = [
        {"name": name, "x": float(x), "y": float(y), "order": order}
        for name, own in group.items()
        for order, (x, y) in enumerate(own)
    ]
    dashes = dict(zip(group, (DASHES[k % len(DASHES)] for k in range(len(group))), strict=True))
    patterns = [dashes.get(name, DASHES[0]) for name in names]
    return {
        "data": {"name": "lines", "values": rows},
        "mark": {"type": "line", "clip": True},
        "encoding": {
            **axes,
            "order": {"field": "order", "type": "quantitative"},
            "stroke": _encode_names(group, names),
            "strokeDash": _encode_names(group, names, range=patterns),
        },
    }


def _layer_bands(group: Group, names: Sequence[str], axes: dict[str, Any]) -> dict[str, Any]:
    rows = [
        {"name": name, "x": float(x), "low": float(low), "high": float(high)}
        for name, own in group.items()
        for x, low, high in own
    ]
    return {
        "data": {"name": "bands", "values": rows},
        "mark": {"type": "area", "opacity": 0.25, "clip": True},
        "encoding": {
            "x": axes["x"],
            "y": {**axes["y"], "field": "low"},
            "y2": {"field": "high"},
            "color": _encode_names(group, names),
        },
    }


LAYERS = _layer_points, _layer_lines, _layer_bands
