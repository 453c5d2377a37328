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

MIN_NORM = 1e-3
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
class GlobalClipping:
    """The result of global clipping: the factor for all gradients, and the next statistics.

    `clipped` is 1 if the norm was above `threshold`, else 0.
    """

    factor: Operand
    threshold: Operand
    clipped: Operand
    state: dict[str, Operand]


def clip_globally(
    b: GraphBuilder, norm: Operand, state: Mapping[str, Operand], alpha: float, epsilon: float
) -> GlobalClipping:
    """Return the factor that reduces a norm G to τ = μ' + kσ', with rolling μ' and σ'.

    μ' = αμ + (1−α)G and σ' = ασ + (1−α)|G − μ'|. If G is above τ, both are recomputed
    from τ. The first batch sets μ = G and is not clipped.
    """
    mean, deviation, batches = (state[name] for name in CLIP_STATE)

    def update_statistics(value: Operand) -> tuple[Operand, Operand]:
        new_mean = mean * alpha + value * (1 - alpha)
        return new_mean, deviation * alpha + b.abs(value - new_mean) * (1 - alpha)

    is_early = b.lesser(batches, b.constant(EARLY_BATCHES - 0.5, "float32"))
    new_mean, new_deviation = update_statistics(norm)
    width = b.where(is_early, b.constant(EARLY_WIDTH, "float32"), b.constant(WIDTH, "float32"))
    threshold = new_mean + width * new_deviation
    is_first = b.lesser(batches, b.constant(0.5, "float32"))
    is_above = b.logical_and(b.greater(norm, threshold), b.logical_not(is_first))
    new_mean, new_deviation = update_statistics(b.where(is_above, threshold, norm))
    one = b.constant(1, "float32")
    return GlobalClipping(
        factor=b.where(is_above, threshold / (norm + epsilon), one),
        threshold=b.where(is_first, norm, threshold),
        clipped=b.cast(is_above, type="float32"),
        state={
            CLIP_STATE[0]: b.where(is_first, norm, new_mean),
            CLIP_STATE[1]: b.where(is_first, b.constant(0, "float32"), new_deviation),
            CLIP_STATE[2]: batches + 1,
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

    floor = b.constant(MIN_NORM, "float32")
    limit = b.max(norms(w), floor) * share
    norm = norms(g)
    is_above = b.greater(norm, limit)
    factor = b.where(is_above, limit / b.max(norm, limit), b.constant(1, "float32"))
    clipped = b.cast(is_above, type="float32")
    return g * factor, b.reduce_sum(clipped) if clipped.rank else clipped
