"""The average precision of boxes, by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from webnnm.core.rectangles import Rectangle
from webnnm.data.pictures.boxes import Box
from webnnm.evaluation.average_precision import compute_average_precision, match_boxes
from webnnm.evaluation.detection_report import compare_boxes
from webnnm.evaluation.result import TestResult

SQUARE = Rectangle(0, 0, 10, 10)


@pytest.mark.parametrize(
    ("matches", "actual", "expected"),
    [
        ([(0.9, True)], 1, 1.0),
        ([(0.9, False)], 1, 0.0),
        ([], 3, 0.0),
        # Half of the boxes are found: recall 0, 0.01, … 0.5 are 51 levels.
        ([(0.9, True)], 2, 51 / 101),
        # 51 levels at a precision of 1, 50 at 2/3.
        ([(0.9, True), (0.8, False), (0.7, True)], 2, (51 + 50 * 2 / 3) / 101),
        # The precision of 1/2 at the first is raised by the 2/3 at the second.
        ([(0.9, False), (0.8, True), (0.7, True)], 2, 2 / 3),
        # Of equal scores the first comes first.
        ([(0.5, True), (0.5, False)], 1, 1.0),
    ],
)
def test_average_precision(matches: Any, actual: int, expected: float) -> None:
    assert compute_average_precision(matches, actual) == pytest.approx(expected)


def test_without_actual_boxes_there_is_no_precision() -> None:
    assert math.isnan(compute_average_precision([(0.9, False)], 0))


def test_better_boxes_choose_first_and_take_what_they_overlap_most() -> None:
    near, shifted = Rectangle(1, 0, 11, 10), Rectangle(3, 0, 13, 10)
    assert match_boxes([(shifted, 0.4), (near, 0.9)], [SQUARE], [0.5]) == [
        [(0.9, True), (0.4, False)]
    ]
    # The shifted one overlaps both, the other one more: 8/12 beside 7/13.
    other = Rectangle(5, 0, 15, 10)
    assert match_boxes([(shifted, 0.9), (near, 0.4)], [SQUARE, other], [0.4]) == [
        [(0.9, True), (0.4, True)]
    ]
    assert match_boxes([(shifted, 0.9), (other, 0.4)], [SQUARE, other], [0.4]) == [
        [(0.9, True), (0.4, False)]
    ]


def test_a_box_that_overlaps_as_much_as_the_threshold_is_right() -> None:
    half = Rectangle(0, 0, 10, 5)
    assert match_boxes([(half, 0.9)], [SQUARE], [0.5, 0.51]) == [[(0.9, True)], [(0.9, False)]]


def test_reports_of_classes() -> None:
    cat, dog = Box(0, 0, 10, 10, "cat"), Box(20, 0, 10, 10, "dog")
    # Overlaps 8/10: right up to a threshold of 0.8, the seventh of ten.
    predicted = [[cat._replace(width=8, score=0.9), dog._replace(label="cat", score=0.2)], []]
    report = compare_boxes(predicted, [[cat, dog], [dog]], ["cat", "dog", "cow"])
    assert report.ap_50 == pytest.approx((1, 0, math.nan), nan_ok=True)
    assert report.ap[0] == pytest.approx(0.7)
    assert (report.map_50, report.map) == (pytest.approx(0.5), pytest.approx(0.35))
    assert (report.support, report.predicted, report.hits) == ((1, 2, 0), (1, 0, 0), (1, 0, 0))
    assert report.precision == (1, 0, 0)
    assert "mAP 0.5000 at IoU 0.5, 0.3500 at 0.5 … 0.95; 1 of 3 boxes found" in str(report)
    values = report.to_dict()
    assert values["kind"] == "detection" and values["ap"][2] is None
    result = TestResult(1.0, {"model": 1.0}, 2, "testing", {"model": report})
    assert result.map == report.map and "<table>" in result.to_html()


def test_of_many_classes_the_worst_are_listed() -> None:
    labels = [f"kind {number}" for number in range(30)]
    boxes = [[Box(0, 0, 10, 10, label) for label in labels]]
    text = str(compare_boxes([boxes[0][:-1]], boxes, labels))
    assert "the 20 of 30 classes with the lowest AP" in text and "kind 29" in text
