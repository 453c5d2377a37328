"""Parts of ONNX models as blocks of a model text: the subgraph of a value, for any batch size.

An open file returns a part for each value that is requested. In a part the first dimension of the
input is free, whatever the file says, and normalisation uses the statistics in the file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import DataType, is_float
from webnnm.core.errors import DataError, suggestion
from webnnm.core.lru_cache import LruCache
from webnnm.core.shapes import Shape, count
from webnnm.formats.onnx import tensors
from webnnm.formats.onnx.described import data_inputs, values_taken
from webnnm.formats.onnx.exporting.file import set_external_data
from webnnm.formats.onnx.importing.importer import import_model
from webnnm.formats.onnx.messages import (
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    TensorTypeProto,
    TypeProto,
    ValueInfoProto,
)
from webnnm.formats.onnx.narrowing import narrow
from webnnm.formats.onnx.reader import invalid, read_model
from webnnm.formats.onnx.writer import serialize
from webnnm.graph.node import Graph

MAX_GRAPHS = 4
"""How many graphs for different batches and sizes a part keeps."""
MIN_EXTERNAL_SIZE = 1024
"""Weights with this many elements or more are not stored a second time, in a snapshot's file."""
STATISTICS = {("", "BatchNormalization"): (3, 4)}
"""Inputs of operators that are measured rather than trained."""
QUANTISING = ("QuantizeLinear", "DequantizeLinear", "QLinear", "Integer", "Quantize")
"""Prefixes and suffixes of the names of operators that take scales of quantised numbers."""


class ModelFile:
    """An ONNX model of which a text uses parts; `external` reads weights from other files.

    >>> from webnnm.formats.onnx.messages import OperatorSetIdProto
    >>> net = ModelProto(graph=GraphProto(), opset_import=[OperatorSetIdProto("", 21)])
    >>> net.graph.node = [NodeProto(["x"], ["y"], op_type="Relu")]
    >>> net.graph.input = [ValueInfoProto("x", TypeProto(TensorTypeProto(1)))]
    >>> net.graph.output = [ValueInfoProto("y")]
    >>> ModelFile(net).part("y").graph(3, (2,)).outputs
    {'y': float32[3, 2]}
    """

    def __init__(self, model: ModelProto, external: tensors.External = tensors.no_external) -> None:
        self._external = external
        graph = model.graph
        if graph is None:
            raise invalid("it has no graph")
        self._model = replace(model, graph=_with_weights(graph))
        self._parts: dict[str, ModelPart] = {}

    @property
    def _graph(self) -> GraphProto:
        assert self._model.graph is not None
        return self._model.graph

    @property
    def dtype(self) -> DataType:
        """The type of the first input; raises `DataError` NNM302 if there is none."""
        for info in data_inputs(self._graph):
            return _dtype(info)
        raise DataError("NNM302", "the graph in the file has no input")

    def part(self, value: str | None) -> ModelPart:
        """Return the part that computes a value, by default the only output.

        Raises `DataError` NNM205 for a value that does not exist, NNM304 if a value must be named,
        NNM302 for one that depends on several inputs, or on none.
        """
        name = self._only_output() if value is None else value
        if name not in self._parts:
            self._parts[name] = ModelPart(self._cut([name]), self._external)
        return self._parts[name]

    def pack_used(self, places: Mapping[str, str]) -> bytes:
        """Return the file with only what the parts in use need.

        Large weights are left out: `places` maps their names to where else they are stored. Whoever
        opens the file fetches them from there with `external`.
        """
        model = self._cut(list(self._parts))
        assert model.graph is not None
        return serialize(move_to_external_data(model, self._external, places))

    def _only_output(self) -> str:
        names = [info.name for info in self._graph.output]
        if len(names) != 1:
            raise DataError(
                "NNM304",
                f"the graph in the file has {len(names)} outputs",
                hint=f'say which one: at="{names[0]}"' if names else 'at="…" names a value of it',
            )
        return names[0]

    def _cut(self, values: Collection[str]) -> ModelProto:
        """Return the model reduced to what computes some values, which become its outputs."""
        graph = self._graph
        makers = {name: node for node in graph.node for name in node.output if name}
        for value in values:
            if value not in makers:
                hint = suggestion(value, makers) or f"its outputs are {_quote_names(graph.output)}"
                message = f'the graph in the file computes no value "{value}"'
                raise DataError("NNM205", message, hint=hint)
        used, nodes = set(values), set[int]()
        waiting = list(values)
        while waiting:
            node = makers.get(waiting.pop())
            if node is None or id(node) in nodes:
                continue
            nodes.add(id(node))
            more = values_taken(node) - used
            used |= more
            waiting += more
        cut = replace(
            graph,
            node=[_inference(node) for node in graph.node if id(node) in nodes],
            initializer=[tensor for tensor in graph.initializer if tensor.name in used],
            input=[info for info in graph.input if info.name in used or not values],
            output=[ValueInfoProto(value) for value in values],
        )
        return replace(self._model, graph=cut)


