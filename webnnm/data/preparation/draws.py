"""Draws different numbers by a seed."""

from __future__ import annotations

from webnnm.core.random import Purpose, Stream


def draw_numbers(seed: int, purpose: str, total: int, size: int) -> list[int]:
    """Return different numbers from 0 to `total` − 1, in ascending order.

    >>> draw_numbers(0, "training", 3, 3)
    [0, 1, 2]
    """
    words = Stream(seed, Purpose.SPLITTING, "examined", purpose).words(size)
    drawn: list[int] = []
    moved: dict[int, int] = {}  # the first steps of a Fisher–Yates shuffle
    for index, word in enumerate(words):
        other = index + word % (total - index)
        drawn.append(moved.get(other, other))
        moved[other] = moved.get(index, index)
    return sorted(drawn)
