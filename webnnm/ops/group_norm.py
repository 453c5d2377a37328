"""Group normalisation: statistics over each group of channels of a sample.

Source: Y. Wu, K. He, "Group normalization", arXiv:1803.08494 (2018).
"""

from __future__ import annotations

from webnnm.core.dtypes import FLOAT
from webnnm.core.shapes import count, show
from webnnm.ops.declare import checks, values
from webnnm.ops.declare.features import Features
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, ValueOption
from webnnm.ops.declare.layout import LayoutTensor, Role, feature_roles
from webnnm.ops.declare.normalising import (
    HAZARDS,
    SCALE_AND_BIAS,
    affine,
    along,
    cast_like,
    fit,
    require_sizes,
    spread,
    tensor_without_batch,
    to_float32,
)
from webnnm.ops.declare.operator import REQUIRED, Composite, Option, Slot, sample
from webnnm.ops.declare.rules import same_shape
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor


def _decompose(
    b: Builder,
    x: Tensor,
    scale: Tensor | None,
    bias: Tensor | None,
    *,
    groups: int,
    epsilon: float,
) -> Tensor:
    channels = x.shape[1]
    if channels % groups:
        raise OperatorError("NNM406", f"{channels} channels {show(x.shape)}, {groups} groups")
    require_sizes(x, (1,), {"scale": scale, "bias": bias})
    sizes = (x.shape[0], groups, count(x.shape[1:]) // groups)
    grouped = b.reshape(to_float32(b, x), new_shape=sizes)
    unit = b.reshape(b.layer_normalization(grouped, axes=(2,), epsilon=epsilon), new_shape=x.shape)
    scale, bias = (None if t is None else spread(b, t, (1,), x.rank) for t in (scale, bias))
    return cast_like(b, affine(b, unit, scale, bias), x)


def _channel(features: Features) -> int:
    """Return which feature is the channel: the one with that name, or the first."""
    return features.names.index("channels") if "channels" in features.names else 0


def _shape(layer: ShapeView) -> None:
    same_shape(layer)
    source, groups = layer.input, layer.options["groups"]
    if groups is None:
        hint = "write groups=2, or another divisor of the number of channels"
        layer.fail("NNM304", '"groupNormalization" needs groups=', hint=hint)
    if source.rank == 0:
        layer.fail("NNM405", f"{source} has no channels")
    if source.dims is not None:
        channel = _channel(source)
        channels = source.dims[channel]
        if channels is not None and channels % groups:
            layer.fail("NNM406", f"{channels} channels, {groups} groups", at="groups")
        fit(layer, [channel], "scale", "bias")


def _build(b: Builder, layer: BuildView) -> LayoutTensor:
    operand = layer.operands[0]
    channel = _channel(layer.features[0])
    others: list[Role] = [role for role in feature_roles(operand.rank) if role != channel]
    order: tuple[Role, ...] = (*operand.lead, channel, *others)
    source = operand.reorder(order)
    shape = source.tensor.shape
    rows = b.reshape(
        source.tensor, new_shape=(count(shape[: len(source.lead)]), *shape[len(source.lead) :])
    )
    tensors = [rows, tensor_without_batch(layer, "scale"), tensor_without_batch(layer, "bias")]
    options = {name: layer.options[name] for name in ("groups", "epsilon")}
    result = b.apply(layer.operator, tensors, options)
    return source.with_tensor(b.reshape(result, new_shape=shape)).reorder(operand.layout)


group_normalization = Composite(
    name="groupNormalization",
    traits=frozenset({"normalization"}),
    aliases=("groupNorm",),
    summary="(x − mean)/√(variance + ε) over groups of channels, times scale plus bias per channel",
    operands=(
        Slot(name="input", dtypes=FLOAT, ranks=(2, None)),
        along("scale", (1, 1)),
        along("bias", (1, 1)),
    ),
    options={
        "groups": Option(REQUIRED, checks.integer(1)),
        "epsilon": Option(1e-5, checks.number),
    },
    decompose=_decompose,
    layer=LayerRules(
        slots=SCALE_AND_BIAS,
        options={
            "groups": ValueOption(read=values.integer(1)),
            "epsilon": ValueOption(read=values.number, default=1e-5),
        },
        shape=_shape,
        build=_build,
    ),
    samples=(
        sample((2, 4, 2, 3), groups=2),
        sample((2, 6, 3), (6,), (6,), groups=3, epsilon=0.01),
        sample((3, 4), (4,), None, groups=2),
    ),
    hazards=HAZARDS,
)
