"""A bias of causal attention that grows with the distance of two tokens, at a slope per head.

Source: O. Press et al., "Train short, test long: Attention with linear biases enables input length
extrapolation", arXiv:2108.12409 (2022).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor


def default_slopes(heads: int) -> tuple[float, ...]:
    """Return the slopes of the heads: a geometric sequence that ends at 2^−8.

    >>> default_slopes(4)
    (0.25, 0.0625, 0.015625, 0.00390625)

    If their number is not a power of two, those of every other head of twice as many follow.
    """
    power = 1 << int(math.log2(heads))
    slopes = [2.0 ** (-8 * n / power) for n in range(1, power + 1)]
    between = [2.0 ** (-4 * n / power) for n in range(1, 2 * power, 2)]
    return (*slopes, *between[: heads - power])


def require_slopes(slopes: Sequence[float], heads: int) -> None:
    """Raise NNM406 unless there is a slope for each head."""
    if len(slopes) != heads:
        raise OperatorError("NNM406", f"{len(slopes)} slopes for {heads} heads")


def linear_bias(b: Builder, slopes: Sequence[float], positions: Tensor | None, tokens: int) -> Any:
    """Return `[…, heads, 1, keys]`: the slope of each head times the position of each key.

    It differs from the distance to a query by the same number for all keys, which softmax ignores.
    Keys without `positions […, 1, keys]` count from the last one, which is at 0.
    """
    if positions is None:
        places: Any = b.constant([*range(1 - tokens, 1)], "float32", [1, 1, tokens])
    else:
        *lead, _, keys = positions.shape
        places = b.reshape(b.cast(positions, type="float32"), new_shape=(*lead, 1, 1, keys))
    return places * _column(b, slopes)


def linear_bias_at(b: Builder, slopes: Sequence[float], positions: Tensor, length: int) -> Any:
    """Return `[batch, heads, queries, keys]` for queries at positions `[batch, queries]`.

    Keys are at the positions from 0 to `length` - 1.
    """
    batch, tokens = positions.shape
    keys: Any = b.constant([*range(length)], "int32", [1, 1, 1, length])
    distances = keys - b.reshape(positions, new_shape=(batch, 1, tokens, 1))
    return b.cast(distances, type="float32") * _column(b, slopes)


def _column(b: Builder, slopes: Sequence[float]) -> Any:
    return b.constant([*slopes], "float32", [len(slopes), 1, 1])
