"""Another order of dimensions."""

from __future__ import annotations

from typing import Any

from webnnm.core.shapes import show
from webnnm.ops.declare import checks, values
from webnnm.ops.declare.features import Conflict
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, ValueOption
from webnnm.ops.declare.layout import LayoutTensor, Role
from webnnm.ops.declare.operator import Operator, Option, Slot, sample
from webnnm.ops.declare.tensors import Builder, Tensor, TensorType


def _infer(x: TensorType, *, permutation: tuple[int, ...]) -> TensorType:
    return TensorType(x.dtype, tuple(x.shape[k] for k in permutation))


def _gradient(
    b: Builder, g: Tensor, _y: Tensor, _x: Tensor, *, permutation: tuple[int, ...]
) -> list[Tensor]:
    inverse = tuple(sorted(range(len(permutation)), key=permutation.__getitem__))
    return [b.transpose(g, permutation=inverse)]


def _shape(layer: ShapeView) -> None:
    source, result = layer.input, layer.result
    if source.dims is None:
        return
    features = _features(layer)
    dims = [source.dims[k] for k in features]
    try:
        result.unify(dims)
        for k, size in zip(features, result.dims or (), strict=True):
            source.unify_size(k, size)
    except Conflict:
        layer.fail("NNM402", f"declared {result}, inferred {show(dims)}", at="shape")
    result.set_names([source.names[k] for k in features])
    result.set_sequence(source.sequence)


def _features(layer: ShapeView | BuildView) -> list[int]:
    """Return the feature indices in their new order."""
    roles = layer.axes("permutation") or []
    features = [role for role in roles if isinstance(role, int)]
    rank = layer.operands[0].rank or 0
    if len(features) != rank:
        layer.fail(
            "NNM309",
            f"the permutation names {len(features)} of {rank} dimensions",
            at="permutation",
        )
    lead = len(roles) - len(features)
    has_sequence = layer.operands[0].sequence is not None
    if lead not in (0, 1 + has_sequence):
        layer.fail(
            "NNM309",
            "a permutation has both batch and sequence, or neither",
            at="permutation",
        )
    return features


def _build(builder: Builder, layer: BuildView) -> LayoutTensor:
    source = layer.operands[0]
    roles: list[Role] = list(layer.axes("permutation"))
    features = _features(layer)
    if len(features) == len(roles):
        roles = [*source.lead, *roles]
    tensor = builder.transpose(source.tensor, permutation=[source.position(role) for role in roles])
    # The k-th feature written is feature k of the result, wherever it appears among the roles.
    layout: tuple[Role, ...] = tuple(features.index(r) if isinstance(r, int) else r for r in roles)
    return LayoutTensor(tensor, layout, source.sequence)


def _reference(np: Any, x: Any, *, permutation: tuple[int, ...]) -> Any:
    return np.permute_dims(x, permutation)


def _stablehlo(h: Any, x: Any, *, permutation: tuple[int, ...]) -> Any:
    return h.transpose(x, permutation)


transpose = Operator(
    name="transpose",
    traits=frozenset({"passing", "linear", "rearranging", "moving", "choosing"}),
    summary="another order of dimensions",
    operands=(Slot(name="input"),),
    options={"permutation": Option(None, checks.permutation)},
    infer=_infer,
    gradient=_gradient,
    reference=_reference,
    stablehlo=_stablehlo,
    batch="axes",
    layer=LayerRules(
        options={"permutation": ValueOption(read=values.axis_names, operand=True)},
        shape=_shape,
        build=_build,
    ),
    samples=(sample((2, 3)), sample((2, 3, 4), permutation=(1, 2, 0))),
)
