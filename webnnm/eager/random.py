"""Random numbers with keys: the same key gives the same numbers, on every backend.

>>> from webnnm import random
>>> key = random.key(0)
>>> first, second = random.split(key)
>>> random.uniform(first, (2,)).shape
(2,)

A key is an array of four integers. The numbers that it gives are counters, enciphered with the key
(`webnnm/ops/random_pairs.py`). Fit for simulation and training, not for secrets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from webnnm.core.random import Stream
from webnnm.core.shapes import count
from webnnm.eager.array import Array, check, empty, record, reshape_to
from webnnm.eager.creation import arange, asarray, shape_of
from webnnm.eager.dtypes import DType, dtype_of, float32, int32, is_kind
from webnnm.eager.elementwise import cos, log, sqrt
from webnnm.eager.errors import ArrayValueError
from webnnm.eager.manipulation import unstack
from webnnm.eager.searching import argmax, argsort
from webnnm.eager.types import astype
from webnnm.ops.random_pairs import PRIME, WORDS

_STEPS = PRIME * 362
"""How many numbers in [0, 1) there are: below 2²⁴, so that float32 holds each exactly."""
_KEYS = 7
"""The purpose under which seeds are stretched, see `core.random.Purpose`."""


def key(seed: int) -> Array:
    """Return the key for a seed.

    >>> from webnnm import random
    >>> random.key(1).shape
    (4,)
    """
    data = Stream(seed, _KEYS, "arrays").bytes(4 * WORDS)
    chunks = [data[4 * at : 4 * at + 4] for at in range(WORDS)]
    return asarray([int.from_bytes(chunk, "little") % PRIME for chunk in chunks], dtype=int32)


def split(key: Array, num: int = 2) -> Array:
    """Return new keys, stacked; do not use the old one again.

    >>> from webnnm import random
    >>> a, b, c = random.split(random.key(0), 3)
    """
    _check(key)
    return record(lambda b, k: _keys(b, k, b.constant([*range(num)], "int32")), key)


def fold_in(key: Array, data: int | Array) -> Array:
    """Return a new key for a number, such as a step or an index: `split` without a count."""
    _check(key)
    number = data if isinstance(data, Array) else asarray(data, dtype=int32)
    check("fold_in", number, "integral")
    # Negative numbers are counters like others: those above the positive ones.
    counter = reshape_to(astype(number, int32), (1,)) & (2**31 - 1)
    return reshape_to(record(_keys, key, counter), (WORDS,))


def _check(key: Array) -> None:
    check("random numbers", key, "integral")
    if key.shape != (WORDS,):
        raise ArrayValueError(
            f"a key is an array of {WORDS} integers, not of shape {list(key.shape)}",
            "`random.key(seed)` makes one; loop over the keys of `split` or use `vmap`",
        )


def _keys(b: Any, key: Any, counters: Any) -> Any:
    """Return the keys for some numbers: two pairs are enciphered for each."""
    size = counters.shape[0]
    # Above the counters of `bits`, so that no key repeats what was drawn.
    low, high = (b.random_pairs(key, counters, side=side) for side in (1, 2))
    parts = [b.reshape(part, new_shape=(size, 1)) for part in (*low, *high)]
    return b.concat(parts, 1)


def bits(key: Array, shape: int | Sequence[int] = ()) -> Array:
    """Return uniformly distributed integers from 0 up to but excluding 46337² ≈ 2³¹."""
    _check(key)
    return _draw(key, shape, int32, lambda _, left, right: left * PRIME + right)


def _draw(
    keys: Array,
    shape: int | Sequence[int],
    dtype: DType,
    combine: Callable[[Any, Any, Any], Any],
) -> Array:
    """Return what `combined(builder, left, right)` makes of a pair of integers per element.

    Several keys, stacked, give an array each, stacked as well.
    """
    lead = keys.shape[:-1]
    sizes = (*lead, *shape_of(shape))
    number = count(sizes[len(lead) :])
    if not number:
        return empty(sizes, dtype, keys)

    def build(b: Any, k: Any, places: Any) -> Any:
        places = b.reshape(places, new_shape=(*(1 for _ in lead), number))
        return b.reshape(combine(b, *b.random_pairs(k, places)), new_shape=sizes)

    return record(build, keys, arange(number, dtype=int32, device=keys.device), dtype=dtype)


def uniform(
    key: Array,
    shape: int | Sequence[int] = (),
    *,
    dtype: DType = float32,
    minval: float | Array = 0.0,
    maxval: float | Array = 1.0,
) -> Array:
    """Return uniformly distributed numbers in the interval [`minval`, `maxval`).

    >>> from webnnm import random, xp
    >>> x = random.uniform(random.key(0), (1000,), minval=2.0, maxval=4.0)
    >>> bool(xp.all((x >= 2) & (x < 4)))
    True
    """
    _check(key)
    dtype = _float(dtype)
    share = _draw(key, shape, float32, _share)
    return astype(share, dtype, copy=False) * (maxval - minval) + minval


def _share(b: Any, left: Any, right: Any) -> Any:
    fine = b.div(right * 362, PRIME)
    return b.cast(left * 362 + fine, type="float32") * (1 / _STEPS)


def _float(dtype: DType) -> DType:
    resolved = dtype_of(dtype)
    if not is_kind(resolved, "real floating"):
        raise ArrayValueError(f"random numbers of {resolved}", "use `randint` for integers")
    return resolved


def normal(key: Array, shape: int | Sequence[int] = (), *, dtype: DType = float32) -> Array:
    """Return normally distributed numbers with mean 0 and standard deviation 1.

    Uses the transform of G. E. P. Box and M. E. Muller, "A Note on the Generation of Random Normal
    Deviates", Annals of Mathematical Statistics 29 (1958).
    """
    dtype = _float(dtype)
    radius, angle = unstack(_draw(split(key), shape, float32, _share))
    values = sqrt(-2.0 * log(1.0 - radius)) * cos((2 * math.pi) * angle)
    return astype(values, dtype, copy=False)


def randint(key: Array, shape: int | Sequence[int], minval: int, maxval: int) -> Array:
    """Return uniformly distributed integers from `minval` up to but excluding `maxval`.

    Raises `ArrayValueError` for ranges that are empty or larger than 2²⁴, whose ends would be
    noticeably less frequent.
    """
    if not 0 < maxval - minval <= 2**24:
        raise ArrayValueError(f"integers from {minval} to before {maxval}: ranges are 1 … 2²⁴")
    return bits(key, shape) % (maxval - minval) + minval


def bernoulli(key: Array, p: float | Array = 0.5, shape: int | Sequence[int] = ()) -> Array:
    """Return booleans that are true with probability `p`."""
    return uniform(key, shape) < p


def permutation(key: Array, x: int | Array) -> Array:
    """Return the rows of an array, or the integers below a number, in a random order."""
    number = x if isinstance(x, int) else x.shape[0]
    order = argsort(bits(key, (number,)))
    return order if isinstance(x, int) else x[order]


def categorical(key: Array, logits: Array, *, axis: int = -1) -> Array:
    """Return classes drawn from log probabilities (logits) along a dimension.

    Adds Gumbel noise and takes the largest (E. J. Gumbel, "Statistical Theory of Extreme
    Values and Some Practical Applications", 1954).
    """
    noise = -log(-log(1.0 - uniform(key, logits.shape)))
    return argmax(logits + noise, axis=axis)


__all__ = (
    "bernoulli",
    "bits",
    "categorical",
    "fold_in",
    "key",
    "normal",
    "permutation",
    "randint",
    "split",
    "uniform",
)


def __dir__() -> list[str]:
    return [*__all__]
