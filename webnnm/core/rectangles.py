"""Rectangles along the axes: their overlap, and the choice of those that overlap no better one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Rectangle(NamedTuple):
    """A rectangle by its lowest and highest coordinates.

    >>> Rectangle(0, 0, 2, 2).compute_iou(Rectangle(1, 0, 3, 2))
    0.3333333333333333
    """

    left: float
    top: float
    right: float
    bottom: float

    @property
    def area(self) -> float:
        """The area, 0 for a rectangle without a width or a height."""
        return max(0.0, self.bottom - self.top) * max(0.0, self.right - self.left)

    def intersect(self, other: Rectangle) -> Rectangle:
        """Return what both cover; without an area if they do not overlap."""
        return Rectangle(
            max(self.left, other.left),
            max(self.top, other.top),
            min(self.right, other.right),
            min(self.bottom, other.bottom),
        )

    def compute_iou(self, other: Rectangle) -> float:
        """Return the area of the intersection divided by that of the union, 0 without either."""
        shared = self.intersect(other).area
        return shared / (self.area + other.area - shared) if shared else 0.0

    def overlaps(self, other: Rectangle, threshold: float) -> bool:
        """Return whether intersection over union exceeds a threshold."""
        shared = self.intersect(other).area
        return bool(shared) and shared > threshold * (self.area + other.area - shared)


def suppress_overlaps(
    rectangles: Sequence[Rectangle], threshold: float, limit: int | None = None
) -> list[int]:
    """Return the indices of rectangles that overlap no better one (non-maximum suppression).

    >>> best, similar, other = (0, 0, 2, 2), (0, 0, 2, 3), (4, 4, 5, 5)
    >>> suppress_overlaps([Rectangle(*one) for one in (best, similar, other)], 0.5)
    [0, 2]

    `rectangles` are in order, the best one first; at most `limit` are taken.
    """
    kept: list[int] = []
    corners: list[Rectangle] = []
    for index, one in enumerate(rectangles):
        if limit is not None and len(kept) >= limit:
            break
        left, top, right, bottom = one
        # Most pairs are apart, which this sees without computing areas.
        near = (
            better
            for better in corners
            if better[0] < right and left < better[2] and better[1] < bottom and top < better[3]
        )
        if not any(one.overlaps(better, threshold) for better in near):
            kept.append(index)
            corners.append(one)
    return kept
