"""From the messages of an ONNX model to a tensor graph with fixed sizes."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import is_float
from webnnm.core.errors import DataError, WebNNMError
from webnnm.core.shapes import count, show
from webnnm.formats.onnx import tensors
from webnnm.formats.onnx.importing.call import Call, Scope
from webnnm.formats.onnx.importing.folding import FoldingBuilder, empty
from webnnm.formats.onnx.importing.refusals import missing, spoken, too_large, unsupported
from webnnm.formats.onnx.importing.sizes import Shapes, Sizes, misfit
from webnnm.formats.onnx.importing.table import Entry, entries
from webnnm.formats.onnx.messages import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    OperatorSetIdProto,
)
from webnnm.formats.onnx.reader import invalid
from webnnm.graph.node import Graph, InputNode, Operand, OperatorNode
from webnnm.ops.declare.tensors import TensorType

MOST_CALLS = 50_000
"""How many nodes a model has at most, with functions and loops counted as often as they run."""
MOST_DEEP = 32
"""The deepest nesting of functions and subgraphs."""
NEWEST = 28
"""The newest opset for which the table was written."""


@dataclass(frozen=True)
class Imported:
    """An imported model: its graph, and the values of the inputs that stand for its weights."""

    graph: Graph
    parameters: Mapping[str, HostArray]

    @property
    def inputs(self) -> dict[str, TensorType]:
        """The types of the inputs that take data."""
        return {
            name: operand.type
            for name, operand in self.graph.inputs.items()
            if name not in self.parameters
        }


def import_model(
    model: ModelProto,
    shapes: Shapes | None = None,
    *,
    known: Mapping[str, HostArray] | None = None,
    external: tensors.External = tensors.no_external,
) -> Imported:
    """Return the graph of a model for sizes of its free dimensions.

    `shapes` gives the size of a dimension by its name, `{"batch": 1}`, or all sizes of an input,
    `{"image": [1, 3, 224, 224]}`. `known` has the values of inputs that shapes depend on: they are
    constants of the graph. `external` fetches weights from other files.

    Weights, the float initializers of more than one element, are inputs of the graph under their
    names; all other initializers are constants. Booleans are uint8, 0 and 1.

    >>> from webnnm.formats.onnx.messages import *
    >>> dims = TensorShapeProto([DimensionProto(dim_param="batch")])
    >>> info = lambda name: ValueInfoProto(name, TypeProto(TensorTypeProto(1, dims)))
    >>> graph = GraphProto([NodeProto(["x"], ["y"], op_type="Relu")], "net")
    >>> graph.input, graph.output = [info("x")], [info("y")]
    >>> model = ModelProto(graph=graph, opset_import=[OperatorSetIdProto("", 21)])
    >>> import_model(model, {"batch": 2}).graph.outputs["y"]
    float32[2]

    Raises `DataError` NNM811 for a model that contradicts itself, NNM812 for an operator that is
    not supported, NNM813 for a free dimension without a size, NNM814 for a type that WebNN does not
    have, NNM815 for a model that exceeds limits, NNM816 for shapes that depend on data.
    """
    if model.graph is None:
        raise invalid("it has no graph")
    importer = Importer(model, external)
    return importer.whole(model.graph, shapes or {}, known or {})


class Importer:
    """Imports the graph of one model; subgraphs and functions are imported where they are used."""

    def __init__(self, model: ModelProto, external: tensors.External) -> None:
        self.parameters: dict[str, HostArray] = {}
        self.builder = FoldingBuilder(self.parameters)
        self.external = external
        self._functions = {(_domain(f.domain), f.name, f.overload): f for f in model.functions}
        self._versions = _versions(model.opset_import)
        self._table = entries()
        self.declared: Mapping[str, int] = _declared(model.graph)
        self._calls = self._depth = 0

    def whole(self, graph: GraphProto, shapes: Shapes, known: Mapping[str, HostArray]) -> Imported:
        """Import the graph of the model."""
        scope: Scope = {}
        self._initialise(graph, scope, parameters=True)
        sizes = Sizes(shapes, graph.input)
        for info in graph.input:
            if info.name not in scope:
                type = sizes.type(info)
                scope[info.name] = self._input(info.name, type, known.get(info.name))
        self._run(graph.node, scope)
        outputs = {info.name: self._output(info.name, scope) for info in graph.output}
        if not outputs:
            raise invalid("its graph has no outputs")
        found = self.builder.build(outputs)
        return _without_unused(found, self.parameters)

    def _input(self, name: str, type: TensorType, known: HostArray | None) -> Operand:
        """Return an input of the model: a constant if it is known, or has no elements."""
        if known is not None:
            return self.builder.constant(_as(known, type))
        if not count(type.shape):
            return self.builder.constant(empty(*type))
        return self.builder.input(name, type.dtype, type.shape)

    def subgraph(
        self, graph: GraphProto, outer: Scope, given: Sequence[Operand | None] = ()
    ) -> list[Operand]:
        """Return the outputs of a subgraph, which may use all values of the outer graph."""
        if len(given) != len(graph.input):
            raise invalid(f"a graph of {len(graph.input)} inputs is given {len(given)}")
        scope = dict(outer)
        scope |= {info.name: x for info, x in zip(graph.input, given, strict=True)}
        self._initialise(graph, scope, parameters=False)
        with self._deeper():
            self._run(graph.node, scope)
        return [self._value(info.name, scope) for info in graph.output]

    def _initialise(self, graph: GraphProto, scope: Scope, *, parameters: bool) -> None:
        if graph.sparse_initializer:
            raise DataError(
                "NNM814",
                "the model has sparse tensors, which WebNN does not have",
                hint="export it with dense weights",
            )
        for tensor in graph.initializer:
            array = tensors.host_array(tensor, self.external)
            if parameters and is_float(array.dtype) and count(array.shape) > 1:
                if tensor.name in self.parameters:
                    raise invalid(f'two weights are called "{tensor.name}"')
                self.parameters[tensor.name] = array
                found = self.builder.input(tensor.name, array.dtype, array.shape)
            else:
                found = self.builder.constant(array)
            scope[tensor.name] = found

    def _run(self, nodes: Sequence[NodeProto], scope: Scope) -> None:
        """Import nodes in their order."""
        made: set[str] = set()
        for node in nodes:
            results = self._results(node, scope)
            for name, result in zip(node.output, results, strict=False):
                if not name:
                    continue
                if name in made:
                    raise invalid(f'two nodes compute the value "{name}"')
                made.add(name)
                scope[name] = result

    def _results(self, node: NodeProto, scope: Scope) -> Sequence[Operand | None]:
        """Return the results of a node."""
        self._calls += 1
        if self._calls > MOST_CALLS:
            raise too_large("the model, with its loops and functions", self._calls, MOST_CALLS)
        domain = _domain(node.domain)
        given = [self._value(name, scope) if name else None for name in node.input]
        function = self._functions.get((domain, node.op_type, node.overload))
        if function is not None:
            return self._expanded(function, node, given)
        opset = self._versions.get(domain)
        entry = self._table.get((domain, node.op_type))
        if entry is None:
            names = [name for place, name in self._table if place == domain]
            raise missing(node, opset or 0, names)
        if opset is None:
            raise invalid(
                f'{spoken(node)} is of the domain "{domain}", which is not in opset_import'
            )
        if domain == "" and opset > NEWEST:
            raise unsupported(node, opset, f"opsets up to {NEWEST} are supported")
        return self._called(entry, Call(self, node, opset, scope), given)

    def _called(
        self, entry: Entry, call: Call, given: list[Operand | None]
    ) -> Sequence[Operand | None]:
        """Return the results of importing a node by its entry in the table."""
        node = call.node
        while len(given) > entry.least and given[-1] is None:
            given.pop()
        if (
            not entry.least <= len(given)
            or (entry.most is not None and len(given) > entry.most)
            or None in given[: entry.least]
        ):
            raise invalid(f"{spoken(node)} has {len(given)} inputs")
        try:
            with self.builder.place(node.name or node.op_type):
                found = entry.function(call, *given)
        except WebNNMError as error:
            if error.code.startswith("NNM8"):
                raise
            raise unsupported(node, call.opset, error.message, error.hint) from error
        except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
            raise invalid(
                f"{spoken(node)}: its inputs and attributes do not fit: {error}"
            ) from error
        results = [found] if isinstance(found, Operand) else list(found)
        if any(node.output[len(results) :]):
            raise unsupported(node, call.opset, f"its output {len(results)} is not supported")
        return results

    def _expanded(
        self, function: FunctionProto, node: NodeProto, given: Sequence[Operand | None]
    ) -> list[Operand | None]:
        """Return the results of a function of the model."""
        if len(given) > len(function.input):
            raise invalid(f"{spoken(node)} has {len(given)} inputs")
        scope: Scope = dict.fromkeys(function.input)
        scope |= zip(function.input, given, strict=False)
        attributes = {a.name: a for a in function.attribute_proto}
        attributes |= {a.name: a for a in node.attribute}
        outer = self._versions
        self._versions = outer | _versions(function.opset_import)
        try:
            with self._deeper():
                self._run([_bound(each, attributes) for each in function.node], scope)
        finally:
            self._versions = outer
        return [scope.get(name) for name in function.output]

    @contextmanager
    def _deeper(self) -> Generator[None]:
        """Count how deeply functions and graphs are nested."""
        self._depth += 1
        if self._depth > MOST_DEEP:
            raise too_large("the nesting of functions and graphs", self._depth, MOST_DEEP)
        try:
            yield
        finally:
            self._depth -= 1

    def _value(self, name: str, scope: Scope) -> Operand:
        found = scope.get(name)
        if found is None:
            raise invalid(f'the value "{name}" is used before it is computed')
        return found

    def _output(self, name: str, scope: Scope) -> Operand:
        """Return an output of the graph; an input or a constant is copied to it."""
        found = self._value(name, scope)
        if not count(found.shape):
            raise DataError(
                "NNM814",
                f'output "{name}" is {found}: an empty tensor, which WebNN does not have',
                hint="use other sizes, or another output",
            )
        return found if isinstance(found.node, OperatorNode) else self.builder.identity(found)


def _as(array: HostArray, type: TensorType) -> HostArray:
    """Return the value of an input in the input's type."""
    found = HostArray.of(array, type.dtype)
    if found.shape != type.shape:
        raise misfit(f"values of shape {show(found.shape)} for an input {type}")
    return found


