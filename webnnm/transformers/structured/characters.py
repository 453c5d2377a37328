"""Sets of characters, as patterns over the bytes of UTF-8."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from webnnm.transformers.structured.automaton import Pattern, choice, one_of, sequence

LAST = 0x10FFFF
SURROGATES = 0xD800, 0xDFFF
"""Code points that no text has."""
_LENGTHS = 0x80, 0x800, 0x10000, LAST + 1
"""Where the encodings of code points become longer."""

Ranges = Sequence[tuple[int, int]]
"""Code points from … to …, both included."""


def characters(ranges: Ranges) -> Pattern:
    """Return the pattern of one character in one of these ranges.

    >>> from webnnm.transformers.structured.automaton import Automaton
    >>> automaton = Automaton(characters([(ord("à"), ord("ï")), (0x1F600, 0x1F64F)]))
    >>> [automaton.advance(0, text.encode()) is not None for text in ("é", "😀", "e", "ÿ")]
    [True, True, False, False]
    """
    ascii_ranges = [(low, min(high, 0x7F)) for low, high in ranges if low < 0x80]
    single = one_of(value for low, high in ascii_ranges for value in range(low, high + 1))
    longer = [
        sequence(*(one_of(range(low, high + 1)) for low, high in part))
        for low, high in ranges
        for part in _encode(max(low, 0x80), high)
    ]
    return choice(single, *longer) if longer else single


def complement(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Return the ranges of all other characters.

    >>> complement([(0, 9), (5, 20), (30, LAST)])
    [(21, 29)]
    """
    others: list[tuple[int, int]] = []
    first = 0
    for low, high in sorted([*ranges, SURROGATES, (LAST + 1, LAST + 1)]):
        if low > first:
            others.append((first, low - 1))
        first = max(first, high + 1)
    return others


def _encode(low: int, high: int) -> Iterator[list[tuple[int, int]]]:
    """Yield sequences of ranges of bytes that together encode a range of code points."""
    for limit in _LENGTHS:  # one length of encodings at a time
        if low < limit:
            yield from _split(low, min(high, limit - 1))
        low = max(low, limit)


def _split(low: int, high: int) -> Iterator[list[tuple[int, int]]]:
    """Yield them for code points with encodings of one length."""
    if low > high:
        return
    for bits in (6, 12, 18):  # at the borders, the last bytes take all values or some
        size = 1 << bits
        if high >> bits != low >> bits:
            if low % size:
                border = low | (size - 1)
                yield from _split(low, border)
                yield from _split(border + 1, high)
                return
            if (high + 1) % size:
                border = (high & -size) - 1
                yield from _split(low, border)
                yield from _split(border + 1, high)
                return
    first, last = chr(low).encode(errors="surrogatepass"), chr(high).encode(errors="surrogatepass")
    yield [*zip(first, last, strict=True)]