class ModelPart:
    """The part of a model that computes one value: a graph of one input, for any batch size."""

    def __init__(self, model: ModelProto, external: tensors.External) -> None:
        assert model.graph is not None
        graph = model.graph
        data = data_inputs(graph)
        if len(data) != 1:
            inputs = f"the inputs {_quote_names(data)}" if data else "no input"
            message = f'the value "{graph.output[0].name}" depends on {inputs}'
            raise DataError(
                "NNM302", message, hint="a block takes one: choose another value with at="
            )
        (info,) = data
        self.input = info.name
        self.dtype = _dtype(info)
        self.sizes = _row(info)
        self.parameters = weights_of(model, external)
        self.fixed = frozenset(_find_measured_weights(graph.node))
        free = ValueInfoProto(info.name, TypeProto(TensorTypeProto(_code(info))))
        graph_inputs = [free if graph_input is info else graph_input for graph_input in graph.input]
        self._model = replace(model, graph=replace(graph, input=graph_inputs))
        self._external = external
        self._graphs = LruCache[tuple[int, Shape], Graph](MAX_GRAPHS)

    def graph(self, batch: int, sizes: Shape) -> Graph:
        """Return the graph for a batch of these sizes: its inputs are `input` and weights.

        Raises `DataError` NNM811 … NNM816 if it cannot be imported for these sizes.
        """
        key = (batch, tuple(sizes))
        graph = self._graphs.get(key)
        if graph is None:
            shapes = {self.input: [batch, *sizes]}
            graph = import_model(self._model, shapes, external=self._external).graph
            self._graphs[key] = graph
        return graph


def move_to_external_data(
    model: ModelProto, external: tensors.External, places: Mapping[str, str]
) -> ModelProto:
    """Return a model without its large weights, which are stored at `places`, by name."""

    def store(tensor: TensorProto) -> TensorProto:
        if tensor.data_type not in tensors.DTYPES:  # nothing that can be imported uses it
            return tensor
        data = memoryview(tensors.content(tensor, external)).cast("B")
        stored = TensorProto(tensor.dims, tensor.data_type, name=tensor.name, raw_data=data)
        if tensor.name in places and count(tensor.dims) >= MIN_EXTERNAL_SIZE:
            set_external_data(stored, places[tensor.name])
        return stored

    assert model.graph is not None
    weights = [store(tensor) for tensor in model.graph.initializer]
    return replace(model, graph=replace(model.graph, initializer=weights))


def weights_of(
    model: ModelProto, external: tensors.External, *, as_stored: bool = False
) -> dict[str, HostArray]:
    """Return the float tensors of a model with more than one element, by name.

    Those of float64 are narrowed, or left out if the bytes in the file are wanted, `as_stored`.
    """
    weights: dict[str, HostArray] = {}
    for tensor in (model.graph or GraphProto()).initializer:
        dtype = tensors.DTYPES.get(tensor.data_type)
        if dtype is None or not is_float(dtype) or count(tensor.dims) <= 1:
            continue
        if dtype != "float64" or not as_stored:
            weights[tensor.name] = narrow(tensors.host_array(tensor, external))
    return weights


def open_onnx(data: object, external: tensors.External = tensors.no_external) -> ModelFile:
    """Return the file in some bytes. Raises `DataError` NNM801 or NNM811 for a damaged one."""
    return ModelFile(read_model(data), external)


def _code(info: ValueInfoProto) -> int:
    tensor = info.type.tensor_type if info.type is not None else None
    return 0 if tensor is None else tensor.elem_type


def _dtype(info: ValueInfoProto) -> DataType:
    dtype = tensors.dtype(_code(info), f'input "{info.name}"')
    return "float32" if dtype == "float64" else dtype


def _row(info: ValueInfoProto) -> tuple[int | None, ...] | None:
    """Return the sizes after the first, None for those that are free."""
    tensor = info.type.tensor_type if info.type is not None else None
    if tensor is None or tensor.shape is None:
        return None
    values = [dim.dim_value for dim in tensor.shape.dim[1:]]
    return tuple([value if value and value > 0 else None for value in values])


def _quote_names(infos: Collection[ValueInfoProto]) -> str:
    return ", ".join(f'"{info.name}"' for info in infos)


def _with_weights(graph: GraphProto) -> GraphProto:
    """Return the graph with weights that some programs write as nodes made initializers."""
    weights: list[TensorProto] = []
    nodes: list[NodeProto] = []
    for node in graph.node:
        tensor = _constant(node)
        if tensor is None:
            nodes.append(node)
        else:
            weights.append(replace(tensor, name=node.output[0]))
    return replace(graph, node=nodes, initializer=[*graph.initializer, *weights])


def _constant(node: NodeProto) -> TensorProto | None:
    """Return the float tensor that a node is, if it is one that could be trained."""
    if node.op_type != "Constant" or node.domain not in ("", "ai.onnx") or len(node.output) != 1:
        return None
    tensor = next((a.t for a in node.attribute if a.name == "value"), None)
    if tensor is None or tensors.NAMES.get(tensor.data_type) not in ("float32", "float16"):
        return None
    return tensor if count(tensor.dims) > 1 else None


def _inference(node: NodeProto) -> NodeProto:
    """Return a node in inference mode: normalisation uses the statistics in the file."""
    if node.op_type != "BatchNormalization":
        return node
    attributes = [attribute for attribute in node.attribute if attribute.name != "training_mode"]
    return replace(node, attribute=attributes, output=node.output[:1])


def _find_measured_weights(nodes: Collection[NodeProto]) -> Iterator[str]:
    """Yield the weights that are measured rather than trained: statistics, scales of integers."""
    for node in nodes:
        indices = STATISTICS.get((node.domain.removeprefix("ai.onnx"), node.op_type), ())
        yield from (node.input[index] for index in indices if index < len(node.input))
        if node.op_type.startswith(QUANTISING) or node.op_type.endswith(QUANTISING):
            yield from node.input
