"""Normalisation with mean and variance along axes, each computed or given.

Group, layer, instance and batch normalisation are all cases of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webnnm.core.shapes import broadcast, show
from webnnm.ops.declare import checks, values
from webnnm.ops.declare.features import Features
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, TensorSlot, ValueOption
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.normalising import (
    HAZARDS,
    INPUT,
    SCALE_AND_BIAS,
    affine,
    all_but_first,
    along,
    cast_like,
    inverse_deviation,
    shape_by_axes,
    spread,
    standardise_padded,
    tensor_without_batch,
    to_float32,
)
from webnnm.ops.declare.operator import Composite, Option, sample
from webnnm.ops.declare.padding import combine_masks
from webnnm.ops.declare.rules import broadcast_operands, places
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor


def _decompose(
    b: Builder,
    x: Tensor,
    mean: Tensor | None,
    variance: Tensor | None,
    scale: Tensor | None,
    bias: Tensor | None,
    *,
    axes: Sequence[int],
    epsilon: float,
) -> Tensor:
    sizes = tuple(x.shape[axis] for axis in axes)
    if mean is None and variance is None:
        if all(t is None or t.shape == sizes for t in (scale, bias)):
            return b.layer_normalization(x, scale, bias, axes=axes, epsilon=epsilon)
        unit = b.layer_normalization(x, axes=axes, epsilon=epsilon)
    else:
        unit = _unit(b, x, mean, variance, axes, epsilon)
    scale, bias = (
        _align_to_axes(b, x, t, axes, name) for name, t in (("scale", scale), ("bias", bias))
    )
    return cast_like(b, affine(b, unit, scale, bias), x)


def _unit(
    b: Builder,
    x: Tensor,
    mean: Tensor | None,
    variance: Tensor | None,
    axes: Sequence[int],
    epsilon: float,
) -> Tensor:
    """Return (x − mean)/√(variance + ε) in float32; statistics that are not given are computed."""
    others = [axis for axis in range(x.rank) if axis not in axes]
    mean = _align_to_axes(b, x, mean, others, "mean")
    variance = _align_to_axes(b, x, variance, others, "variance")
    wide = to_float32(b, x)

    def mean_of(values: Tensor) -> Tensor:
        return b.reduce_mean(values, axes=axes, keep_dimensions=True)

    centred = wide - (mean_of(wide) if mean is None else to_float32(b, mean))
    square = mean_of(centred * centred) if variance is None else to_float32(b, variance)
    return centred * inverse_deviation(b, square, epsilon)


def _align_to_axes(
    b: Builder, x: Tensor, tensor: Tensor | None, axes: Sequence[int], name: str
) -> Tensor | None:
    """Return a tensor that has the sizes of some axes, or broadcasts as it is."""
    if tensor is None:
        return None
    if tensor.shape == tuple(x.shape[axis] for axis in axes):
        return spread(b, tensor, axes, x.rank)
    if broadcast(tensor.shape, x.shape) == x.shape:
        return tensor
    sizes = show(x.shape[axis] for axis in axes)
    message = f"{name} is {show(tensor.shape)}, neither {sizes}, the sizes of the axes {list(axes)}"
    raise OperatorError("NNM404", f"{message}, nor does it broadcast to {show(x.shape)}")


# The notation.

STATISTICS = (
    TensorSlot(name="mean", optional=True, option=True),
    TensorSlot(name="variance", optional=True, option=True),
)


def _shape(layer: ShapeView) -> None:
    shape_by_axes(layer)
    if "mean" in layer.tensors and "variance" not in layer.tensors:
        message = '"meanVarianceNormalization" needs variance= beside mean='
        layer.fail("NNM304", message, at="mean", hint="give both statistics, or neither of them")
    for slot in STATISTICS:
        tensor = layer.tensors.get(slot.name)
        if tensor is not None and tensor.known and layer.input.known:
            _check_broadcast(layer, slot.name, tensor)


def _check_broadcast(layer: ShapeView, name: str, statistic: Features) -> None:
    """Raise NNM401 unless a given statistic broadcasts to the input."""
    source = layer.input.sizes()
    among = layer.input.names
    if len(statistic.names) <= len(among):
        sizes = [source[axis] for axis in places(statistic.names, among)]
        if all(own in (1, size) for own, size in zip(statistic.sizes(), sizes, strict=True)):
            return
    layer.fail(
        "NNM401", f"{name} {statistic} and {layer.input}", hint="the shapes do not broadcast"
    )


def _build(b: Builder, layer: BuildView) -> LayoutTensor:
    names_given = [slot.name for slot in STATISTICS if slot.name in layer.tensors]
    value = [layer.operands[0], *(layer.tensors[name] for name in names_given)]
    names = [layer.features[0].names, *(layer.tensor_names(name) for name in names_given)]
    (x, *given_tensors), layout, sequence = broadcast_operands(layer, value, names)
    operands: dict[str, Any] = {
        # All dimensions are written, so that none is mistaken for a reduced one.
        name: b.reshape(t, new_shape=(1,) * (x.rank - t.rank) + t.shape)
        for name, t in zip(names_given, given_tensors, strict=True)
    }
    operands |= {slot.name: tensor_without_batch(layer, slot.name) for slot in SCALE_AND_BIAS}
    axes = [layout.index(role) for role in layer.axes("axes")]
    options = {"axes": axes, "epsilon": layer.options["epsilon"]}
    mask = combine_masks(b, value, sequence)
    if mask is not None and "sequence" in layer.axes("axes"):
        source, statistics = (
            LayoutTensor(x, layout, sequence, mask),
            {n: operands[n] for n in names_given},
        )
        return source.with_tensor(standardise_padded(b, source, **options, **statistics))
    return LayoutTensor(b.apply(layer.operator, [x], operands | options), layout, sequence)


mean_variance_normalization = Composite(
    name="meanVarianceNormalization",
    traits=frozenset({"normalization"}),
    summary="(x − mean)/√(variance + ε), each computed along axes or given, times scale plus bias",
    operands=(INPUT, along("mean"), along("variance"), along("scale"), along("bias")),
    options={"axes": Option(None, all_but_first), "epsilon": Option(1e-5, checks.number)},
    decompose=_decompose,
    layer=LayerRules(
        slots=(*SCALE_AND_BIAS, *STATISTICS),
        options={
            "axes": ValueOption(read=values.axis_names, aliases=("axis",)),
            "epsilon": ValueOption(read=values.number, default=1e-5),
        },
        shape=_shape,
        build=_build,
    ),
    samples=(
        sample((2, 3, 4), axes=(1, 2)),
        sample((2, 3, 4), None, None, (4, 2), (2, 1, 1), axes=(2, 0), epsilon=0.01),
        sample((2, 3, 4), (2,), (2, 1, 1), low=0.1),
        sample((2, 3), (3,), None, (2,), (2,), axes=(0,)),
        sample((2, 3), None, (2,), low=0.1),
    ),
    hazards=HAZARDS,
)
