"""The same elements in another shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from webnnm.core.shapes import count, show
from webnnm.ops.declare import checks, values
from webnnm.ops.declare.features import Conflict
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, ValueOption
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.operator import REQUIRED, Operator, Option, Slot, sample
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor, TensorType


def _check(value: Any, *types: TensorType) -> tuple[int, ...]:
    """Accept sizes, one of which may be −1, or None as in the 2022 draft, for the rest."""
    if isinstance(value, (list, tuple)):
        value = [-1 if size is None else size for size in cast("Sequence[Any]", value)]
    sizes = checks.integers(-1)(value)
    total = count(types[0].shape)
    unknown = sizes.count(-1)
    rest = count(size for size in sizes if size != -1)
    if unknown == 1 and rest and total % rest == 0:
        sizes = tuple(total // rest if size == -1 else size for size in sizes)
    if count(sizes) != total or unknown > 1:
        raise OperatorError("NNM407", f"{total} elements into {show(sizes)}")
    return sizes


def _gradient(b: Builder, g: Tensor, _y: Tensor, x: Tensor, **_: Any) -> list[Tensor]:
    return [b.reshape(g, new_shape=x.shape)]


def target_sizes(layer: ShapeView, option: str) -> list[int | None]:
    """Return the sizes that an option requests; a bare name inherits the input's size."""
    requested: values.Sizes = layer.options[option]
    if requested.names is None:
        return [size if isinstance(size, int) else None for size in requested.sizes]
    result: list[int | None] = []
    for name, size in zip(requested.names, requested.sizes, strict=True):
        if size is None:
            if name not in layer.input.names:
                layer.fail("NNM307", f'no dimension "{name}"', at=option)
            size = (layer.input.dims or [])[layer.input.names.index(name)]
        result.append(size if isinstance(size, int) else None)
    return result


def _shape(layer: ShapeView) -> None:
    source, result = layer.input, layer.result
    if layer.options["new_shape"] is None:
        layer.fail("NNM304", '"reshape" needs newShape=')
    if source.dims is None:
        return
    requested = target_sizes(layer, "new_shape")
    dims: list[int | None] = [None if size == -1 else size for size in requested]
    try:
        result.unify(dims)
    except Conflict:
        layer.fail("NNM402", f"declared {result}, inferred {show(dims)}", at="shape")
    result.set_names(layer.options["new_shape"].names or (None,) * len(dims))
    result.set_sequence(source.sequence)
    balance(layer)


def balance(layer: ShapeView) -> None:
    """A single unknown size of the input or the result follows from the element count."""
    source, result = layer.input, layer.result
    before, after = source.dims or [], result.dims or []
    for complete, incomplete, features in ((before, after, result), (after, before, source)):
        if None in complete:
            continue
        total = count(size for size in complete if size is not None)
        rest = count(size for size in incomplete if size is not None)
        missing = [k for k, size in enumerate(incomplete) if size is None]
        if (len(missing) == 1 and total % rest) or (not missing and total != rest):
            layer.fail("NNM407", f"{total} elements into {show(incomplete)}")
        if len(missing) == 1:
            features.unify_size(missing[0], total // rest)


def _build(builder: Builder, layer: BuildView) -> LayoutTensor:
    source = layer.operands[0].canonical()
    lead = [source.size(role) for role in source.lead]
    return reshape_features(builder, source, lead, layer.results[0].sizes())


def reshape_features(
    builder: Builder, source: LayoutTensor, lead: Sequence[int], sizes: Sequence[int]
) -> LayoutTensor:
    """Return the input with other features after the same leading dimensions."""
    tensor = builder.reshape(source.tensor, new_shape=(*lead, *sizes))
    return LayoutTensor(tensor, (*source.lead, *range(len(sizes))), source.sequence)


def _infer(x: TensorType, *, new_shape: tuple[int, ...]) -> TensorType:
    return TensorType(x.dtype, new_shape)


def _reference(np: Any, x: Any, *, new_shape: tuple[int, ...]) -> Any:
    return np.reshape(x, new_shape)


def _stablehlo(h: Any, x: Any, *, new_shape: tuple[int, ...]) -> Any:
    return h.reshape(x, new_shape)


reshape = Operator(
    name="reshape",
    traits=frozenset({"passing", "linear", "rearranging", "moving", "choosing"}),
    summary="same elements, other shape",
    operands=(Slot(name="input"),),
    options={"new_shape": Option(REQUIRED, _check, positional=True)},
    infer=_infer,
    gradient=_gradient,
    reference=_reference,
    stablehlo=_stablehlo,
    batch="axes",
    layer=LayerRules(
        options={"new_shape": ValueOption(read=values.sizes, operand=True)},
        shape=_shape,
        build=_build,
    ),
    samples=(sample((2, 3), new_shape=(3, 2)), sample((2, 3, 4), new_shape=(-1,))),
)
