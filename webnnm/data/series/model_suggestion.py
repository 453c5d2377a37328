"""Suggests the text of a model for windows of a series, as a starting point."""

from __future__ import annotations

from webnnm.core.errors import DataError
from webnnm.data.protocol import AnyDataset
from webnnm.data.series.series_dataset import SeriesDataset

UNITS = 16
"""The units of the hidden layer."""

DROPOUT = 0.3


def suggest_series_model(dataset: AnyDataset, name: str = "model") -> str:
    """Return the text of a model for a `SeriesDataset`.

    >>> data = SeriesDataset([1, 2, 4, 3] * 12, window=4, split=(1, 0, 0))
    >>> print(suggest_series_model(data))
    model:name model;
    model:input shape={steps:4, channels:1};
    model:output shape=[1];
    model:layers
      slice(node=input, starts=[3, 0], sizes=[1, 1], name=level),
      slice(node=input, starts=[0, 0], sizes=[3, 1]),
      sub(level),
      reshape([3], name=changes),
      reshape(node=level, [1], name=now),
      concat([changes, now], axis=0, name=history),
      matmul(w, shape=[16]), add(b), relu(), dropout(0.3, name=hidden),
      concat([history, hidden], axis=0),
      matmul(v, shape=[1], init=zeros), add(c),
      reshape([1, 1]), add(level), reshape([1]);
    <BLANKLINE>

    The forecast is the last value, plus a linear function of the window relative to it (NLinear,
    Zeng et al. 2023) and of a small hidden layer: it begins as the forecast of the last value, and
    learns what differs. Raises `DataError` NNM702 for other datasets.
    """
    if not isinstance(dataset, SeriesDataset):
        raise DataError("NNM702", f"{dataset.name} is not a series", hint="give a SeriesDataset")
    series = dataset.series
    window, horizon, targets = series.window, series.horizon, len(series.targets)
    channels = len(series.features)
    ahead = sum(len(one.features) for one in series.ahead)
    ahead += len(series.calendar.features) if series.calendar else 0
    past = channels - targets - ahead
    (output,) = dataset.outputs.values()
    columns = len(series.quantiles) or targets
    size = horizon * columns
    layers = [f"slice(node=input, starts=[{window - 1}, 0], sizes=[1, {targets}], name=level)"]
    parts: list[str] = []
    if window > 1:
        width = (window - 1) * targets
        layers += [
            f"slice(node=input, starts=[0, 0], sizes=[{window - 1}, {targets}])",
            "sub(level)",
            f"reshape([{width}], name=changes)",
        ]
        parts.append("changes")
    if window == 1 or dataset.season_beats_last():
        layers.append(f"reshape(node=level, [{targets}], name=now)")
        parts.append("now")
    if past:
        layers += [
            f"slice(node=input, starts=[0, {targets}], sizes=[{window}, {past}])",
            f"reshape([{window * past}], name=others)",
        ]
        parts.append("others")
    if ahead:
        start = window - horizon
        layers += [
            f"slice(node=input, starts=[{start}, {channels - ahead}], sizes=[{horizon}, {ahead}])",
            f"reshape([{horizon * ahead}], name=ahead)",
        ]
        parts.append("ahead")
    history = "history" if len(parts) > 1 else parts[0]
    if len(parts) > 1:
        layers.append(f"concat([{', '.join(parts)}], axis=0, name=history)")
    ending = f"reshape([{horizon}, {columns}]), add(level)"
    if output.shape == (horizon,):
        ending += f", reshape([{horizon}])"
    layers += [
        f"matmul(w, shape=[{UNITS}]), add(b), relu(), dropout({DROPOUT}, name=hidden)",
        f"concat([{history}, hidden], axis=0)",
        f"matmul(v, shape=[{size}], init=zeros), add(c)",
        ending,
    ]
    sizes = ", ".join(f"{a}:{b}" for a, b in zip(output.names, output.shape, strict=True))
    shape = f"{{{sizes}}}" if len(output.shape) > 1 else f"{[*output.shape]}"
    lines = [
        f"{name}:name {name};",
        f"{name}:input shape={{steps:{window}, channels:{channels}}};",
        f"{name}:output shape={shape};",
        *(
            [f"{name}:loss QUL;", f"{name}:alpha {[*series.quantiles]};"]
            if series.quantiles
            else []
        ),
        f"{name}:layers",
        "  " + ",\n  ".join(layers) + ";",
    ]
    return "\n".join(lines) + "\n"
