"""The chart of pictures with the boxes around their objects, actual and predicted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from webnnm.charts.chart import Chart
from webnnm.charts.tiles import SIDE
from webnnm.charts.worst import encode_picture
from webnnm.core.errors import DataError
from webnnm.evaluation.average_precision import match_boxes
from webnnm.evaluation.detection_report import THRESHOLDS

if TYPE_CHECKING:
    from webnnm.data.pictures.boxes import Box
    from webnnm.data.pictures.detection_dataset import DetectionDataset

COLUMNS = 4
WIDTH = 2 * SIDE


def boxed_pictures(
    dataset: DetectionDataset,
    detections: Sequence[Sequence[Box]],
    *,
    count: int = 8,
    subset: str = "testing",
) -> Chart:
    """Return a chart of pictures with their boxes, those with the most mistakes first.

    >>> from webnnm import Box, DetectionDataset
    >>> pictures = DetectionDataset(bytes(128), [[(1, 2, 3, 4, "cat")], []], shape=(8, 8))
    >>> boxed_pictures(pictures, [[Box(1, 2, 3, 4, "cat", 0.9)], []], subset="full").description
    '1 of 1 box is found, 0 are predicted wrongly, in 2 pictures.'

    - `dataset`: pictures with boxes.
    - `detections`: of all pictures of the subset, as `await model.predict(pixels)` returns them for
      `(pixels,) = dataset.arrays("testing")[0].values()`.
    - `count`: the maximum number of pictures.

    A box is found if one of its label is predicted with an intersection over union of at least 0.5.
    Numbers are those of the rows of the dataset. Raises `DataError` NNM702 for datasets without
    boxes, and for another number of rows.
    """
    if not hasattr(dataset, "boxes"):
        hint = "worst_pictures shows those with labels"
        raise DataError("NNM702", f"{dataset.name} has no boxes", hint=hint)
    inputs, _ = dataset.arrays(subset)
    ((block, pixels),) = inputs.items()
    actual, numbers = dataset.boxes(subset), dataset.rows(subset)
    if len(detections) != len(actual):
        raise DataError(
            "NNM702",
            f"boxes of {len(detections)} pictures, {len(actual)} pictures",
            hint=f'predict all pictures of the subset "{subset}"',
        )
    hits = [_count_hits(*pair) for pair in zip(detections, actual, strict=True)]
    missed = [len(boxes) - hit for boxes, hit in zip(actual, hits, strict=True)]
    wrong = [len(boxes) - hit for boxes, hit in zip(detections, hits, strict=True)]
    order = sorted(range(len(actual)), key=lambda row: -missed[row] - wrong[row])[:count]
    names = [*dataset.inputs[block].names]
    sizes = dict(zip(names, pixels.shape[1:], strict=True))
    values: list[dict[str, Any]] = []
    for position, row in enumerate(order):
        title = f"{numbers[row]}: {missed[row]} missed, {wrong[row]} wrong"
        shared = {"picture": title, "order": position}
        values.append({**shared, "url": encode_picture(pixels.rows([row]), sizes, names)})
        for kind, boxes in (("actual", actual[row]), ("predicted", detections[row])):
            values += [
                {
                    **shared,
                    "kind": kind,
                    "label": str(box.label),
                    "score": round(box.score, 3),
                    **dict(zip(("x", "y", "x2", "y2"), box.rectangle, strict=True)),
                }
                for box in boxes
            ]
    total = sum(map(len, actual))
    description = (
        f"{sum(hits)} of {total} box{'es are' if total != 1 else ' is'} found, {sum(wrong)} "
        f"{'is' if sum(wrong) == 1 else 'are'} predicted wrongly, in {len(actual)} pictures."
    )
    height = round(WIDTH * sizes["height"] / sizes["width"])
    return Chart(
        {
            "description": description,
            "data": {"name": "pictures", "values": values},
            "columns": COLUMNS,
            "facet": {
                "field": "picture",
                "type": "nominal",
                "sort": {"field": "order", "op": "min"},
                "title": None,
            },
            "spec": {
                "width": WIDTH,
                "height": height,
                "layer": [
                    {
                        "transform": [{"filter": "isValid(datum.url)"}],
                        "mark": {
                            "type": "image",
                            "width": WIDTH,
                            "height": height,
                            "align": "center",
                            "baseline": "middle",
                        },
                        "encoding": {
                            "url": {"field": "url", "type": "nominal"},
                            "x": {"value": WIDTH / 2},
                            "y": {"value": height / 2},
                        },
                    },
                    {
                        "transform": [{"filter": "isValid(datum.kind)"}],
                        "mark": {"type": "rect", "filled": False, "strokeWidth": 2},
                        "encoding": {
                            **_encode_axis("x", sizes["width"]),
                            **_encode_axis("y", sizes["height"], reverse=True),
                            "color": {"field": "kind", "type": "nominal", "title": None},
                            "tooltip": [
                                {"field": name, "type": "nominal"}
                                for name in ("kind", "label", "score")
                            ],
                        },
                    },
                ],
            },
        }
    )


def _count_hits(predicted: Sequence[Box], actual: Sequence[Box]) -> int:
    """Return how many boxes are found, by their labels."""
    return sum(
        is_match
        for label in {box.label for box in actual}
        for _, is_match in match_boxes(
            [(box.rectangle, box.score) for box in predicted if box.label == label],
            [box.rectangle for box in actual if box.label == label],
            THRESHOLDS[:1],
        )[0]
    )


def _encode_axis(axis: str, size: int, *, reverse: bool = False) -> dict[str, Any]:
    scale = {"domain": [0, size], "reverse": reverse, "nice": False}
    return {
        axis: {"field": axis, "type": "quantitative", "axis": None, "scale": scale},
        f"{axis}2": {"field": f"{axis}2"},
    }
