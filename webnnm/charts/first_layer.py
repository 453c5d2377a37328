"""The chart of the filters of a first convolution layer, as small pictures."""

from __future__ import annotations

from typing import Any

from webnnm.charts.chart import Chart
from webnnm.charts.theme import STRAIGHT
from webnnm.charts.tiles import elements, sizes_of, tiles
from webnnm.core.arrays import HostArray


def filters(weights: Any, *, layout: str = "oihw") -> Chart:
    """Return a chart of filters, a square of weights for each filter and input channel.

    >>> filters([[[[1.0, -1.0], [0.0, 0.5]]]]).description
    '1 filter of 2 × 2 weights for 1 input channel, from -1 to 1.'

    - `weights`: four dimensions, such as `model.param_arrays()["f"]`.
    - `layout`: the order of the dimensions: "oihw" (outputs, inputs, height, width), "hwio", "ohwi"
      or "ihwo".

    Weights of equal magnitude are equally strong; white (or the dark background) is 0.
    Raises `DataError` NNM702 for other shapes, NNM704 for other layouts.
    """
    array = HostArray.of(weights)
    sizes = sizes_of(array.shape, layout, "oihw", "filters")
    rows: list[dict[str, Any]] = []
    for at, value in elements(array, layout):
        name = f"filter {at['o']}" + (f", channel {at['i']}" if sizes["i"] > 1 else "")
        rows.append({"filter": name, "x": at["w"], "y": at["h"], "weight": value})
    values = [float(value) for value in array.values()]
    limit = max(map(abs, values), default=0.0) or 1.0
    dimensions = [("filter", sizes["o"]), ("input channel", sizes["i"])]
    counted = [f"{count} {noun}{'' if count == 1 else 's'}" for noun, count in dimensions]
    ends = f"from {min(values, default=0):.3g} to {max(values, default=0):.3g}"
    description = f"{counted[0]} of {sizes['h']} × {sizes['w']} weights for {counted[1]}, {ends}."
    scale = {"domain": [limit, 0, -limit], "range": "diverging", **STRAIGHT}
    colour = {"field": "weight", "title": "weight", "scale": scale}
    return Chart(tiles(description, rows, field="filter", colour=colour))
