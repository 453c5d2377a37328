"""Gradient clipping: by the norm over all parameters, or unit by unit (spec E.6)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from webnnm.graph.builder import GraphBuilder
from webnnm.graph.node import Operand

CLIP_STATE = ("clip/mean", "clip/deviation", "clip/count")
"""The statistics of global clipping: mean norm, mean distance from it, batches seen."""

EARLY_BATCHES, EARLY_WIDTH, WIDTH = 15, 4.0, 2.0
"""The threshold is `EARLY_WIDTH` deviations above the mean at first, later `WIDTH`."""

SMALLEST_NORM = 1e-3
"""Units with a smaller norm are clipped as if they had this one (Brock et al. 2021)."""


def global_norm(b: GraphBuilder, gradients: Sequence[Operand]) -> Operand:
    """Return G = √ΣΣ g² over all gradients.

    G is infinite for gradients from 1.8e19, whose squares overflow float32; training with such
    gradients has failed anyway, and scaling them first would cost every step a pass over them.
    """
    squares = [b.reduce_sum_square(g, axes=range(g.rank)) if g.rank else g * g for g in gradients]
    total = squares[0]
    for square in squares[1:]:
        total = total + square
    return b.sqrt(total)


@dataclass(frozen=True)
class Clipped:
    """The result of global clipping: the factor for all gradients, and the next statistics.

    `clipped` is 1 if the norm was above `threshold`, else 0.
    """

    factor: Operand
    threshold: Operand
    clipped: Operand
    state: dict[str, Operand]


def clip_globally(
    b: GraphBuilder, norm: Operand, state: Mapping[str, Operand], alpha: float, epsilon: float
) -> Clipped:
    """Return the factor that reduces a norm G to τ = μ' + kσ', with rolling μ' and σ'.

    μ' = αμ + (1−α)G and σ' = ασ + (1−α)|G − μ'|. If G is above τ, both are recomputed
    from τ. The first batch sets μ = G and is not clipped.
    """
    mean, deviation, seen = (state[name] for name in CLIP_STATE)

    def rolled(value: Operand) -> tuple[Operand, Operand]:
        moved = mean * alpha + value * (1 - alpha)
        return moved, deviation * alpha + b.abs(value - moved) * (1 - alpha)

    early = b.lesser(seen, b.constant(EARLY_BATCHES - 0.5, "float32"))
    moved, spread = rolled(norm)
    width = b.where(early, b.constant(EARLY_WIDTH, "float32"), b.constant(WIDTH, "float32"))
    threshold = moved + width * spread
    first = b.lesser(seen, b.constant(0.5, "float32"))
    above = b.logical_and(b.greater(norm, threshold), b.logical_not(first))
    moved, spread = rolled(b.where(above, threshold, norm))
    one = b.constant(1, "float32")
    return Clipped(
        factor=b.where(above, threshold / (norm + epsilon), one),
        threshold=b.where(first, norm, threshold),
        clipped=b.cast(above, type="float32"),
        state={
            CLIP_STATE[0]: b.where(first, norm, moved),
            CLIP_STATE[1]: b.where(first, b.constant(0, "float32"), spread),
            CLIP_STATE[2]: seen + 1,
        },
    )


def clip_units(
    b: GraphBuilder, w: Operand, g: Operand, units: Collection[int], share: float
) -> tuple[Operand, Operand]:
    """Return the gradient clipped to a norm of λ·max(‖w‖, 1e-3) per unit, and the clipped count.

    `units` are the dimensions of `w` that count the units; without any, the tensor is one unit;
    `share` is λ. Adaptive gradient clipping, Brock et al. 2021.
    """
    axes = [axis for axis in range(w.rank) if axis not in units]

    def norms(x: Operand) -> Operand:
        return b.reduce_l2(x, axes=axes, keep_dimensions=True) if axes else b.abs(x)

    floor = b.constant(SMALLEST_NORM, "float32")
    limit = b.max(norms(w), floor) * share
    size = norms(g)
    above = b.greater(size, limit)
    factor = b.where(above, limit / b.max(size, limit), b.constant(1, "float32"))
    counted = b.cast(above, type="float32")
    return g * factor, b.reduce_sum(counted) if counted.rank else counted
