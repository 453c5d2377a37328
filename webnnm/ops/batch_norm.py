"""Batch normalisation: one mean and variance per channel, given or running."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from webnnm.core.dtypes import FLOAT
from webnnm.core.shapes import count
from webnnm.ops.declare import checks, values
from webnnm.ops.declare.activation import pop_activation
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, TensorSlot, ValueOption
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.normalising import (
    HAZARDS,
    SCALE_AND_BIAS,
    affine,
    along,
    cast_like,
    fit,
    inverse_deviation,
    require_sizes,
    spread,
    tensor_without_batch,
    to_float32,
)
from webnnm.ops.declare.operator import AnyOperator, Composite, Option, Slot, sample
from webnnm.ops.declare.padding import align_rows, as_column
from webnnm.ops.declare.rules import same_shape
from webnnm.ops.declare.tensors import Builder, Tensor, TensorType

# Running statistics are float32 and do not determine the layer's type.
_state = partial(TensorSlot, optional=True, option=True, promotes=False, trainable=False)
STATES = (_state(name="mean", parameter="zeros"), _state(name="variance", parameter="ones"))


def _infer(
    x: TensorType,
    mean: TensorType,
    variance: TensorType,
    scale: TensorType | None,
    bias: TensorType | None,
    *,
    axis: int,
    epsilon: float,
) -> TensorType:
    tensors = {"mean": mean, "variance": variance, "scale": scale, "bias": bias}
    require_sizes(x, [axis], tensors)
    return x


def _decompose(
    b: Builder,
    x: Tensor,
    mean: Tensor,
    variance: Tensor,
    scale: Tensor | None,
    bias: Tensor | None,
    *,
    axis: int,
    epsilon: float,
) -> Tensor:
    # All but three steps work on only one number per channel.
    factor = inverse_deviation(b, to_float32(b, variance), epsilon)
    if scale is not None:
        factor = factor * to_float32(b, scale)

    def along_channels(values: Tensor) -> Tensor:
        return spread(b, values, [axis], x.rank)

    centred = to_float32(b, x) - along_channels(to_float32(b, mean))
    offset = None if bias is None else along_channels(bias)
    return cast_like(b, affine(b, centred, along_channels(factor), offset), x)


def _earlier(
    b: Builder, _operator: AnyOperator, operands: Sequence[Any], options: dict[str, Any]
) -> tuple[Any, ...]:
    """Apply the fused `activation` of the 2022 draft to the result."""
    return operands, options, pop_activation(b, options)


# The notation.


def _implicit(_options: Mapping[str, Any], names: Mapping[str, str]) -> Sequence[TensorSlot]:
    """Return the running statistics, which the layer owns unless others are given."""
    return [slot for slot in STATES if slot.name not in names]


def _channel(layer: ShapeView | BuildView, names: Sequence[str | None]) -> int:
    """Return the feature of the option `axis`: by default `channels`, or the first."""
    roles = layer.axes("axis") or []
    if not roles:
        return names.index("channels") if "channels" in names else 0
    if not isinstance(roles[0], int):
        layer.fail(
            "NNM310", "statistics are per feature, but the sequence is not a feature", at="axis"
        )
    return roles[0]


def _shape(layer: ShapeView) -> None:
    same_shape(layer)
    if layer.input.rank is None:
        return
    if not layer.input.rank:
        layer.fail("NNM405", "batchNormalization needs a feature dimension")
    if len({"mean", "variance"} & layer.parameters) == 1:
        hint = "name both, or neither for running statistics"
        layer.fail(
            "NNM302", "batchNormalization needs both mean and variance, or neither", hint=hint
        )
    channel = _channel(layer, layer.input.names)
    fit(layer, [channel], "mean", "variance", "scale", "bias")


def _build(b: Builder, layer: BuildView) -> LayoutTensor:
    source = layer.operands[0]
    axis = source.position(_channel(layer, layer.features[0].names))
    mean, variance = (tensor_without_batch(layer, slot.name) for slot in STATES)
    rest = [tensor_without_batch(layer, slot.name) for slot in SCALE_AND_BIAS]
    options = {"axis": axis, "epsilon": layer.options["epsilon"]}
    if layer.training and {"mean", "variance"} <= layer.parameters:
        statistics = _batch_statistics(b, layer, axis)
        _move(b, layer, {"mean": mean, "variance": variance}, statistics)
        # Gradients flow through these statistics, so no backend's method can be used here.
        result = _decompose(
            b, source.tensor, statistics.mean, statistics.variance, *rest, **options
        )
    else:
        running = [cast_like(b, statistic, source.tensor) for statistic in (mean, variance)]
        result = b.apply(layer.operator, [source.tensor, *running, *rest], options)
    return source.with_tensor(result)


class _Statistics(NamedTuple):
    """Mean and variance per channel, and the number of elements that they cover."""

    mean: Any
    variance: Any
    size: Any


def _batch_statistics(b: Builder, layer: BuildView, axis: int) -> _Statistics:
    """Return the statistics of the valid rows of a batch, without padded positions."""
    source = layer.operands[0]
    x = to_float32(b, source.tensor)
    others = [k for k in range(x.rank) if k != axis]
    size: Any = b.constant(float(count(x.shape[k] for k in others)), "float32")
    weights: Any = None
    if source.mask is not None:
        counted = source.mask if layer.rows is None else source.mask * as_column(b, layer.rows)
        weights = align_rows(b, counted, source)
        cells = count(source.mask.shape)
        # A batch may be all padding: its statistics are 0, not 0/0.
        size = b.max(b.reduce_sum(counted), b.constant(1, "float32"))
        size = size * (count(x.shape[k] for k in others) / cells)
    elif layer.rows is not None and "batch" in source.layout:
        batch = source.position("batch")
        weights = spread(b, layer.rows, [batch], x.rank)
        size = b.reduce_sum(layer.rows) * (count(x.shape[k] for k in others) / x.shape[batch])

    def mean(values: Tensor) -> Tensor:
        return b.reduce_sum(values if weights is None else values * weights, axes=others) / size

    centre = mean(x)
    centred = x - spread(b, centre, [axis], x.rank)
    return _Statistics(centre, mean(centred * centred), size)


def _move(b: Builder, layer: BuildView, running: Mapping[str, Tensor], batch: _Statistics) -> None:
    """Move the running statistics towards those of a batch."""
    momentum: float = layer.options["momentum"]
    one = b.constant(1.0, "float32")
    unbiased = batch.variance * (batch.size / b.max(batch.size - one, one))
    for name, new in (("mean", batch.mean), ("variance", unbiased)):
        layer.update(name, to_float32(b, running[name]) * momentum + new * (1 - momentum))


batch_normalization = Composite(
    name="batchNormalization",
    traits=frozenset({"normalization", "linear"}),
    aliases=("batchNorm",),
    summary="(x − mean)/√(variance + ε) per channel, times scale plus bias",
    operands=(
        Slot(name="input", dtypes=FLOAT, ranks=(1, None)),
        Slot(name="mean", dtypes=FLOAT, ranks=(1, 1), like=0),
        Slot(name="variance", dtypes=FLOAT, ranks=(1, 1), like=0),
        along("scale", (1, 1)),
        along("bias", (1, 1)),
    ),
    options={"axis": Option(1, checks.axis), "epsilon": Option(1e-5, checks.number)},
    native="batchNormalization",
    infer=_infer,
    decompose=_decompose,
    earlier=_earlier,
    batch="normalization",
    layer=LayerRules(
        slots=(*STATES, *SCALE_AND_BIAS),
        options={
            "axis": ValueOption(read=values.one_axis),
            "epsilon": ValueOption(read=values.number, default=1e-5),
            "momentum": ValueOption(read=values.between(0, 1), default=0.9),
        },
        implicit=_implicit,
        shape=_shape,
        build=_build,
    ),
    samples=(
        sample((2, 3), (3,), (3,), low=0.1),
        sample((2, 3, 2), (3,), (3,), (3,), (3,), low=0.1, epsilon=0.01),
        sample((2, 3, 4), (4,), (4,), None, (4,), low=0.1, axis=-1),
    ),
    hazards=HAZARDS,
)
