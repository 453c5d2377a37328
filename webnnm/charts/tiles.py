"""Small pictures side by side, of numbers in a plane, for the charts of convolutions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from webnnm.core.arrays import HostArray
from webnnm.core.errors import DataError

SIDE = 64
"""Pixels of a picture in each direction."""
COLUMNS = 8


def sizes_of(shape: Sequence[int], layout: str, dimensions: str, what: str) -> dict[str, int]:
    """Return the size of each dimension by its letter.

    >>> sizes_of((8, 3, 5, 5), "oihw", "oihw", "filters")["i"]
    3

    Raises `DataError` NNM704 for a layout with other letters, NNM702 for a wrong number of them.
    """
    if sorted(layout) != sorted(dimensions):
        example = {"oihw": "oihw, hwio, ohwi, ihwo"}.get(dimensions, "nchw, nhwc")
        raise DataError("NNM704", f'layout="{layout}"', hint=f"such as {example}")
    if len(shape) != len(layout):
        raise DataError(
            "NNM702",
            f"{what} have four dimensions, these have {len(shape)}",
            hint="give the weights or activations of a conv2d",
        )
    return dict(zip(layout, shape, strict=True))


def elements(array: HostArray, layout: str) -> Iterator[tuple[dict[str, int], float]]:
    """Yield the position of each number, by the letters of the layout, and the number."""
    sizes = dict(zip(layout, array.shape, strict=True))
    for rest, value in enumerate(array.values()):
        at: dict[str, int] = {}
        for letter in reversed(layout):
            rest, at[letter] = divmod(rest, sizes[letter])
        yield at, float(value)


def tiles(
    description: str, rows: Sequence[Mapping[str, Any]], *, field: str, colour: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the specification of pictures: rows with `x`, `y`, a value and their picture.

    >>> tiles("", [], field="filter", colour={"field": "weight"})["facet"]["field"]
    'filter'
    """
    axis = {"type": "ordinal", "axis": None}
    return {
        "description": description,
        "data": {"name": f"{field}s", "values": list(rows)},
        "columns": COLUMNS,
        "facet": {"field": field, "type": "nominal", "sort": None, "title": None},
        "spec": {
            "width": SIDE,
            "height": SIDE,
            "mark": {"type": "rect", "tooltip": True},
            "encoding": {
                "x": {"field": "x", **axis},
                "y": {"field": "y", **axis},
                "color": {"type": "quantitative", **colour},
            },
        },
    }
