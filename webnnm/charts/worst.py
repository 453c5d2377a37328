"""The chart of the pictures that a model is most wrong about."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Sequence
from typing import Any

from webnnm.charts.chart import Chart
from webnnm.charts.tiles import COLUMNS, SIDE
from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError
from webnnm.data.dataset import Dataset

COLOURS = {1: 0, 2: 4, 3: 2, 4: 6}
"""Channels → the type of colour in a PNG file."""
WHITE = 255


def worst_pictures(
    dataset: Dataset, probabilities: Any, *, count: int = 16, subset: str = "testing"
) -> Chart:
    """Return a chart of the pictures whose own class got the lowest probabilities, as thumbnails.

    >>> from webnnm import ImageDataset
    >>> pictures = ImageDataset(bytes(range(8)), ["cat", "dog"], shape=(2, 2), split=(1, 0, 0))
    >>> worst_pictures(pictures, [[0.9, 0.1], [0.8, 0.2]], subset="training").description
    '1 of 2 pictures is taken for another class. Most wrong: 1, dog taken for cat.'

    - `dataset`: pictures with one label each.
    - `probabilities`: of all pictures of the subset, `[rows, classes]`, as `await model.predict(
      pixels)` returns them for `(pixels,) = dataset.arrays("testing")[0].values()`.
    - `count`: the maximum number of pictures; those that are right come last.

    Numbers are those of the rows of the dataset. Raises `DataError` NNM702 for other datasets, and
    for another number of rows.
    """
    inputs, outputs = dataset.arrays(subset)
    ((block, pixels),) = inputs.items()
    (labels,) = outputs.values()
    names = dataset.labels() or []
    sizes = dict(zip(dataset.inputs[block].names, pixels.shape[1:], strict=False))
    rows: list[list[float]] = HostArray.of(probabilities).tolist()
    if not {"height", "width"} <= sizes.keys() or len(labels.shape) != 1 or len(names) < 2:
        raise DataError("NNM702", f"{dataset.name} is not pictures with a class each")
    if len(rows) != len(pixels) or any(len(row) not in (1, len(names)) for row in rows):
        raise DataError(
            "NNM702",
            f"{len(rows)} rows of probabilities, {len(pixels)} pictures of {len(names)} classes",
            hint=f'predict all pictures of the subset "{subset}"',
        )
    shares = [[1 - row[0], row[0]] if len(row) == 1 else row for row in rows]
    actual = [int(label) for label in labels.values()]
    known = [row for row, label in enumerate(actual) if label >= 0]
    known.sort(key=lambda row: shares[row][actual[row]])
    wrong = [row for row in known if _find_largest(shares[row]) != actual[row]]
    numbers = dataset.rows(subset)
    tiles = [
        {
            "picture": f"{numbers[row]}: {_describe(actual[row], shares[row], names)} "
            f"({max(shares[row]):.0%})",
            "order": order,
            "url": encode_picture(pixels.rows([row]), sizes, [*dataset.inputs[block].names]),
        }
        for order, row in enumerate(known[:count])
    ]
    verb = "is" if len(wrong) == 1 else "are"
    description = f"{len(wrong)} of {len(known)} pictures {verb} taken for another class."
    if wrong:
        first = wrong[0]
        mistake = _describe(actual[first], shares[first], names)
        description += f" Most wrong: {numbers[first]}, {mistake}."
    return Chart(
        {
            "description": description,
            "data": {"name": "pictures", "values": tiles},
            "columns": COLUMNS,
            "facet": {
                "field": "picture",
                "type": "nominal",
                "sort": {"field": "order", "op": "min"},
                "title": None,
            },
            "spec": {
                "width": SIDE,
                "height": SIDE,
                "mark": {
                    "type": "image",
                    "width": SIDE,
                    "height": SIDE,
                    "align": "center",
                    "baseline": "middle",
                },
                "encoding": {
                    "url": {"field": "url", "type": "nominal"},
                    "x": {"value": SIDE / 2},
                    "y": {"value": SIDE / 2},
                },
            },
        }
    )


def _find_largest(shares: Sequence[float]) -> int:
    return max(range(len(shares)), key=shares.__getitem__)


def _describe(actual: int, shares: Sequence[float], names: Sequence[str]) -> str:
    predicted = _find_largest(shares)
    wrong = f" taken for {names[predicted]}" if predicted != actual else ""
    return names[actual] + wrong


def encode_picture(picture: HostArray, sizes: dict[str, int], order: Sequence[str]) -> str:
    """Return a picture as the address of a PNG file, from its darkest to its brightest number."""
    values = [float(value) for value in picture.values()]
    low, high = (0.0, 1.0) if min(values) >= 0 and max(values) <= 1 else (min(values), max(values))
    scale = WHITE / (high - low) if high > low else 0.0
    height, width, channels = sizes["height"], sizes["width"], sizes.get("channels", 1)
    strides = {"channels": 0} | {
        name: math.prod(sizes[later] for later in order[position + 1 :])
        for position, name in enumerate(order)
    }
    lines = b"".join(
        b"\0"
        + bytes(
            round(
                (
                    values[y * strides["height"] + x * strides["width"] + c * strides["channels"]]
                    - low
                )
                * scale
            )
            for x in range(width)
            for c in range(channels)
        )
        for y in range(height)
    )
    header = struct.pack(">2I5B", width, height, 8, COLOURS.get(channels, 0), 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines)), (b"IEND", b""))
    file = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
    return "data:image/png;base64," + base64.b64encode(file).decode()
