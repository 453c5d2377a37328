"""Overlaps of rectangles."""

from __future__ import annotations

from webnnm.core.rectangles import Rectangle, suppress_overlaps


def test_rectangles_without_an_area_overlap_nothing() -> None:
    line, square = Rectangle(1, 1, 1, 3), Rectangle(0, 0, 2, 2)
    assert line.compute_iou(line) == 0
    assert not square.overlaps(Rectangle(2, 0, 4, 2), 0)
    assert square.overlaps(Rectangle(1, 0, 3, 2), 0)


def test_an_overlap_at_the_threshold_is_none() -> None:
    """Like NonMaxSuppression of ONNX: what exceeds it is suppressed."""
    square, half = Rectangle(0, 0, 2, 2), Rectangle(0, 0, 2, 1)
    assert square.compute_iou(half) == 0.5
    assert not square.overlaps(half, 0.5)
    assert square.overlaps(half, 0.49)


def test_suppressed_rectangles_suppress_no_others() -> None:
    chain = [Rectangle(start, 0, start + 4, 4) for start in (0, 1, 2.5)]
    assert suppress_overlaps(chain, 0.4) == [0, 2]
    assert suppress_overlaps(chain, 0.4, 1) == [0]
    assert suppress_overlaps(chain, 0.4, 0) == []
