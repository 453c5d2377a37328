"""Repetition of size-1 dimensions."""

from __future__ import annotations

from typing import Any

from webnnm.core.shapes import broadcast, show
from webnnm.ops.declare import checks, values
from webnnm.ops.declare.features import Conflict
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, ValueOption
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.operator import REQUIRED, Operator, Option, Slot, sample
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor, TensorType
from webnnm.ops.reshape import target_sizes


def _infer(x: TensorType, *, new_shape: tuple[int, ...]) -> TensorType:
    if broadcast(x.shape, new_shape) != new_shape:
        raise OperatorError("NNM401", f"{show(x.shape)} does not expand to {show(new_shape)}")
    return TensorType(x.dtype, new_shape)


def _gradient(_b: Builder, g: Tensor, _y: Tensor, _x: Tensor, **_: Any) -> list[Tensor]:
    return [g]  # backpropagation sums over what was repeated


def _sources(layer: ShapeView | BuildView, names: tuple[str | None, ...]) -> list[int | None]:
    """Return, for each dimension of the result, the feature it comes from; None if it is new."""
    requested: values.Sizes = layer.options["new_shape"]
    rank = len(names)
    if requested.names is None or not any(names):
        extra = len(requested.sizes) - rank
        return [k - extra if k >= extra else None for k in range(len(requested.sizes))]
    unknown = [name for name in names if name not in requested.names]
    if unknown:
        layer.fail("NNM307", f'dimension "{unknown[0]}" is missing', at="new_shape")
    return [names.index(name) if name in names else None for name in requested.names]


def _shape(layer: ShapeView) -> None:
    source, result = layer.input, layer.result
    if layer.options["new_shape"] is None:
        layer.fail("NNM304", '"expand" needs newShape=')
    if source.dims is None:
        return
    sources = _sources(layer, source.names)
    dims = target_sizes(layer, "new_shape")
    if {*range(len(source.dims))} - {*sources}:
        layer.fail("NNM401", f"{source} does not expand to {show(dims)}")
    for feature, size in zip(sources, dims, strict=True):
        own = 1 if feature is None else source.dims[feature]
        if own is not None and size is not None and own not in (1, size):
            layer.fail("NNM401", f"{source} does not expand to {show(dims)}")
    try:
        result.unify(dims)
    except Conflict:
        layer.fail("NNM402", f"declared {result}, inferred {show(dims)}", at="shape")
    requested: values.Sizes = layer.options["new_shape"]
    own_names = [None if feature is None else source.names[feature] for feature in sources]
    result.set_names(requested.names or own_names)
    result.set_sequence(source.sequence)


def _build(builder: Builder, layer: BuildView) -> LayoutTensor:
    source = layer.operands[0].canonical()
    sources = _sources(layer, layer.features[0].names)
    order = [feature for feature in sources if feature is not None]
    arranged = source.reorder((*source.lead, *order))
    lead = [source.size(role) for role in source.lead]
    ones = [1 if feature is None else source.size(feature) for feature in sources]
    tensor = arranged.tensor
    if tensor.shape != (*lead, *ones):
        tensor = builder.reshape(tensor, new_shape=(*lead, *ones))
    tensor = builder.expand(tensor, new_shape=(*lead, *layer.results[0].sizes()))
    return LayoutTensor(tensor, (*source.lead, *range(len(sources))), source.sequence)


def _reference(np: Any, x: Any, *, new_shape: tuple[int, ...]) -> Any:
    return np.broadcast_to(x, new_shape)


def _stablehlo(h: Any, x: Any, *, new_shape: tuple[int, ...]) -> Any:
    return h.broadcast(x, new_shape)


expand = Operator(
    name="expand",
    traits=frozenset({"linear", "rearranging", "choosing"}),
    summary="repetition of size-1 dimensions",
    operands=(Slot(name="input"),),
    options={"new_shape": Option(REQUIRED, checks.integers(1), positional=True)},
    infer=_infer,
    gradient=_gradient,
    reference=_reference,
    stablehlo=_stablehlo,
    batch="expand",
    layer=LayerRules(
        options={"new_shape": ValueOption(read=values.sizes, operand=True)},
        shape=_shape,
        build=_build,
    ),
    samples=(
        sample((2, 1), new_shape=(2, 3)),
        sample((), new_shape=(2, 2)),
        sample((3,), new_shape=(2, 3)),
    ),
)
