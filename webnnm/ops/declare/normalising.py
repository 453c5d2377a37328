"""What normalisations share: statistics in a wide type, scale and bias along axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webnnm.core.dtypes import FLOAT
from webnnm.core.shapes import show
from webnnm.ops.declare import checks, padding
from webnnm.ops.declare.features import Conflict
from webnnm.ops.declare.layer import BuildView, ShapeView, TensorSlot
from webnnm.ops.declare.layout import LayoutTensor, Role
from webnnm.ops.declare.operator import Slot
from webnnm.ops.declare.rules import same_shape, tensor_options
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor, TensorType

HAZARDS = frozenset({"wide"})

INPUT = Slot(name="input", dtypes=FLOAT)

SCALE_AND_BIAS = (
    TensorSlot(name="scale", parameter="ones", optional=True, option=True),
    TensorSlot(name="bias", parameter="zeros", optional=True, option=True),
)


def along(name: str, ranks: tuple[int, int | None] = (0, None)) -> Slot:
    """Return the slot of an optional tensor that lies along some axes of the input."""
    return Slot(name=name, dtypes=FLOAT, ranks=ranks, like=0, optional=True, keyword=True)


# Checks of types.


def all_but_first(value: Any, *types: TensorType) -> tuple[int, ...]:
    """Accept distinct axes of the first operand; None means all but the first."""
    rank = len(types[0].shape)
    return checks.axes(range(1, rank) if value is None else value, *types)


def require_sizes(
    x: TensorType | Tensor,
    axes: Sequence[int],
    tensors: Mapping[str, TensorType | Tensor | None],
) -> None:
    """Raise NNM404 unless the tensors have the sizes of these axes of `x`, in this order."""
    sizes = tuple(x.shape[axis] for axis in axes)
    for name, tensor in tensors.items():
        if tensor is not None and tensor.shape != sizes:
            message = f"{name} is {show(tensor.shape)}, {show(sizes)} are the sizes of the axes"
            raise OperatorError("NNM404", f"{message} {list(axes)} of {show(x.shape)}")


# Arithmetic.


def to_float32(b: Builder, x: Tensor) -> Tensor:
    """Return a tensor in the type that statistics are computed in, float32."""
    return x if x.dtype == "float32" else b.cast(x, type="float32")


def cast_like(b: Builder, x: Tensor, like: Tensor) -> Tensor:
    """Return a tensor in the type of another."""
    return x if x.dtype == like.dtype else b.cast(x, type=like.dtype)


def spread(b: Builder, x: Tensor, axes: Sequence[int], rank: int) -> Tensor:
    """Return a tensor whose dimensions are along `axes`, so that it broadcasts to `rank`."""
    order = sorted(range(len(axes)), key=lambda k: axes[k])
    if order != list(range(len(axes))):
        x = b.transpose(x, permutation=order)
    sizes = dict(zip(sorted(axes), x.shape, strict=True))
    shape = tuple(sizes.get(axis, 1) for axis in range(min(axes, default=rank), rank))
    return x if x.shape == shape else b.reshape(x, new_shape=shape)


def sum_to_axes(b: Builder, x: Tensor, axes: Sequence[int]) -> Tensor:
    """Sum over all other axes, and return the sum with its dimensions along `axes`."""
    others = [axis for axis in range(x.rank) if axis not in axes]
    total = b.reduce_sum(x, axes=others) if others else x
    order = [sorted(axes).index(axis) for axis in axes]
    return total if order == sorted(order) else b.transpose(total, permutation=order)


def affine(b: Builder, x: Tensor, scale: Tensor | None, bias: Tensor | None) -> Tensor:
    """Return scale · x + bias, where either may be absent."""
    if scale is not None:
        x = x * cast_like(b, scale, x)
    return x if bias is None else x + cast_like(b, bias, x)


def inverse_deviation(b: Builder, variance: Tensor, epsilon: float) -> Tensor:
    """Return 1/√(variance + ε)."""
    return b.reciprocal(b.sqrt(variance + epsilon))


def standardise(
    b: Builder, x: Tensor, axes: Sequence[int], epsilon: float, *, centred: bool
) -> tuple[Tensor, Tensor]:
    """Return x̂ = (x − mean)/√(variance + ε) in float32, and the reciprocal of the root.

    Without `centred` the mean is taken as 0.
    """
    wide = to_float32(b, x)
    if centred:
        wide = wide - b.reduce_mean(wide, axes=axes, keep_dimensions=True)
    variance = b.reduce_mean(wide * wide, axes=axes, keep_dimensions=True)
    inverse = inverse_deviation(b, variance, epsilon)
    return wide * inverse, inverse


def standardise_padded(
    b: Builder,
    source: LayoutTensor,
    axes: Sequence[int],
    epsilon: float,
    *,
    centred: bool = True,
    mean: Tensor | None = None,
    variance: Tensor | None = None,
) -> Tensor:
    """Return x̂ with statistics over axes that include a padded sequence; some may be given."""
    wide = to_float32(b, source.tensor)
    if centred:
        centre = (
            padding.mean_of_valid(b, source, wide, axes) if mean is None else to_float32(b, mean)
        )
        wide = wide - centre
    square = (
        padding.mean_of_valid(b, source, wide * wide, axes)
        if variance is None
        else to_float32(b, variance)
    )
    return cast_like(b, wide * inverse_deviation(b, square, epsilon), source.tensor)


def normalise(
    b: Builder,
    x: Tensor,
    scale: Tensor | None,
    bias: Tensor | None,
    *,
    over: Sequence[int],
    by: Sequence[int],
    epsilon: float,
    centred: bool = True,
) -> Tensor:
    """Normalise with the statistics over some axes; scale and bias are along the axes `by`."""
    standardised, _ = standardise(b, x, over, epsilon, centred=centred)
    scale, bias = (None if t is None else spread(b, t, by, x.rank) for t in (scale, bias))
    return cast_like(b, affine(b, standardised, scale, bias), x)


def normalisation_gradient(
    b: Builder,
    g: Tensor,
    x: Tensor,
    scale: Tensor | None,
    bias: Tensor | None,
    *,
    over: Sequence[int],
    by: Sequence[int],
    epsilon: float,
    centred: bool = True,
) -> list[Tensor | None]:
    """Return the gradients of `normalise` for x, scale and bias.

    With ĝ = g · scale: dx = (ĝ − mean ĝ − x̂ · mean(ĝ · x̂))/√(variance + ε).
    """
    standardised, inverse = standardise(b, x, over, epsilon, centred=centred)
    wide = to_float32(b, g)
    inner = wide
    if scale is not None:
        inner = wide * to_float32(b, spread(b, scale, by, x.rank))
    dx = inner - standardised * b.reduce_mean(inner * standardised, axes=over, keep_dimensions=True)
    if centred:
        dx = dx - b.reduce_mean(inner, axes=over, keep_dimensions=True)
    return [
        cast_like(b, dx * inverse, x),
        None if scale is None else cast_like(b, sum_to_axes(b, wide * standardised, by), scale),
        None if bias is None else cast_like(b, sum_to_axes(b, wide, by), bias),
    ]


# The notation.


def fit(layer: ShapeView, axes: Sequence[Role], *names: str) -> None:
    """Relate tensors of a layer to the sizes of some features of the input, both ways."""
    source = layer.input
    given_tensors = {name: layer.tensors[name] for name in names if name in layer.tensors}
    if source.dims is None:
        return
    for name, features in given_tensors.items():
        own = [axis for axis in axes if isinstance(axis, int)]
        if len(own) < len(axes):
            layer.fail(
                "NNM310", f"{name} is per feature, but the sequence is not a feature", at=name
            )
        try:
            features.unify([source.dims[axis] for axis in own])
            for axis, size in zip(own, features.dims or (), strict=True):
                source.unify_size(axis, size)
        except Conflict:
            layer.fail("NNM404", f"{source} features, {name} {features}")


def shape_by_axes(layer: ShapeView) -> None:
    """Give the result the input's shape; scale and bias have the sizes of the option `axes`."""
    same_shape(layer)
    axes = layer.axes("axes")
    if axes is not None:
        fit(layer, axes, "scale", "bias")


def build_by_axes(b: Builder, layer: BuildView) -> LayoutTensor:
    """Apply the operator along the option `axes`, in whatever layout the input has."""
    source = layer.operands[0]
    operands = [tensor_without_batch(layer, slot.name) for slot in layer.operator.operands[1:]]
    roles = layer.axes("axes")
    axes = [source.position(role) for role in roles]
    if source.mask is not None and "sequence" in roles:
        # Scale and bias are per feature, so they are absent here (see `fit`).
        centred: bool = layer.operator.name != "rmsNorm"
        standardised = standardise_padded(
            b, source, axes, layer.options["epsilon"], centred=centred
        )
        return source.with_tensor(standardised)
    options = tensor_options(layer) | {"axes": axes}
    return source.with_tensor(b.apply(layer.operator, [source.tensor, *operands], options))


def tensor_without_batch(layer: BuildView, name: str) -> Any:
    """Return a tensor of a layer that is the same for all samples, None if it is absent."""
    value = layer.tensors.get(name)
    if value is None:
        return None
    if value.lead:
        hint = "use mul() and add() after the normalisation instead"
        layer.fail("NNM405", f"{name} differs from sample to sample", at=name, hint=hint)
    return value.canonical().tensor
