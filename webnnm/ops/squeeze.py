"""Dimensions of size 1 removed and inserted."""

from __future__ import annotations

from typing import Any

from webnnm.core.shapes import MAX_DIMENSION, show
from webnnm.ops.declare import checks, values
from webnnm.ops.declare.feature_rules import unify_result
from webnnm.ops.declare.features import Conflict
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, ValueOption
from webnnm.ops.declare.layout import LayoutTensor, Role
from webnnm.ops.declare.operator import REQUIRED, Composite, Option, Slot, sample
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor, TensorType
from webnnm.ops.reshape import reshape_features

Ints = tuple[int, ...]


def _single(value: Any, *types: TensorType) -> Ints:
    """Accept axes of size 1; None means all of them."""
    shape = types[0].shape
    if value is None:
        return tuple(axis for axis, size in enumerate(shape) if size == 1)
    axes = checks.axes(value, *types)
    for axis in axes:
        if shape[axis] != 1:
            raise OperatorError(
                "NNM303", f"axis {axis} of {show(shape)} has {shape[axis]} elements"
            )
    return axes


def _without(b: Builder, x: Tensor, *, axes: Ints) -> Tensor:
    return b.reshape(x, new_shape=[n for axis, n in enumerate(x.shape) if axis not in axes])


def _new(value: Any, *types: TensorType) -> Ints:
    """Accept axes of the result; negative ones count from its end."""
    axes = checks.integers(-MAX_DIMENSION)(value)
    ranked = TensorType(types[0].dtype, (1,) * (len(types[0].shape) + len(axes)))
    return checks.axes(axes, ranked)


def _with(b: Builder, x: Tensor, *, axes: Ints) -> Tensor:
    sizes = iter(x.shape)
    rank = x.rank + len(axes)
    return b.reshape(x, new_shape=[1 if axis in axes else next(sizes) for axis in range(rank)])


def _features_to_drop(layer: ShapeView | BuildView, sizes: list[int | None]) -> list[int]:
    """Return the features that a squeeze removes. Raises NNM310 for axes that are not features."""
    if layer.options["axes"] is None:
        return [k for k, size in enumerate(sizes) if size == 1]
    roles = layer.axes("axes") or []
    features = [role for role in roles if isinstance(role, int)]
    if len(features) < len(roles):
        layer.fail("NNM310", '"squeeze" removes features, not a sequence', at="axes")
    return features


def _squeeze_shape(layer: ShapeView) -> None:
    source = layer.input
    if source.dims is None or (layer.options["axes"] is None and not source.known):
        return
    dropped = _features_to_drop(layer, source.dims)
    for k in dropped:
        try:
            source.unify_size(k, 1)
        except Conflict:
            layer.fail("NNM303", f"{source} has {source.dims[k]} elements in axis {k}", at="axes")
    kept = [k for k in range(len(source.dims)) if k not in dropped]
    dims, names = [source.dims[k] for k in kept], [source.names[k] for k in kept]
    unify_result(layer, dims, names, source.sequence)


def _squeeze_build(b: Builder, layer: BuildView) -> LayoutTensor:
    source = layer.operands[0]
    dropped = _features_to_drop(layer, list(source.features))
    tensor = b.squeeze(source.tensor, axes=[source.position(k) for k in dropped])
    kept = [k for k in range(source.rank) if k not in dropped]
    layout: list[Role] = [
        kept.index(role) if isinstance(role, int) else role
        for role in source.layout
        if role not in dropped
    ]
    return LayoutTensor(tensor, tuple(layout), source.sequence)


def _places(layer: ShapeView) -> Ints:
    """Return the features of the result that are new."""
    assert layer.input.dims is not None
    return _new(layer.options["axes"], TensorType("float32", (1,) * len(layer.input.dims)))


def _unsqueeze_shape(layer: ShapeView) -> None:
    source = layer.input
    if layer.options["axes"] is None:
        layer.fail("NNM304", '"unsqueeze" needs axes=')
    if source.dims is None:
        return
    new = _places(layer)
    cells = iter(zip(source.dims, source.names, strict=True))
    rank = len(source.dims) + len(new)
    dimensions = [(1, None) if k in new else next(cells) for k in range(rank)]
    unify_result(
        layer,
        [size for size, _ in dimensions],
        [name for _, name in dimensions],
        layer.input.sequence,
    )


def _unsqueeze_build(b: Builder, layer: BuildView) -> LayoutTensor:
    source = layer.operands[0].canonical()
    lead = [source.size(role) for role in source.lead]
    return reshape_features(b, source, lead, layer.results[0].sizes())


squeeze = Composite(
    name="squeeze",
    traits=frozenset({"passing", "linear", "rearranging"}),
    summary="dimensions of size 1 removed",
    operands=(Slot(name="input"),),
    options={"axes": Option(None, _single)},
    decompose=_without,
    layer=LayerRules(
        options={"axes": ValueOption(read=values.axis_names, aliases=("axis",))},
        shape=_squeeze_shape,
        build=_squeeze_build,
    ),
    samples=(sample((1, 3, 1)), sample((1, 3, 1, 2), axes=(-2,))),
)

unsqueeze = Composite(
    name="unsqueeze",
    traits=frozenset({"passing", "linear", "rearranging"}),
    summary="dimensions of size 1 inserted",
    operands=(Slot(name="input"),),
    options={"axes": Option(REQUIRED, _new)},
    decompose=_with,
    layer=LayerRules(
        options={"axes": ValueOption(read=values.integers, aliases=("axis",))},
        shape=_unsqueeze_shape,
        build=_unsqueeze_build,
    ),
    samples=(sample((2, 3), axes=(1,)), sample((2, 3), axes=(0, -2)), sample((), axes=(0,))),
)
