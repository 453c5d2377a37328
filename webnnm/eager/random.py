"""Random numbers with keys: the same key gives the same numbers, on every backend.

>>> from webnnm import random
>>> key = random.key(0)
>>> first, second = random.split(key)
>>> random.uniform(first, (2,)).shape
(2,)

A key is an array of four integers. The numbers that it gives are counters, enciphered with the key:
a Feistel network (H. Feistel, "Cryptography and Computer Privacy", Scientific American 228, 1973)
on pairs of integers modulo the prime 46337, whose round function is the cube, a permutation there.
All products stay below 2³¹, so that int32 holds them everywhere. Fit for simulation and training,
not for secrets.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from webnnm.core.random import Stream
from webnnm.core.shapes import count
from webnnm.eager.array import Array, check, empty, recorded, reshaped
from webnnm.eager.creation import arange, asarray
from webnnm.eager.dtypes import DType, dtype_of, float32, int32, is_kind
from webnnm.eager.elementwise import cos, log, sqrt
from webnnm.eager.errors import ArrayValueError
from webnnm.eager.searching import argmax, argsort
from webnnm.eager.types import astype

PRIME = 46337
"""The largest prime whose square is below 2³¹; 3 does not divide PRIME − 1."""
ROUNDS = 8
WORDS = 4
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
    words = [data[4 * at : 4 * at + 4] for at in range(WORDS)]
    return asarray([int.from_bytes(word, "little") % PRIME for word in words], dtype=int32)


def split(key: Array, num: int = 2) -> Array:
    """Return new keys, stacked; do not use the old one again.

    >>> from webnnm import random
    >>> a, b, c = random.split(random.key(0), 3)
    """
    _check(key)
    return recorded(lambda b, k: _keys(b, k, b.constant([*range(num)], "int32")), key)


def fold_in(key: Array, data: int | Array) -> Array:
    """Return a new key for a number, such as a step or an index: `split` without a count."""
    _check(key)
    number = data if isinstance(data, Array) else asarray(data, dtype=int32)
    check("fold_in", number, "integral")
    place = reshaped(astype(number, int32), (1,))
    return reshaped(recorded(_keys, key, place), (WORDS,))


def _check(key: Array) -> None:
    check("random numbers", key, "integral")
    if key.shape != (WORDS,):
        raise ArrayValueError(
            f"a key is an array of {WORDS} integers, not of shape {list(key.shape)}",
            "`random.key(seed)` makes one; loop over the keys of `split` or use `vmap`",
        )


def _keys(b: Any, key: Any, places: Any) -> Any:
    """Return the keys for some numbers: two pairs are enciphered for each."""
    size = places.shape[0]
    # Above the counters of `_pairs`, so that no key repeats what was drawn.
    low, high = (_pairs(b, key, places, side) for side in (1, 2))
    words = [b.reshape(word, new_shape=(size, 1)) for word in (*low, *high)]
    return b.concat(words, 1)


def _pairs(b: Any, key: Any, counters: Any, side: int = 0) -> tuple[Any, Any]:
    """Return two integers below PRIME for each counter, by key and side."""
    words = [b.slice(key, starts=[at], sizes=[1]) for at in range(WORDS)]
    high = b.div(counters, b.constant(PRIME, "int32"))
    left = _modulo(b, counters - high * PRIME + words[2])
    right = _modulo(b, _modulo(b, high + words[3]) + side * 15_485)
    for at in range(ROUNDS):
        inner = _modulo(b, left + words[at % 2] + (7919 * at * at + 104 * at + 1))
        cube = _modulo(b, _modulo(b, inner * inner) * inner)
        left, right = _modulo(b, right + cube), left
    return left, right


def _modulo(b: Any, x: Any) -> Any:
    """Return the rest of integers from 0 on."""
    return x - b.div(x, b.constant(PRIME, "int32")) * PRIME


def bits(key: Array, shape: int | Sequence[int] = ()) -> Array:
    """Return uniformly distributed integers from 0 up to but excluding 46337² ≈ 2³¹."""
    _check(key)
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    number = count(sizes)
    if not number:
        return empty(sizes, int32, key)

    def build(b: Any, k: Any, places: Any) -> Any:
        left, right = _pairs(b, k, places)
        return b.reshape(left * PRIME + right, new_shape=sizes)

    return recorded(build, key, arange(number, dtype=int32, device=key.device))


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
    found = bits(key, shape)
    dtype = _float(dtype)
    if not found.size:
        return empty(found.shape, dtype, key)

    def build(b: Any, x: Any) -> Any:
        left = b.div(x, b.constant(PRIME, "int32"))
        fine = b.div((x - left * PRIME) * 362, b.constant(PRIME, "int32"))
        return b.cast(left * 362 + fine, type="float32") * (1 / _STEPS)

    share = astype(recorded(build, found, dtype=float32), dtype)
    return share * (maxval - minval) + minval


def _float(dtype: DType) -> DType:
    found = dtype_of(dtype)
    if not is_kind(found, "real floating"):
        raise ArrayValueError(f"random numbers of {found}", "use `randint` for integers")
    return found


def normal(key: Array, shape: int | Sequence[int] = (), *, dtype: DType = float32) -> Array:
    """Return normally distributed numbers with mean 0 and standard deviation 1.

    Uses the transform of G. E. P. Box and M. E. Muller, "A Note on the Generation of Random Normal
    Deviates", Annals of Mathematical Statistics 29 (1958).
    """
    radius, angle = split(key)
    far = sqrt(-2.0 * log(1.0 - uniform(radius, shape)))
    return astype(far * cos((2 * math.pi) * uniform(angle, shape)), _float(dtype))


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
