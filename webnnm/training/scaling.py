"""Dynamic gradient scaling, which keeps small float16 gradients from underflowing (spec E.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Operand

SCALE, CLEAN, STREAK = "scale/value", "scale/clean", "scale/streak"
SCALE_STATE = (SCALE, CLEAN, STREAK)
"""S, the clean batches since it last changed, the consecutive overflows."""

MAX_SCALE = 2.0**24
MAX_OVERFLOWS = 50
"""This many consecutive overflows end a training (NNM708)."""


def all_finite(b: GraphBuilder, gradients: Sequence[Operand]) -> Operand:
    """Return whether every element is finite, as a uint8 scalar: Σ|g|·0 is 0 then."""
    total = b.constant(0, "float32")
    for g in gradients:
        total = total + (b.reduce_l1(g, axes=range(g.rank)) if g.rank else b.abs(g)) * 0
    return b.equal(total, b.constant(0, "float32"))


def next_scale(
    b: GraphBuilder, state: Mapping[str, Operand], clean: Operand, growth_interval: int
) -> dict[str, Operand]:
    """Return the next state: S doubles after enough clean batches, an overflow halves it.

    Micikevicius et al. 2018, "Mixed Precision Training", section 3.2. S stays within 1 … 2²⁴.
    Once it has reached `MAX_OVERFLOWS`, the streak keeps counting regardless, so that the host,
    which looks at the end of a call of several steps, can see that it happened and when.
    """
    scale = state[SCALE]
    zero, one = b.constant(0, "float32"), b.constant(1, "float32")
    count = state[CLEAN] + 1
    is_due = b.greater_or_equal(count, b.constant(growth_interval, "float32"))
    next_value = b.where(is_due, b.min(scale * 2, b.constant(MAX_SCALE, "float32")), scale)
    is_short = b.lesser(state[STREAK], b.constant(MAX_OVERFLOWS, "float32"))
    resets = b.logical_and(clean, is_short)
    return {
        SCALE: b.where(clean, next_value, b.max(scale * 0.5, one)),
        CLEAN: b.where(b.logical_and(clean, b.logical_not(is_due)), count, zero),
        STREAK: b.where(resets, zero, state[STREAK] + 1),
    }
