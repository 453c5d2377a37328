"""A bias of attention that depends on how far two tokens are apart, by buckets of distances.

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
"""Tokens that are farther apart share a bucket, unless another distance is given."""


def relative_bias(
    b: Builder, table: Tensor, heads: int, length: int, tokens: int, causal: bool, most: int
) -> Any:
    """Return `[heads, queries, keys]` of a table `[buckets, heads]`; the last of both stand alike.

    Where attention is causal all buckets are of earlier keys, else the second half is of later
    ones.
    """
    buckets, columns = table.shape
    least = 2 if causal else 4
    if columns != heads or buckets < least or (buckets % 2 and not causal):
        wanted = f"[{least} or more, {heads}]" if causal else f"[an even number from 4, {heads}]"
        raise OperatorError(
            "NNM404", f"the table of distances is {show(table.shape)}, not {wanted}"
        )
    if most <= buckets // least:
        message = f"{buckets} buckets for distances up to {most}"
        raise OperatorError("NNM303", message, f"maxDistance= is above {buckets // least}")
    checks.few_enough(length * tokens, f"{length} queries and {tokens} keys")
    start = tokens - length if causal else 0
    places = array(
        "i",
        [
            _bucket(key - query, buckets, causal, most)
            for query in range(start, start + length)
            for key in range(tokens)
        ],
    )
    indices = b.constant(places, "int32", (length, tokens))
    return b.transpose(b.gather(table, indices, axis=0), permutation=(2, 0, 1))


@lru_cache(maxsize=1 << 14)
def _bucket(apart: int, buckets: int, causal: bool, most: int) -> int:
    """Return the bucket of a key so many tokens behind a query: first one by one, then by ratio."""
    first = 0
    if causal:
        distance = max(-apart, 0)
    else:
        buckets //= 2
        first, distance = buckets * (apart > 0), abs(apart)
    exact = buckets // 2
    if distance < exact:
        return first + distance
    # In float32, as it was trained: at some distances the last bit decides.
    ratio = _rounded(math.log(_rounded(distance / exact)))
    share = _rounded(_rounded(ratio / math.log(most / exact)) * (buckets - exact))
    return first + min(exact + int(share), buckets - 1)


def _rounded(number: float) -> float:
    return struct.unpack("f", struct.pack("f", number))[0]
