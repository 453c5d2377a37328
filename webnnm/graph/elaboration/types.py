"""Infer the data type of every layer, from which casts follow on lowering (spec B.5)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from webnnm.core.dtypes import ANY, DataType, highest, holds, is_float, is_upcast
from webnnm.graph.elaboration.infer import layer_error
from webnnm.graph.elaboration.outline import Outline
from webnnm.graph.elaboration.vertices import (
    ConstantVertex,
    LayerVertex,
    LiteralVertex,
    Network,
    Output,
    ParameterVertex,
    Source,
    result_type,
)

LOSSY_CASTS = {("uint32", "int32"), ("int32", "float16")}
"""Implicit casts that may lose range without a lower precedence (NNM007)."""


def infer_types(network: Network) -> None:
    """Give every layer the type that it computes in, and every output the type that it has.

    Raises `ModelError` NNM501, NNM502, NNM503.
    """
    for layer in network.order:
        _infer_layer(network.outline, layer)
    for output in network.outputs:
        _infer_output(network.outline, output)


def _infer_layer(outline: Outline, layer: LayerVertex) -> None:
    sources = _promoting(layer)
    flowing: list[DataType] = [
        result_type(s) for s in sources if not isinstance(s.vertex, LiteralVertex)
    ]
    free: list[DataType] = [
        dtype
        for s, dtype in zip(_drop_literals(sources), flowing, strict=True)
        if not _trainable(s)
    ]
    compute = layer.written_type or (highest(free) if free else "float32")
    allowed = _computing_types(layer)
    floats_only = all(map(is_float, allowed))
    if (floats_only or any(map(_trainable, sources))) and not is_float(compute):
        if layer.written_type is not None:
            message = f'"{layer.operator.name}" cannot compute in {compute}'
            raise layer_error(outline, layer, "NNM501", message, layer.places.get("dataType"))
        compute = "float32"
    if layer.rules.casts:
        _check_upcasts(outline, layer, compute, zip(_drop_literals(sources), flowing, strict=True))
    _check_allowed(outline, layer, compute, allowed)
    _check_literals(outline, layer, compute)
    layer.dtype = compute
    result = layer.rules.dtype(compute, layer.options, _slot_types(layer))
    layer.result_types = (
        [result] * len(layer.features) if isinstance(result, str) else list[DataType](result)
    )
    if not layer.rules.casts and not layer.options.get("type"):
        if layer.written_type is None:
            raise layer_error(
                outline, layer, "NNM304", f'"{layer.operator.name}" needs a data type'
            )
        layer.result_types = [layer.written_type] * len(layer.features)


def _promoting(layer: LayerVertex) -> list[Source]:
    """Return the sources that influence the layer's type."""
    silent = {slot.name for slot in layer.rules.slots if not slot.promotes}
    apart = layer.rules.condition or layer.rules.own_type
    operands = layer.operands[1:] if apart else layer.operands
    tensors = [s for name, s in layer.tensors.items() if name not in silent and "." not in name]
    return [*operands, *tensors]


def _slot_types(layer: LayerVertex) -> dict[str, DataType]:
    """Return the types of the input and of the tensor options by name."""
    types: dict[str, DataType] = {
        name: result_type(source) for name, source in layer.tensors.items()
    }
    if layer.operands:
        types["input"] = result_type(layer.operands[0])
    return types


def _drop_literals(sources: Iterable[Source]) -> list[Source]:
    return [source for source in sources if not isinstance(source.vertex, LiteralVertex)]


def _trainable(source: Source) -> bool:
    return isinstance(source.vertex, ParameterVertex) and source.vertex.trainable


def _check_upcasts(
    outline: Outline,
    layer: LayerVertex,
    compute: DataType,
    operands: Iterable[tuple[Source, DataType]],
) -> None:
    for source, dtype in operands:
        if not is_upcast(dtype, compute) and not _trainable(source):
            raise layer_error(
                outline,
                layer,
                "NNM503",
                f"{dtype} does not fit {compute}",
                layer.places.get("dataType"),
                f"write cast({compute}) before this layer",
            )
        if (dtype, compute) in LOSSY_CASTS and layer.written_type is None:
            outline.warn("NNM007", f"{dtype} to {compute} may lose range", layer.span)


def _computing_types(layer: LayerVertex) -> Collection[DataType]:
    """Return the types in which the operator can compute."""
    slots = layer.operator.operands
    leader = 1 if layer.rules.condition or layer.rules.own_type else 0
    return slots[leader].dtypes if len(slots) > leader else ANY


def _check_allowed(
    outline: Outline, layer: LayerVertex, compute: DataType, allowed: Collection[DataType]
) -> None:
    actual = compute
    if layer.rules.own_type:
        actual, allowed = result_type(layer.operands[0]), layer.operator.operands[0].dtypes
    if layer.rules.casts and actual not in allowed:
        names = ", ".join(sorted(allowed))
        message = f'"{layer.operator.name}" needs {names}; its input is {actual}'
        raise layer_error(outline, layer, "NNM501", message)


def _check_literals(outline: Outline, layer: LayerVertex, compute: DataType) -> None:
    for source in layer.sources():
        if isinstance(source.vertex, LiteralVertex):
            wrong = next((n for n in _numbers(source.vertex.data) if not holds(compute, n)), None)
            if wrong is not None:
                raise layer_error(
                    outline,
                    layer,
                    "NNM502",
                    f"{wrong} in a layer of {compute}",
                    source.vertex.span,
                    "write dataType=float32",
                )


def _numbers(data: list[Any] | float) -> Iterable[float]:
    if isinstance(data, list):
        for item in data:
            yield from _numbers(item)
    else:
        yield data


def _infer_output(outline: Outline, output: Output) -> None:
    port = output.block.output
    assert port is not None
    inferred = result_type(output.source)
    output.dtype = port.dtype or inferred
    if not is_upcast(inferred, output.dtype):
        raise outline.error(
            "NNM503",
            f"{inferred} does not fit {output.dtype}",
            port.dtype_span,
            f"end the layers with cast({output.dtype})",
        )


def constant_types(vertices: Iterable[ConstantVertex], outline: Outline) -> None:
    """Check that the numbers of named constants fit their types. Raises NNM115."""
    for vertex in vertices:
        flat = vertex.data if isinstance(vertex.data, list) else [vertex.data]
        wrong = next((number for number in flat if not holds(vertex.dtype, number)), None)
        if wrong is not None:
            message = f"{wrong} is not a value of {vertex.dtype}"
            raise outline.error("NNM115", message, vertex.span)
