"""Feature hashing: spreads words over a fixed number of features.

K. Weinberger et al., Feature Hashing for Large Scale Multitask Learning, ICML 2009: one hash of a
word decides its feature and its sign, so that words that collide cancel on average. The hash is
32-bit MurmurHash3 (A. Appleby, public domain), as in scikit-learn's `FeatureHasher`.
"""

from __future__ import annotations

MASK = 0xFFFFFFFF
C1, C2 = 0xCC9E2D51, 0x1B873593


def hash_bytes(data: bytes) -> int:
    """Return the 32-bit MurmurHash3 of bytes with seed 0, as an unsigned integer.

    >>> hash_bytes(b""), hash_bytes(b"hello")
    (0, 613153351)
    """
    result = 0
    end = len(data) & ~3
    for offset in range(0, end, 4):
        result ^= _mix(int.from_bytes(data[offset : offset + 4], "little"))
        result = (_rotate(result, 13) * 5 + 0xE6546B64) & MASK
    if end < len(data):
        result ^= _mix(int.from_bytes(data[end:], "little"))
    result ^= len(data)
    result = ((result ^ result >> 16) * 0x85EBCA6B) & MASK
    result = ((result ^ result >> 13) * 0xC2B2AE35) & MASK
    return result ^ result >> 16


def hash_word(word: str, buckets: int) -> tuple[int, float]:
    """Return the bucket of a word, 0 … `buckets` - 1, and its sign, 1.0 or -1.0.

    >>> hash_word("N14228", 16), hash_word("K", 16)
    ((4, 1.0), (6, -1.0))
    """
    number = hash_bytes(word.encode())
    signed = number - (1 << 32) if number >> 31 else number
    return abs(signed) % buckets, -1.0 if signed < 0 else 1.0


def _mix(block: int) -> int:
    return _rotate(block * C1 & MASK, 15) * C2 & MASK


def _rotate(number: int, bits: int) -> int:
    return (number << bits | number >> 32 - bits) & MASK
