"""Streams of random bytes that every backend shares, and what is drawn from them on the host."""

from __future__ import annotations

import random as _random
from array import array
from enum import IntEnum


class Purpose(IntEnum):
    """What a stream is for (spec B.6); streams of different purposes are independent."""

    INITIALISATION = 1
    SHUFFLING = 2
    DROPOUT = 3
    SCOUTING = 4
    SPLITTING = 5
    RANDOMIZE = 6


class Stream:
    """The stream (seed, purpose, parts…) of spec B.6: the same bytes on every platform.

    >>> Stream(0, Purpose.INITIALISATION, "w1").bytes(4) == Stream(0, 1, "w1").bytes(4)
    True

    Negative or missing seeds mean 0. Parts are names, indices or epochs.
    """

    def __init__(self, seed: int | None, purpose: int, *parts: object) -> None:
        words = (max(0, seed or 0), int(purpose), *parts)
        self._source = _random.Random(":".join(map(str, words)))

    def bytes(self, n: int) -> bytes:
        """Return the next `n` bytes."""
        return self._source.randbytes(n)

    def uniform(self, n: int) -> array[float]:
        """Return `n` float32 numbers in (0, 1), taken from 3n bytes in three planes (spec B.6)."""
        planes = self.bytes(3 * n)
        low, middle, high = planes[:n], planes[n : 2 * n], planes[2 * n :]
        return array(
            "f",
            (
                (a + 256 * b + 65536 * c + 0.5) * 2.0**-24
                for a, b, c in zip(low, middle, high, strict=True)
            ),
        )

    def below(self, k: int) -> int:
        """Return an integer 0 … k−1 from 4-byte little-endian words, by rejection."""
        limit = 2**32 - 2**32 % k
        while True:
            word = int.from_bytes(self.bytes(4), "little")
            if word < limit:
                return word % k

    def permutation(self, n: int) -> list[int]:
        """Return 0 … n−1 in random order (Fisher–Yates).

        >>> sorted(Stream(0, Purpose.SHUFFLING, 1).permutation(4))
        [0, 1, 2, 3]
        """
        order = list(range(n))
        for last in range(n - 1, 0, -1):
            other = self.below(last + 1)
            order[last], order[other] = order[other], order[last]
        return order
