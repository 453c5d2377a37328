"""The chart of the filters of a first layer of convolutions, as small pictures."""

from __future__ import annotations

from typing import Any

from webnnm.charts.chart import Chart
from webnnm.charts.theme import STRAIGHT
from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError

SIDE = 64


def filters(weights: Any, *, layout: str = "oihw") -> Chart:
    """Return the pictures of filters, a square of weights for each filter and input channel.

    >>> filters([[[[1.0, -1.0], [0.0, 0.5]]]]).description
    '1 filter of 2 × 2 weights for 1 input channel, from -1 to 1.'

    - `weights`: four dimensions, such as `model.arrays()["f"]`.
    - `layout`: what these are: "oihw" (outputs, inputs, height, width), "hwio", "ohwi" or "ihwo".

    Colours are the same for equal weights of opposite sign, white (or the dark ground) is 0.
    Raises `DataError` NNM702 for other shapes, NNM704 for other layouts.
    """
    array = HostArray.of(weights)
    if sorted(layout) != sorted("oihw"):
        raise DataError("NNM704", f'layout="{layout}"', hint="such as oihw, hwio, ohwi, ihwo")
    if len(array.shape) != 4:
        raise DataError(
            "NNM702",
            f"filters have four dimensions, these have {len(array.shape)}",
            hint="give the weights of a conv2d",
        )
    sizes = dict(zip(layout, array.shape, strict=True))
    values = [float(value) for value in array.values()]
    rows: list[dict[str, Any]] = []
    for place, value in enumerate(values):
        at: dict[str, int] = {}
        for letter in reversed(layout):
            place, at[letter] = divmod(place, sizes[letter])
        name = f"filter {at['o']}" + (f", channel {at['i']}" if sizes["i"] > 1 else "")
        rows.append({"filter": name, "x": at["w"], "y": at["h"], "weight": value})
    limit = max(map(abs, values), default=0.0) or 1.0
    each = [("filter", sizes["o"]), ("input channel", sizes["i"])]
    counted = [f"{count} {word}{'' if count == 1 else 's'}" for word, count in each]
    place = {"type": "ordinal", "axis": None}
    weight = {"field": "weight", "type": "quantitative", "title": "weight"}
    weight |= {"scale": {"domain": [limit, 0, -limit], "range": "diverging", **STRAIGHT}}
    ends = f"from {min(values, default=0):.3g} to {max(values, default=0):.3g}"
    return Chart(
        {
            "description": f"{counted[0]} of {sizes['h']} × {sizes['w']} weights for {counted[1]}, "
            f"{ends}.",
            "data": {"name": "filters", "values": rows},
            "columns": 8,
            "facet": {"field": "filter", "type": "nominal", "sort": None, "title": None},
            "spec": {
                "width": SIDE,
                "height": SIDE,
                "mark": {"type": "rect", "tooltip": True},
                "encoding": {
                    "x": {"field": "x", **place},
                    "y": {"field": "y", **place},
                    "color": weight,
                },
            },
        }
    )
