"""The chart of pictures in rows, such as originals above what a network makes of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from webnnm.charts.chart import Chart
from webnnm.charts.worst import COLOURS, encode_picture
from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError

SIDE = 48
"""Pixels of the longer side of a picture."""
GAP = 4
COLUMNS = 8


def pictures(images: Any, *, columns: int = COLUMNS) -> Chart:
    """Return a chart of pictures: in lines of several, or a named row for each entry of a dict.

    >>> pictures({"noisy": [[[0.2, 1.0]]], "cleaned": [[[0.0, 1.0]]]}).description
    '2 pictures of 1 × 2 pixels, in the rows noisy and cleaned.'

    - `images`: numbers from 0 (black) to 1 (white), `[pictures, height, width]` or
      `[pictures, height, width, channels]` with 1, 3 or 4 channels; or a dict of such arrays, each
      of which becomes a row. A picture with numbers beyond 0 to 1 is scaled to its own range.
    - `columns`: how many pictures stand in a line, if they have no names.

    Pixels are drawn as squares, however small a picture is. Raises `DataError` NNM702 for arrays of
    other shapes, NNM705 without pictures.
    """
    named = isinstance(images, Mapping)
    by_row = cast("Mapping[str, Any]", images) if named else {"": images}
    arrays = {str(name): HostArray.of(array) for name, array in by_row.items()}
    for name, array in arrays.items():
        _check_shape(name, array)
    total = sum(len(array) for array in arrays.values())
    if not total:
        raise DataError("NNM705", "no pictures to show", hint="give at least one")
    height, width = next(iter(arrays.values())).shape[1:3]
    scale = SIDE / max(height, width)
    longest = max(len(array) for array in arrays.values()) if named else columns
    rows: list[dict[str, Any]] = []
    for line, array in enumerate(arrays.values()):
        for number, url in enumerate(_encode(array)):
            rows.append({"url": url, "x": number % longest, "y": line + number // longest})
    lines = 1 + max(row["y"] for row in rows)
    names = [*arrays] if named else [""] * lines
    description = f"{total} picture{'' if total == 1 else 's'} of {height} × {width} pixels"
    if named:
        *first, last = names
        listed = f"{', '.join(first)} and {last}" if first else last
        description += f", in the row{'s' if first else ''} {listed}"
    across, down = round(width * scale), round(height * scale)
    labels = {"labels": named, "domain": False, "ticks": False, "grid": False, "title": None}
    position = {"type": "ordinal", "scale": {"type": "band", "padding": 0}}
    return Chart(
        {
            "description": f"{description}.",
            "data": {"name": "pictures", "values": _name_lines(rows, names)},
            "width": (across + GAP) * min(longest, max(row["x"] for row in rows) + 1),
            "height": (down + GAP) * lines,
            "view": {"stroke": None},
            "mark": {
                "type": "image",
                "width": across,
                "height": down,
                "align": "center",
                "baseline": "middle",
                "smooth": False,
            },
            "encoding": {
                "url": {"field": "url", "type": "nominal"},
                "x": {"field": "x", **position, "axis": None},
                "y": {"field": "line", **position, "sort": None, "axis": labels if named else None},
            },
        }
    )


def _check_shape(name: str, array: HostArray) -> None:
    shape = array.shape
    if len(shape) == 3 or (len(shape) == 4 and shape[3] in COLOURS):
        return
    which = f" of {name}" if name else ""
    raise DataError(
        "NNM702",
        f"pictures{which} of shape {list(shape)}",
        hint="[pictures, height, width], and perhaps 1, 3 or 4 channels after that",
    )


def _encode(array: HostArray) -> Iterator[str]:
    """Yield each picture as the address of a PNG file."""
    order = ["height", "width", "channels"][: len(array.shape) - 1]
    sizes = dict(zip(order, array.shape[1:], strict=True))
    for number in range(len(array)):
        yield encode_picture(array.rows([number]), sizes, order)


def _name_lines(rows: list[dict[str, Any]], names: list[str]) -> list[dict[str, Any]]:
    """Return rows that name their line; lines without names are numbered."""
    return [{**row, "line": names[row["y"]] or str(row["y"])} for row in rows]
