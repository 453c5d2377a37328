"""A description of an ONNX model: its inputs and outputs, its weights, its operators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from webnnm.core.shapes import count
from webnnm.formats.onnx.messages import (
    DimensionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    ValueInfoProto,
)
from webnnm.formats.onnx.tensors import DTYPES, NAMES


@dataclass(frozen=True)
class ValueInfo:
    """The type of an input or output: free dimensions are names, or None if they have none.

    >>> print(ValueInfo("float32", ("batch", 3, None)))
    float32[batch, 3, ?]

    `shape` is None if not even the number of dimensions is known.
    """

    dtype: str
    shape: tuple[int | str | None, ...] | None

    def __str__(self) -> str:
        if self.shape is None:
            return f"{self.dtype}[…]"
        sizes = ("?" if size is None else str(size) for size in self.shape)
        return f"{self.dtype}[{', '.join(sizes)}]"


def inputs(graph: GraphProto) -> dict[str, ValueInfo]:
    """Return the inputs that take data."""
    return values(data_inputs(graph))


def data_inputs(graph: GraphProto) -> list[ValueInfoProto]:
    """Return the messages of the inputs that are not weights."""
    own = {tensor.name for tensor in graph.initializer}
    return [info for info in graph.input if info.name not in own]


def is_supported(info: ValueInfoProto) -> bool:
    """Return whether a value is a tensor of a type that WebNN has, or a wider one for."""
    tensor = info.type.tensor_type if info.type is not None else None
    return tensor is not None and tensor.elem_type in DTYPES


def values_taken(node: NodeProto) -> set[str]:
    """Return the values that a node takes, including those of its subgraphs."""
    taken = {name for name in node.input if name}
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            if graph is not None:
                taken |= {info.name for info in graph.output}
                for inner in graph.node:
                    taken |= values_taken(inner)
    return taken


def values(infos: Iterable[ValueInfoProto]) -> dict[str, ValueInfo]:
    """Return the types of values by name."""
    return {info.name: _value(info) for info in infos}


def _value(info: ValueInfoProto) -> ValueInfo:
    tensor = info.type.tensor_type if info.type is not None else None
    if tensor is None:
        return ValueInfo("no tensor", None)
    dims = None if tensor.shape is None else tensor.shape.dim
    shape = None if dims is None else tuple(_dimension(dim) for dim in dims)
    return ValueInfo(NAMES.get(tensor.elem_type, f"number {tensor.elem_type}"), shape)


def _dimension(dim: DimensionProto) -> int | str | None:
    fixed = dim.dim_value is not None and dim.dim_value >= 0
    return dim.dim_value if fixed else dim.dim_param or None


def nodes(graph: GraphProto) -> Iterator[NodeProto]:
    """Yield the nodes of a graph and of the graphs within it."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                if inner is not None:
                    yield from nodes(inner)


def value_rows(graph: GraphProto) -> Iterator[dict[str, str]]:
    """Yield the name, operator and, if the file says so, type of each value that nodes compute."""
    infos = [*graph.value_info, *graph.output]
    types = values(info for info in infos if info.type is not None)
    for node in graph.node:
        for name in node.output if node.op_type != "Constant" else ():
            if name:
                type = str(types[name]) if name in types else ""
                yield {"name": name, "operator": node.op_type, "type": type}


def description(model: ModelProto) -> str:
    """Return a description of a model in a few lines."""
    graph = model.graph or GraphProto()
    opsets = ", ".join(
        f"{opset.domain or 'ai.onnx'} {opset.version}" for opset in model.opset_import
    )
    producer = f"{model.producer_name} {model.producer_version}".strip() or "an unknown program"
    elements = sum(count(tensor.dims) for tensor in graph.initializer)
    counts = Counter(f"{node.domain}.{node.op_type}".lstrip(".") for node in nodes(graph))
    operators = ", ".join(f"{name} {n}" if n > 1 else name for name, n in sorted(counts.items()))
    return "\n".join(
        [
            f'ONNX model "{graph.name}", made by {producer}, opset {opsets}',
            *(f"  input   {name}: {value}" for name, value in inputs(graph).items()),
            *(f"  output  {name}: {value}" for name, value in values(graph.output).items()),
            f"  weights {elements:,} numbers in {len(graph.initializer)} tensors",
            f"  nodes   {counts.total()}: {operators}",
        ]
    )
