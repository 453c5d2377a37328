"""Monotonic splines of rational quadratic functions, and their inverses.

Sources: C. Durkan et al., "Neural spline flows", arXiv:1906.04032 (2019), section 3.1 and appendix
A.1, with the identity outside of the bounds.
"""

from __future__ import annotations

import math
from typing import Any

from webnnm.core.shapes import show
from webnnm.ops.declare import checks
from webnnm.ops.declare.composite import declare_composite
from webnnm.ops.declare.operator import sample
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor

LEAST = 1e-3
"""The least width and height of a bin, as shares of the range, and the least slope."""


@declare_composite(
    "rationalSpline",
    summary="a monotonic function with bins of given widths, heights and slopes at their borders",
    ranks={"x": (1, None), **dict.fromkeys(("widths", "heights", "slopes"), (2, None))},
    checks={"bound": checks.positive},
    samples=(
        sample((3,), (3, 4), (3, 4), (3, 3), bound=2.0, kinks=(-2.0, 2.0)),
        sample((2, 2), (2, 2, 3), (2, 2, 3), (2, 2, 2), bound=3.0, inverse=True),
    ),
)
def rational_spline(
    b: Builder,
    x: Tensor,
    widths: Tensor,
    heights: Tensor,
    slopes: Tensor,
    *,
    bound: float = 5.0,
    inverse: bool = False,
) -> Any:
    """Map each number of `x […]` from −bound to bound to that range; others stay as they are.

    `widths` and `heights […, bins]` become shares by a softmax, `slopes […, bins − 1]`, those at
    the borders between bins, positive by a softplus; at both ends the slope is 1.
    """
    bins = widths.shape[-1]
    if heights.shape != widths.shape or slopes.shape != (*widths.shape[:-1], bins - 1):
        message = f"widths {show(widths.shape)}, heights {show(heights.shape)}, slopes "
        raise OperatorError("NNM401", message + show(slopes.shape))
    if widths.shape[:-1] != x.shape:
        raise OperatorError("NNM401", f"x {show(x.shape)}, widths {show(widths.shape)}")
    if bins * LEAST >= 1:
        raise OperatorError("NNM303", f"{bins} bins", f"at most {math.ceil(1 / LEAST) - 1}")
    left, right = _borders(b, widths, bound)
    low, high = _borders(b, heights, bound)
    ends = b.expand(b.constant(1 - LEAST, x.dtype), new_shape=(*x.shape, 1))
    inner = b.concat([ends, b.softplus(slopes), ends], axis=x.rank) + LEAST
    wide: Any = b.clamp(x, min_value=-bound, max_value=bound)
    column: Any = b.reshape(wide, new_shape=(*x.shape, 1))
    chosen = _mark_bin(b, column, low if inverse else left)

    def choose(numbers: Any) -> Any:
        return b.reduce_sum(numbers * chosen, axes=[x.rank])

    start, width = choose(left), choose(right - left)
    bottom, height = choose(low), choose(high - low)
    first, last = choose(_cut(b, inner, 0, bins)), choose(_cut(b, inner, 1, bins))
    slope = height / width
    bend = first + last - slope * 2.0
    if inverse:
        above = wide - bottom
        square = height * (slope - first) + above * bend
        linear = height * first - above * bend
        constant = slope * above * -1.0
        root = b.sqrt(b.relu(linear * linear - square * constant * 4.0))
        result = constant * -2.0 / (linear + root) * width + start
    else:
        share = (wide - start) / width
        product = share * (1.0 - share)
        rise = height * (slope * share * share + first * product)
        result = bottom + rise / (slope + bend * product)
    is_inside = b.logical_and(b.greater_or_equal(x, -bound), b.lesser_or_equal(x, bound))
    return b.where(is_inside, result, x)


def _borders(b: Builder, sizes: Tensor, bound: float) -> tuple[Any, Any]:
    """Return the lower and the upper borders of bins, `[…, bins]`, from −bound to bound."""
    *lead, bins = sizes.shape
    axis = sizes.rank - 1
    shares: Any = b.softmax(sizes, axis=axis)
    ends: Any = b.cumulative_sum(shares * (1 - LEAST * bins) + LEAST, axis=axis)
    between = _cut(b, ends, 0, bins - 1) * (2 * bound) - bound
    first, last = (
        b.expand(b.constant(end, sizes.dtype), new_shape=(*lead, 1)) for end in (-bound, bound)
    )
    return b.concat([first, between], axis=axis), b.concat([between, last], axis=axis)


def _mark_bin(b: Builder, x: Any, lower: Any) -> Any:
    """Return 1 for the bin in which a number is, 0 for all others; the last one has both ends."""
    is_above = b.cast(b.greater_or_equal(x, lower), type=lower.dtype)
    *lead, bins = lower.shape
    after = _cut(b, is_above, 1, bins - 1)
    zeros = b.expand(b.constant(0, lower.dtype), new_shape=(*lead, 1))
    return is_above - b.concat([after, zeros], axis=lower.rank - 1)


def _cut(b: Builder, x: Tensor, start: int, size: int) -> Any:
    """Return some numbers of the last axis."""
    *lead, _ = x.shape
    return b.slice(x, starts=(*(0 for _ in lead), start), sizes=(*lead, size))
