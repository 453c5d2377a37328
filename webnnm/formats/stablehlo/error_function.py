"""The Gauss error function by polynomials, for readers without CHLO."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

NEAR = (1.12837916, -0.376126061, 0.112834308, -0.0268486111, 0.00517977982,
        -0.000794258307, 7.64778017e-05)  # fmt: skip
"""erf(x)/x for |x| < 1 in powers of x², a minimax fit with an error of 4e-9."""

FAR = (-1.24888878, 0.870573128, 0.745850866, -0.34434038, -0.0257996516)
"""ln(erfc(x)/t) + x² for x ≥ 1 in powers of t = 2/(2 + x), fitted in the same way."""


def error_function(h: Any, x: Any) -> Any:
    """Return erf x with an error below 1e-8, to which the rounding of the data type adds.

    `h` is the emitter that lowerings get.
    """
    wide = h.wide(x)
    size = h.abs(wide)
    square = h.multiply(size, size)
    near = h.multiply(wide, _polynomial(h, NEAR, h.minimum(square, 1)))
    t = h.divide(2.0, h.add(size, 2.0))
    rest = h.exponential(h.subtract(_polynomial(h, FAR, t), square))
    far = h.multiply(h.sign(wide), h.subtract(1.0, h.multiply(t, rest)))
    return h.convert(h.select(h.compare("LT", size, 1), near, far), x.dtype)


def _polynomial(h: Any, coefficients: Sequence[float], x: Any) -> Any:
    """Return a polynomial by Horner's scheme."""
    *rest, total = coefficients
    for coefficient in reversed(rest):
        total = h.add(h.multiply(x, total), coefficient)
    return total
