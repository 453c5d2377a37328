"""Streams of random bytes that all backends share, and what the host draws from them."""

from __future__ import annotations

import math
import random as _random
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from itertools import chain

Shuffle = Callable[["array[int]", int], "array[int]"]


def register_shuffle(shuffle: Shuffle) -> None:
    """Register a faster function for permutations: words and n → 0 … n−1 in the order drawn.

    A permutation takes n−1 words; more words give several, one after the other. The function
    returns nothing if a word has to be rejected for fairness.
    """
    FAST_SHUFFLES.append(shuffle)


FAST_SHUFFLES: list[Shuffle] = []


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

    def normal(self, n: int) -> array[float]:
        """Return `n` float32 numbers of the standard normal distribution, by Box and Muller.

        >>> len(Stream(0, Purpose.RANDOMIZE, "noise").normal(3))
        3
        """
        uniform = self.uniform(2 * n)
        return array(
            "f",
            (
                math.sqrt(-2 * math.log(u)) * math.cos(2 * math.pi * v)
                for u, v in zip(uniform[:n], uniform[n:], strict=True)
            ),
        )

    def below(self, k: int) -> int:
        """Return an integer 0 … k−1 from 4-byte little-endian words, by rejection."""
        limit = 2**32 - 2**32 % k
        while True:
            (number,) = self.words(1)
            if number < limit:
                return number % k

    def permutation(self, n: int) -> list[int]:
        """Return 0 … n−1 in random order (Fisher–Yates).

        >>> sorted(Stream(0, Purpose.SHUFFLING, 1).permutation(4))
        [0, 1, 2, 3]
        """
        return permutations([self], n)[0].tolist()

    def shuffle_by_words(self, n: int, words: array[int]) -> list[int]:
        """Return 0 … n−1 shuffled by words of this stream; rejected words are drawn again."""
        order = list(range(n))
        # For n below 4000, less than one word in a million is rejected: usually none has to be.
        fair = words if not words or max(words) < 2**32 - n else self._skip_rejected(n, words)
        for last, number in zip(range(n - 1, 0, -1), fair, strict=True):
            other = number % (last + 1)
            order[last], order[other] = order[other], order[last]
        return order

    def words(self, n: int) -> array[int]:
        """Return the next `n` 4-byte little-endian words."""
        words = array("I", self.bytes(4 * n))
        if sys.byteorder == "big":
            words.byteswap()
        return words

    def _skip_rejected(self, n: int, words: Iterable[int]) -> Iterator[int]:
        """Yield a word for each k from n down to 2, skipping those that `below(k)` rejects."""
        candidates = chain(words, iter(lambda: self.words(1)[0], None))
        for k in range(n, 1, -1):
            limit = 2**32 - 2**32 % k
            yield next(number for number in candidates if number < limit)


def permutations(streams: Sequence[Stream], n: int) -> list[array[int]]:
    """Return the `permutation` of each stream as int32, in one call if the host permutes.

    >>> one, other = permutations([Stream(0, Purpose.SHUFFLING, k) for k in (1, 2)], 5)
    >>> one.tolist() == Stream(0, Purpose.SHUFFLING, 1).permutation(5), sorted(other)
    (True, [0, 1, 2, 3, 4])
    """
    words_of_streams = [stream.words(max(0, n - 1)) for stream in streams]
    if n > 1 and FAST_SHUFFLES:
        words = (
            words_of_streams[0]
            if len(words_of_streams) == 1
            else array("I", b"".join(words_of_streams))
        )
        if orders := FAST_SHUFFLES[-1](words, n):
            return [orders[k : k + n] for k in range(0, len(orders), n)]
    pairs = zip(streams, words_of_streams, strict=True)
    return [array("i", stream.shuffle_by_words(n, words)) for stream, words in pairs]