def _declared(graph: GraphProto | None) -> dict[str, int]:
    """Return the types that the values of a graph are declared to have."""
    if graph is None:
        return {}
    infos = [*graph.input, *graph.output, *graph.value_info]
    return {tensor.name: tensor.data_type for tensor in graph.initializer} | {
        info.name: info.type.tensor_type.elem_type
        for info in infos
        if info.type is not None and info.type.tensor_type is not None
    }


def _domain(name: str) -> str:
    return "" if name == "ai.onnx" else name


def _versions(imported: Sequence[OperatorSetIdProto]) -> dict[str, int]:
    return {_domain(each.domain): each.version for each in imported}


def _bound(node: NodeProto, values: Mapping[str, AttributeProto]) -> NodeProto:
    """Return a node of a function with the function's attributes in place of their names."""
    found: list[AttributeProto] = []
    for attribute in node.attribute:
        if attribute.ref_attr_name:
            value = values.get(attribute.ref_attr_name)
            if value is None:
                continue
            attribute = replace(value, name=attribute.name)
        elif attribute.g is not None:
            graph = attribute.g
            nodes = [_bound(each, values) for each in graph.node]
            attribute = replace(attribute, g=replace(graph, node=nodes))
        found.append(attribute)
    return replace(node, attribute=found)


def _without_unused(graph: Graph, parameters: Mapping[str, HostArray]) -> Imported:
    """Return the graph without weights that are not used."""
    used = {node.name for node in graph.nodes() if isinstance(node, InputNode)}
    kept = {name: array for name, array in parameters.items() if name in used}
    inputs = {
        name: operand
        for name, operand in graph.inputs.items()
        if name in kept or name not in parameters
    }
    return Imported(Graph(graph.outputs, inputs), kept)
