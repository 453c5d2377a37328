"""Uniform random choices from one seed, a thousand of which make a graph."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """A source of choices.

    Hypothesis draws the seed alone: drawing every choice takes it ten times as long, most of its
    graphs repeat the first operator, and graphs shrink better by what they are (shrinking.py).
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def number(self, low: int, high: int) -> int:
        """Return an integer between two bounds."""
        return self._random.randint(low, high)

    def coin(self) -> bool:
        """Return True or False."""
        return self._random.random() < 0.5

    def chance(self, times: int) -> bool:
        """Return True once in so many times."""
        return self._random.randrange(times) == 0

    def one(self, items: Sequence[T]) -> T:
        """Return one of some items."""
        return self._random.choice(items)

    def some(self, items: Iterable[T]) -> list[T]:
        """Return some of the items, none twice, in any order."""
        found = self.shuffle(items)
        return found[: self.number(0, len(found))]

    def shuffle(self, items: Iterable[T]) -> list[T]:
        """Return the items in any order."""
        found = list(items)
        self._random.shuffle(found)
        return found

    def sizes(self, least: int, most: int) -> list[int]:
        """Return so many sizes of dimensions."""
        return [self.number(1, 4) for _ in range(self.number(least, most))]
