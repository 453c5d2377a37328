"""Normalisation: mean and variance removed along axes."""

from __future__ import annotations

from collections.abc import Sequence

from webnnm.core.shapes import count
from webnnm.formats.onnx.importing.call import Call
from webnnm.formats.onnx.importing.movement import pad_sides
from webnnm.formats.onnx.importing.shaping import as_type, reshape_to, scalar_like
from webnnm.formats.onnx.importing.table import imports
from webnnm.graph.node import Operand


def _per_channel(c: Call, x: Operand, rank: int) -> Operand:
    """Return one number per channel in a shape that broadcasts over [n, c, …]."""
    return reshape_to(c, x, (-1, *(1,) * (rank - 2)))


def standardize(
    c: Call, x: Operand, axes: Sequence[int], epsilon: float
) -> tuple[Operand, Operand, Operand]:
    """Return (x − mean)/√(variance + ε) along axes, the mean, and 1/√(variance + ε)."""
    mean = c.b.reduce_mean(x, axes=axes, keep_dimensions=True)
    centred = x - mean
    variance = c.b.reduce_mean(centred * centred, axes=axes, keep_dimensions=True)
    inverse = c.b.reciprocal(c.b.sqrt(variance + epsilon))
    return centred * inverse, mean, inverse


@imports("BatchNormalization")
def batch_normalization(
    c: Call, x: Operand, scale: Operand, bias: Operand, mean: Operand, variance: Operand
) -> Operand | tuple[Operand, ...]:
    """Normalisation per channel, by given statistics, or in training mode by those of the batch."""
    epsilon = c.number("epsilon", 1e-5)
    if not c.flag("training_mode"):
        if x.rank < 2:
            return (x - mean) / c.b.sqrt(variance + epsilon) * scale + bias
        statistics = [as_type(c, parameter, x.dtype) for parameter in (mean, variance, scale, bias)]
        return c.b.batch_normalization(
            x,
            statistics[0],
            statistics[1],
            scale=statistics[2],
            bias=statistics[3],
            axis=1,
            epsilon=epsilon,
        )
    axes = [k for k in range(x.rank) if k != 1]
    normalized, centre, inverse = standardize(c, x, axes, epsilon)
    momentum = c.number("momentum", 0.9)
    spread = 1 / (inverse * inverse) - epsilon
    centre, spread = (reshape_to(c, parameter, (-1,)) for parameter in (centre, spread))
    result = normalized * _per_channel(c, scale, x.rank) + _per_channel(c, bias, x.rank)
    return (
        result,
        mean * momentum + centre * (1 - momentum),
        variance * momentum + spread * (1 - momentum),
    )


@imports("InstanceNormalization")
def instance_normalization(c: Call, x: Operand, scale: Operand, bias: Operand) -> Operand:
    """Normalisation over the positions of each channel of each sample."""
    epsilon = c.number("epsilon", 1e-5)
    if x.rank == 4:
        return c.b.instance_normalization(x, scale=scale, bias=bias, epsilon=epsilon)
    normalized = standardize(c, x, [*range(2, x.rank)], epsilon)[0]
    return normalized * _per_channel(c, scale, x.rank) + _per_channel(c, bias, x.rank)


@imports("GroupNormalization")
def group_normalization(c: Call, x: Operand, scale: Operand, bias: Operand) -> Operand:
    """Normalisation over groups of channels; before opset 21 scale and bias are per group."""
    groups = c.integer("num_groups")
    split = reshape_to(c, x, (x.shape[0], groups, count(x.shape[1:]) // groups))
    normalized = standardize(c, split, [2], c.number("epsilon", 1e-5))[0]
    if scale.shape != (x.shape[1],):
        shape = (1, groups, 1)
        return reshape_to(
            c, normalized * reshape_to(c, scale, shape) + reshape_to(c, bias, shape), x.shape
        )
    normalized = reshape_to(c, normalized, x.shape)
    return normalized * _per_channel(c, scale, x.rank) + _per_channel(c, bias, x.rank)


@imports("LayerNormalization")
def layer_normalization(
    c: Call, x: Operand, scale: Operand, bias: Operand | None = None
) -> tuple[Operand, ...] | Operand:
    """Normalisation over all axes from one onwards."""
    axes = [*range(c.axis(c.integer("axis", -1), x.rank), x.rank)]
    epsilon = c.number("epsilon", 1e-5)
    if len(c.node.output) == 1 and scale.shape == x.shape[axes[0] :]:
        return c.b.layer_normalization(x, scale=scale, bias=bias, axes=axes, epsilon=epsilon)
    normalized, mean, inverse = standardize(c, x, axes, epsilon)
    normalized = normalized * scale
    return (normalized if bias is None else normalized + bias), mean, inverse


@imports("RMSNormalization", "SimplifiedLayerNormalization")
def rms_normalization(c: Call, x: Operand, scale: Operand) -> Operand:
    """x divided by its root mean square."""
    axes = [*range(c.axis(c.integer("axis", -1), x.rank), x.rank)]
    return as_type(c, root_mean_square(c, x, axes, c.number("epsilon", 1e-5)), scale.dtype) * scale


def root_mean_square(c: Call, x: Operand, axes: Sequence[int], epsilon: float) -> Operand:
    """Return x/√(mean of x² + ε), computed in float32."""
    wide = as_type(c, x, "float32")
    mean = c.b.reduce_mean(wide * wide, axes=axes, keep_dimensions=True)
    return as_type(c, wide / c.b.sqrt(mean + epsilon), x.dtype)


@imports("MeanVarianceNormalization")
def mean_variance_normalization(c: Call, x: Operand) -> Operand:
    """(x − mean)/√variance along axes."""
    axes = c.axes(c.integers("axes", [0, 2, 3]), x.rank)
    mean = c.b.reduce_mean(x, axes=axes, keep_dimensions=True)
    square = c.b.reduce_mean(x * x, axes=axes, keep_dimensions=True)
    return (x - mean) / (c.b.sqrt(square - mean * mean) + 1e-9)


@imports("LRN")
def local_response_normalization(c: Call, x: Operand) -> Operand:
    """x/(bias + α/size·Σx²)^β over neighbouring channels."""
    size = c.integer("size")
    before = (size - 1) // 2
    channels = x.shape[1]
    square = pad_sides(
        c,
        x * x,
        [before if k == 1 else 0 for k in range(x.rank)],
        [size - 1 - before if k == 1 else 0 for k in range(x.rank)],
    )
    total = c.b.reduce_sum(
        c.b.concat(
            [
                reshape_to(
                    c,
                    c.b.slice(
                        square,
                        starts=[k if axis == 1 else 0 for axis in range(x.rank)],
                        sizes=x.shape,
                    ),
                    (1, *x.shape),
                )
                for k in range(min(c.check_size(size, "its window"), channels + size))
            ],
            axis=0,
        ),
        axes=[0],
    )
    scale = c.number("bias", 1.0) + total * (c.number("alpha", 1e-4) / size)
    return x / c.b.pow(scale, scalar_like(c, c.number("beta", 0.75), x))
