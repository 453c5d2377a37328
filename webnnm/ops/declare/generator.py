"""Random numbers drawn inside a graph: the generator of Wichmann and Hill (spec C.1, dropout).

Source: B. A. Wichmann, I. D. Hill, "An efficient and portable pseudo-random number generator",
Applied Statistics 31 (1982). Every element of a tensor owns a generator of three integers, kept as
float32: all products stay below 2²⁴, so that every backend draws the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webnnm.ops.declare.tensors import Builder, Tensor

MODULI = (30269, 30307, 30323)
MULTIPLIERS = (171, 172, 170)


def advance(b: Builder, states: Sequence[Tensor]) -> tuple[list[Any], Any]:
    """Return the next states, and a uniform number in [0, 1) from the three of each element."""
    following: list[Any] = []
    total: Any = None
    for state, multiplier, modulus in zip(states, MULTIPLIERS, MODULI, strict=True):
        product = state * float(multiplier)
        following.append(_remainder(b, product, float(modulus)))
        share = following[-1] / float(modulus)
        total = share if total is None else total + share
    return following, total - b.floor(total)


def skip_numbers(b: Builder, state: Tensor, index: int, count: int) -> Any:
    """Return a state, the one at `index` of the three, after `count` numbers: x·aᶜ mod m.

    The power is split in two, so that these products stay below 2²⁴ as well.
    """
    modulus = float(MODULI[index])
    high, low = divmod(pow(MULTIPLIERS[index], count, MODULI[index]), 128)
    high_part = _remainder(b, state * float(high), modulus)
    return _remainder(b, high_part * 128.0 + state * float(low), modulus)


def _remainder(b: Builder, product: Tensor, modulus: float) -> Any:
    # The quotient may be off by one where a backend divides inexactly; the rest is exact. The half
    # keeps the quotient of a remainder, which is −1, 0 or 1 and a fraction, away from integers.
    rest = product - modulus * b.floor(product / modulus)
    return rest - modulus * b.floor((rest + 0.5) / modulus)
