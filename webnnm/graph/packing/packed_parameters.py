"""Which parameters of a network are packed, and what represents them in graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webnnm.core.errors import DataError, ModelError
from webnnm.core.shapes import count
from webnnm.graph.elaboration.vertices import LayerVertex, Network, ParameterVertex
from webnnm.graph.packing.packing import BLOCK, KINDS, Packing

if TYPE_CHECKING:
    from webnnm.graph.builder import GraphBuilder
    from webnnm.graph.node import Operand

EXPERTS = "expertMatmul"
"""The operator whose parameter has a matrix for each expert."""
MIN_ELEMENTS = 1024
"""Matrices with fewer elements are left alone."""


def packings(network: Network, kind: str, block: int = BLOCK) -> dict[str, Packing]:
    """Return, by name, how the matrices of a network are stored as a kind; others are left alone.

    Matrices multiply in `matmul` and `attend` layers, in those of experts, which have several in
    one parameter, or are tables of `embedding` layers. Blocks
    are along the axis that is summed over; if they do not divide it, they have the next size that
    does. Tables are int8 if the others are int4: all scores depend on each of their rows.

    Raises `DataError` NNM704 for an unknown kind and for blocks without elements.
    """
    if kind not in KINDS:
        hint = f"one of {', '.join(KINDS)}; None for float32"
        raise DataError("NNM704", f"weights are {kind!r}", hint=hint)
    if isinstance(block, bool) or not isinstance(block, int) or block < 1:
        raise DataError("NNM704", f"block is {block!r}", hint="an integer from 1, such as 32")
    tables, experts = set[str](), set[str]()
    axes: dict[str, int | None] = {}
    for layer in network.layers:
        axes_of_layer = _axes(layer)
        for source in layer.sources():
            vertex = source.vertex
            if isinstance(vertex, ParameterVertex):
                axis = axes_of_layer.get(id(vertex))
                tables |= {vertex.name} if layer.operator.name == "embedding" else set()
                experts |= {vertex.name} if layer.operator.name == EXPERTS else set()
                axes[vertex.name] = axis if axes.get(vertex.name, axis) == axis else None
    result: dict[str, Packing] = {}
    for vertex in network.parameters:
        shape, axis = vertex.features[0].sizes(), axes.get(vertex.name)
        large = len(shape) > 1 and count(shape) >= MIN_ELEMENTS and vertex.dtype == "float32"
        if large and axis is not None and len(shape) == (3 if vertex.name in experts else 2):
            dtype = KINDS["int8" if kind == "int4" and vertex.name in tables else kind]
            result[vertex.name] = Packing(dtype, axis, _dividing(shape[axis], block))
    return result


def _axes(layer: LayerVertex) -> dict[int, int]:
    """Return the axes of a layer's matrices that are summed over, by the ids of the matrices."""
    match layer.operator.name:
        case "matmul":
            axis = 1 if layer.options.get("b_transpose") else 0
            return {id(source.vertex): axis for source in layer.operands[1:]}
        case "attend":
            own = [*layer.operands[1:], *(s for n, s in layer.tensors.items() if n == "o")]
            return {id(source.vertex): 0 for source in own}
        case operator if operator == EXPERTS:
            return {id(source.vertex): 1 for source in layer.operands[1:]}
        case "embedding":
            return {id(source.vertex): 1 for source in layer.operands[1:]}
        case _:
            return {}


def _dividing(size: int, block: int) -> int:
    """Return the largest divisor of a size from half a block to a block, or the next above."""
    near = range(min(block, size), block // 2, -1)
    return next((n for n in (*near, *range(block, size)) if size % n == 0), size)


def read_in_float16(network: Network) -> set[str]:
    """Return the names of the parameters that only layers which compute in float16 read."""
    kinds: dict[str, set[str]] = {}
    for layer in network.layers:
        for source in layer.sources():
            if isinstance(source.vertex, ParameterVertex):
                kinds.setdefault(source.vertex.name, set()).add(layer.dtype)
    return {name for name, types in kinds.items() if types == {"float16"}}


def unpack_input(b: GraphBuilder, name: str, vertex: ParameterVertex, training: bool) -> Operand:
    """Return a packed parameter as float32, from graph inputs for its parts if it has any.

    Raises `ModelError` NNM605 if training would change it.
    """
    packing, shape = vertex.packing, vertex.features[0].sizes()
    assert packing is not None
    if training and vertex.trainable:
        raise ModelError(
            "NNM605",
            f'the parameter "{vertex.name}" is stored as {packing}: it cannot be trained',
            hint="await model.add_lora() trains adapters alongside it; "
            "await webnnm.quantize(model, None) brings float32 back",
        )
    if not packing.on_device:
        return b.input(name, "float32", shape)
    with b.place(vertex.name, vertex.span):
        types = packing.types(shape)
        parts = {part: b.input(f"{name}/{part}", *type) for part, type in types.items()}
        return packing.unpack(b, parts)
