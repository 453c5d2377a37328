"""A bias of attention that depends on the distance of two tokens, in buckets.

Source: C. Raffel et al., "Exploring the limits of transfer learning with a unified text-to-text
transformer", arXiv:1910.10683 (2019), section 2.1.
"""

from __future__ import annotations

import math
import struct
from array import array
from functools import lru_cache
from typing import Any

from webnnm.core.shapes import show
from webnnm.ops.declare import checks
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor

MAX_DISTANCE = 128
"""Tokens farther apart share a bucket, unless another distance is given."""


def relative_bias(
    b: Builder, table: Tensor, heads: int, length: int, tokens: int, causal: bool, max_distance: int
) -> Any:
    """Return `[heads, queries, keys]` of a table `[buckets, heads]`; both end at the same token.

    If attention is causal, all buckets are for earlier keys, else the second half is for later
    ones.
    """
    _check(table, heads, causal, max_distance)
    checks.check_amount(length * tokens, f"{length} queries and {tokens} keys")
    start, buckets = tokens - length if causal else 0, table.shape[0]
    places = array(
        "i",
        [
            _bucket(key - query, buckets, causal, max_distance)
            for query in range(start, start + length)
            for key in range(tokens)
        ],
    )
    indices = b.constant(places, "int32", (length, tokens))
    return b.transpose(b.gather(table, indices, axis=0), permutation=(2, 0, 1))


def relative_bias_at(
    b: Builder, table: Tensor, heads: int, positions: Tensor, length: int, max_distance: int
) -> Any:
    """Return `[batch, heads, queries, keys]` for causal queries at positions `[batch, queries]`.

    Keys are at the positions from 0 to `length` - 1.
    """
    _check(table, heads, True, max_distance)
    batch, tokens = positions.shape
    far = array(
        "i", [_bucket(-distance, table.shape[0], True, max_distance) for distance in range(length)]
    )
    keys = b.constant([*range(length)], "int32", [1, 1, length])
    distance = b.reshape(positions, new_shape=(batch, tokens, 1)) - keys
    distance = b.max(distance, b.constant(0, "int32"))  # later keys are masked
    indices = b.gather(b.constant(far, "int32", [length]), distance, axis=0)
    return b.transpose(b.gather(table, indices, axis=0), permutation=(0, 3, 1, 2))


def _check(table: Tensor, heads: int, causal: bool, max_distance: int) -> None:
    buckets, columns = table.shape
    least = 2 if causal else 4
    if columns != heads or buckets < least or (buckets % 2 and not causal):
        expected = f"[{least} or more, {heads}]" if causal else f"[an even number from 4, {heads}]"
        raise OperatorError(
            "NNM404", f"the table of distances is {show(table.shape)}, not {expected}"
        )
    if max_distance <= buckets // least:
        message = f"{buckets} buckets for distances up to {max_distance}"
        raise OperatorError("NNM303", message, f"set maxDistance= above {buckets // least}")


@lru_cache(maxsize=1 << 14)
def _bucket(offset: int, buckets: int, causal: bool, max_distance: int) -> int:
    """Return the bucket of a key that many tokens after a query: exact at first, then by ratio."""
    first = 0
    if causal:
        distance = max(-offset, 0)
    else:
        buckets //= 2
        first, distance = buckets * (offset > 0), abs(offset)
    exact = buckets // 2
    if distance < exact:
        return first + distance
    # In float32, as it was trained: at some distances the last bit decides.
    ratio = round_to_float32(math.log(round_to_float32(distance / exact)))
    share = round_to_float32(
        round_to_float32(ratio / math.log(max_distance / exact)) * (buckets - exact)
    )
    return first + min(exact + int(share), buckets - 1)


def round_to_float32(number: float) -> float:
    """Return the nearest number that float32 has."""
    return struct.unpack("f", struct.pack("f", number))[0]
