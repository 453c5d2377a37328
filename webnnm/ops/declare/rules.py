"""Shape and build rules of the notation that many operators share."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from webnnm.ops.declare.features import Conflict, Features, equate
from webnnm.ops.declare.layer import BuildView, ShapeView
from webnnm.ops.declare.layout import LayoutTensor, Role, align_tensors
from webnnm.ops.declare.tensors import Builder


def same_shape(layer: ShapeView) -> None:
    """Give the result the shape, names and sequence of the input."""
    equate(layer.result, layer.input)
    keep_names(layer)


def keep_names(layer: ShapeView) -> None:
    """Give the result the names and the sequence of the input."""
    layer.result.set_names(layer.input.names)
    layer.result.set_sequence(layer.input.sequence)


def build_unary(builder: Builder, layer: BuildView) -> LayoutTensor:
    """Apply the operator element by element, in whatever layout the input has."""
    source = layer.operands[0]
    result = builder.apply(layer.operator, [source.tensor], tensor_options(layer))
    return source.with_tensor(result)


def tensor_options(layer: BuildView) -> dict[str, object]:
    """Return the options that the tensor operator has under the same name."""
    names = layer.operator.options
    return {name: value for name, value in layer.options.items() if name in names}


def places(names: Sequence[str | None], among: Sequence[str | None]) -> list[int]:
    """Return the index in a result of rank `len(among)` for each dimension of an operand.

    Dimensions align by name if the ranks differ and every name of the operand is found, otherwise
    from the end as in NumPy.

    >>> places(["channels"], ["channels", "height", "width"]), places([None], [None, "width"])
    ([0], [1])
    """
    if len(names) < len(among) and names and None not in names and set(names) <= set(among):
        return [among.index(name) for name in names]
    return list(range(len(among) - len(names), len(among)))


def broadcast_shape(layer: ShapeView) -> None:
    """Give the result the broadcast shape of all operands; undeclared parameters adapt to it."""
    broadcast_features(layer, layer.operands)


def broadcast_features(layer: ShapeView, operands: Sequence[Features]) -> None:
    """Relate some features of a layer and its result by broadcasting, in both directions."""
    result = layer.result
    operands_known = [x for x in operands if x.dims is not None and not x.undeclared]
    if not operands_known:  # nothing is known about the operands: they take the shape of the result
        for x in operands:
            x.unify(result.dims)
        return
    sequence = _common_sequence(layer, operands)
    if all(x.dims is not None or x.undeclared for x in operands):
        if result.dims is None:
            result.unify([None] * max(x.rank or 0 for x in operands_known))
        result.set_sequence(sequence)
    if result.dims is None:
        return
    for x in operands:
        if x.undeclared:
            _adopt(layer, x, operands[0] if operands_known[0] is operands[0] else result)
    _check_rank(layer, operands)
    _name_result(layer, operands_known)
    for axis in range(len(result.dims)):
        _broadcast_axis(layer, operands, axis)


def _check_rank(layer: ShapeView, operands: Sequence[Features]) -> None:
    """Raise NNM402 if the declared result has another rank than the operands imply."""
    ranks = [len(x.dims) for x in operands if x.dims is not None]
    if len(ranks) == len(operands) and max(ranks) != layer.result.rank:
        largest = operands[ranks.index(max(ranks))]
        layer.fail("NNM402", f"declared {layer.result}, inferred {largest}", at="shape")


def _common_sequence(layer: ShapeView, operands: Sequence[Features]) -> str | None:
    """Return the name of the sequence that the operands share, if they have one."""
    names = {x.sequence for x in operands if x.sequence}
    if len(names) > 1:
        both = " and ".join(f'"{name}"' for name in sorted(names))
        layer.fail("NNM411", both, hint="only tensors with the same sequence can be combined")
    return next(iter(names), None)


def _adopt(layer: ShapeView, parameter: Features, source: Features) -> None:
    """Give a new parameter the full feature shape of the input, and infer the input from it."""
    try:
        equate(parameter, source)
    except Conflict:
        layer.fail("NNM401", f"{source} and {parameter}", hint="the shapes do not broadcast")
    if not parameter.names or not any(parameter.names):
        parameter.set_names(source.names)


def _name_result(layer: ShapeView, operands: Sequence[Features]) -> None:
    """Give the result the names of the first operand of its rank that has names."""
    rank = layer.result.rank
    named = next((x for x in operands if x.rank == rank and any(x.names)), None)
    if named is not None:
        layer.result.set_names(named.names)


def _broadcast_axis(layer: ShapeView, operands: Sequence[Features], axis: int) -> None:
    """Exchange sizes along one axis of the result."""
    result = layer.result
    assert result.dims is not None
    cells: list[tuple[Features, int]] = []
    for x in operands:
        if x.dims is None:
            return
        positions = places(x.names, result.names)
        if axis in positions:
            cells.append((x, positions.index(axis)))
    sizes = [x.dims[k] for x, k in cells if x.dims is not None]
    larger = {size for size in sizes if size is not None and size != 1}
    if len(larger) > 1:
        layer.fail(
            "NNM401",
            " and ".join(str(x) for x in operands),
            hint="the shapes do not broadcast",
        )
    try:
        if larger:
            result.unify_size(axis, next(iter(larger)))
        elif None not in sizes:
            result.unify_size(axis, 1)
    except Conflict:
        inferred = max(size or 1 for size in sizes)
        layer.fail(
            "NNM402", f"declared {result}, inferred {inferred} in dimension {axis}", at="shape"
        )
    # Backwards: a single unknown operand takes the result's size if no other operand explains it.
    unknown = [(x, k) for x, k in cells if x.dims and x.dims[k] is None and not x.undeclared]
    if len(unknown) == 1 and result.dims[axis] is not None:
        x, k = unknown[0]
        x.unify_size(k, result.dims[axis])


def build_broadcast(builder: Builder, layer: BuildView) -> LayoutTensor:
    """Align the operands and apply the operator, folded from the left over more than two."""
    names = [features.names for features in layer.features]
    tensors, layout, sequence = broadcast_operands(layer, layer.operands, names)
    options = tensor_options(layer)
    if len(tensors) > len(layer.operator.operands):
        result = reduce(lambda a, b: builder.apply(layer.operator, [a, b], options), tensors)
    else:
        result = builder.apply(layer.operator, tensors, options)
    return LayoutTensor(result, layout, sequence)


def broadcast_operands(
    layer: BuildView, values: Sequence[LayoutTensor], names: Sequence[Sequence[str | None]]
) -> tuple[list[Any], tuple[Role, ...], str | None]:
    """Return values as tensors that broadcast, their common layout, and the sequence's name.

    `names` are the dimension names of each value. Raises NNM411 if sequences differ in length.
    """
    largest = max(range(len(values)), key=lambda i: values[i].rank)

    def match(number: int, rank: int) -> list[int]:
        return places(names[number], names[largest] or (None,) * rank)

    sequences = {v.size("sequence") for v in values if "sequence" in v.layout}
    if len(sequences) > 1:
        lengths = " and ".join(map(str, sorted(sequences)))
        layer.fail("NNM411", f"sequences of length {lengths}", hint="the lengths have to agree")
    tensors, layout = align_tensors(values, match)
    return tensors, layout, next((v.sequence for v in values if v.sequence), None)
