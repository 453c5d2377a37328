"""The report on predicted boxes around the objects of pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from webnnm.evaluation.average_precision import compute_average_precision, match_boxes
from webnnm.evaluation.averages import MAX_LISTED, mean, share
from webnnm.evaluation.history import plain
from webnnm.evaluation.table import Tabular, decimals

if TYPE_CHECKING:
    from webnnm.core.arrays import HostArray
    from webnnm.data.pictures.boxes import Box
    from webnnm.data.protocol import AnyDataset

THRESHOLDS = tuple((50 + 5 * step) / 100 for step in range(10))
"""The least intersection over union of a box that is right: 0.5, 0.55, … 0.95, as COCO has them."""
SHOWN_SCORE = 0.3
"""Boxes with at least this score are shown, and counted as predicted."""


@dataclass(frozen=True)
class DetectionReport(Tabular):
    """How well boxes were predicted (Lin et al. 2014, the metrics of COCO).

    >>> from webnnm.data.pictures.boxes import Box
    >>> box = Box(0, 0, 10, 10, "cat")
    >>> print(compare_boxes([[box, box._replace(x=30, score=0.4)]], [[box]], ["cat", "dog"]))
    mAP 1.0000 at IoU 0.5, 1.0000 at 0.5 … 0.95; 1 of 1 boxes found, 1 predicted wrongly
    class  AP at 0.5  AP at 0.5 … 0.95  precision  recall  boxes
    cat        1.000             1.000      0.500   1.000      1
    dog            –                 –      0.000   0.000      0

    Attributes: `labels`, the names of the classes; `average_precision`, for each class the average
    precision at an intersection over union (IoU) of 0.5, 0.55, … 0.95, nan without boxes of the
    class; `support`, how many boxes of each class there are; `predicted`, how many with a score of
    at least 0.3 are predicted; `hits`, how many of these are right at an IoU of 0.5.
    """

    labels: tuple[str, ...]
    average_precision: tuple[tuple[float, ...], ...]
    support: tuple[int, ...]
    predicted: tuple[int, ...]
    hits: tuple[int, ...]

    @property
    def ap_50(self) -> tuple[float, ...]:
        """The average precision at an IoU of 0.5, per class."""
        return tuple(values[0] for values in self.average_precision)

    @property
    def ap(self) -> tuple[float, ...]:
        """The mean of the average precisions at an IoU of 0.5, 0.55, … 0.95, per class."""
        return tuple(map(mean, self.average_precision))

    @property
    def map_50(self) -> float:
        """The mean of `ap_50` over the classes that have boxes."""
        return mean(self.ap_50)

    @property
    def map(self) -> float:
        """The mean of `ap` over the classes that have boxes."""
        return mean(self.ap)

    @property
    def precision(self) -> tuple[float, ...]:
        """The share of the boxes predicted as a class that are right, per class."""
        return tuple(share(hit, all) for hit, all in zip(self.hits, self.predicted, strict=True))

    @property
    def recall(self) -> tuple[float, ...]:
        """The share of the boxes of a class that are found, per class."""
        return tuple(share(hit, all) for hit, all in zip(self.hits, self.support, strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ready for JSON."""
        names = ("labels", "map", "map_50", "ap", "ap_50", "average_precision", "precision")
        names += ("recall", "support", "predicted", "hits")
        return {"kind": "detection", **plain({name: getattr(self, name) for name in names})}

    def _describe(self) -> tuple[list[str], list[list[str]]]:
        wrong = sum(self.predicted) - sum(self.hits)
        scores = decimals((self.map_50, self.map), 4)
        line = f"mAP {scores[0]} at IoU 0.5, {scores[1]} at 0.5 … 0.95"
        counts = f"{sum(self.hits)} of {sum(self.support)} boxes found, {wrong} predicted wrongly"
        lines = [f"{line}; {counts}"]
        listed: Sequence[int] = range(len(self.labels))
        if len(listed) > MAX_LISTED:
            ap, support = self.ap, self.support
            listed = sorted(listed, key=lambda c: (not support[c], ap[c]))[:MAX_LISTED]
            lines.append(f"the {MAX_LISTED} of {len(ap)} classes with the lowest AP")
        rows = [["class", "AP at 0.5", "AP at 0.5 … 0.95", "precision", "recall", "boxes"]]
        columns = (self.ap_50, self.ap, self.precision, self.recall)
        for c in listed:
            cells = decimals(column[c] for column in columns)
            rows.append([self.labels[c], *cells, str(self.support[c])])
        return lines, rows


def compare_boxes(
    predicted: Sequence[Sequence[Box]], actual: Sequence[Sequence[Box]], labels: Sequence[Any]
) -> DetectionReport:
    """Compare the predicted boxes of pictures with the actual ones.

    >>> from webnnm.data.pictures.boxes import Box
    >>> compare_boxes([[Box(0, 0, 3, 4, "cat")]], [[Box(0, 0, 4, 4, "cat")]], ["cat"]).map
    0.6

    `labels` are all that boxes have.
    """
    by_class: list[tuple[float, ...]] = []
    counts: list[tuple[int, int, int]] = []
    for label in labels:
        pairs = [
            (
                [(box.rectangle, box.score) for box in guesses if box.label == label],
                [box.rectangle for box in boxes if box.label == label],
            )
            for guesses, boxes in zip(predicted, actual, strict=True)
        ]
        support = sum(len(boxes) for _, boxes in pairs)
        by_picture = [match_boxes(*pair, THRESHOLDS) for pair in pairs]
        matches = [
            [one for picture in by_picture for one in picture[level]]
            for level in range(len(THRESHOLDS))
        ]
        by_class.append(tuple(compute_average_precision(some, support) for some in matches))
        shown = [right for score, right in matches[0] if score >= SHOWN_SCORE]
        counts.append((support, len(shown), sum(shown)))
    support, guessed, hits = zip(*counts, strict=True)
    return DetectionReport(tuple(map(str, labels)), tuple(by_class), support, guessed, hits)


def compare_grids(
    outputs: HostArray, targets: HostArray, dataset: AnyDataset, block: str, subset: str
) -> DetectionReport:
    """Compare outputs with the boxes of a subset of a dataset, without one with those of targets.

    Targets lack the boxes that share a cell with a smaller one.
    """
    from webnnm.data.pictures.box_grid import BoxGrid
    from webnnm.data.pictures.boxes import name_boxes

    rows, columns, _ = outputs.shape[1:]
    field = dataset.outputs[block]
    # Without pictures cells are measured in cells: IoU is the same.
    grid: BoxGrid = getattr(dataset, "grid", BoxGrid(rows, columns, field.classes, columns, rows))
    names = dataset.labels(block) or range(field.classes)
    actual = name_boxes(grid.decode_rows(targets, targets=True), names)
    if subset and hasattr(dataset, "boxes"):
        actual = cast("Any", dataset).boxes(subset)
    return compare_boxes(name_boxes(grid.decode_rows(outputs), names), actual, names)
