"""The chart of the feature maps of a convolution: where in a picture each channel is active."""

from __future__ import annotations

from typing import Any

from webnnm.charts.chart import Chart
from webnnm.charts.theme import STRAIGHT
from webnnm.charts.tiles import elements, sizes_of, tiles
from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError

CHANNELS = 32
"""The default number of channels drawn: four lines of pictures."""


def feature_maps(
    activations: Any, *, row: int = 0, layout: str = "nchw", channels: int = CHANNELS
) -> Chart:
    """Return a chart of the activations of a layer for one picture, a square for each channel.

    >>> feature_maps([[[[0.0, 2.0], [0.0, 1.0]]]]).description
    '1 channel of 2 × 2 activations for row 0, from 0 to 2.'

    - `activations`: four dimensions, such as `(await inspect_model(model)).activations["relu1"]`.
    - `row`: the number of the picture.
    - `layout`: "nchw" (rows, channels, height, width) or "nhwc".
    - `channels`: the maximum number of channels drawn, starting with the first.

    The background colour is the smallest activation, the strongest colour the largest. Raises
    `DataError` NNM702 for other shapes, NNM704 for other layouts and for a row out of range.
    """
    array = HostArray.of(activations)
    sizes = sizes_of(array.shape, layout, "nchw", "feature maps")
    if not 0 <= row < sizes["n"]:
        raise DataError("NNM704", f"row={row}", hint=f"from 0 to {sizes['n'] - 1}")
    picture = array.rows([row])
    rows: list[dict[str, Any]] = [
        {"channel": f"channel {at['c']}", "x": at["w"], "y": at["h"], "activation": value}
        for at, value in elements(picture, layout)
        if at["c"] < channels
    ]
    values: list[float] = [cell["activation"] for cell in rows]
    low, high = min(values, default=0.0), max(values, default=0.0)
    shown = min(channels, sizes["c"])
    number_shown = f"{shown} channel{'' if shown == 1 else 's'}"
    if shown < sizes["c"]:
        number_shown = f"{shown} of {sizes['c']} channels"
    description = f"{number_shown} of {sizes['h']} × {sizes['w']} activations for row {row}, "
    scale = {"domain": [low, high if high > low else low + 1], "range": "ramp", **STRAIGHT}
    colour = {"field": "activation", "title": "activation", "scale": scale}
    description += f"from {low:.3g} to {high:.3g}."
    return Chart(tiles(description, rows, field="channel", colour=colour))
