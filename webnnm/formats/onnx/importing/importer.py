"""From the messages of an ONNX model to a tensor graph with fixed sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import is_float
from webnnm.core.errors import DataError, WebNNMError
from webnnm.core.shapes import count, show
from webnnm.formats.onnx import tensors
from webnnm.formats.onnx.described import data_inputs, is_supported, values_taken
from webnnm.formats.onnx.importing.call import Call, Scope
from webnnm.formats.onnx.importing.folding import MAX_SHAPE_SIZE, FoldingBuilder, empty
from webnnm.formats.onnx.importing.refusals import (
    EmptyOutput,
    UnknownValue,
    describe_node,
    not_supported,
    too_large,
    unknown_operator,
)
from webnnm.formats.onnx.importing.short_integers import refuse_short, short_result
from webnnm.formats.onnx.importing.sizes import Shapes, Sizes, misfit
from webnnm.formats.onnx.importing.table import Entry, entries, find_entry
from webnnm.formats.onnx.messages import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    OperatorSetIdProto,
    TensorProto,
    ValueInfoProto,
)
from webnnm.formats.onnx.narrowing import explain, narrow, narrow_graph
from webnnm.formats.onnx.reader import invalid
from webnnm.graph.node import ConstantNode, Graph, InputNode, Operand, OperatorNode
from webnnm.ops.declare.tensors import TensorType
from webnnm.snapshots.safetensors import MAX_DIMENSIONS

MAX_CALLS = 50_000
"""How many nodes a model has at most, with functions and loops counted as often as they run."""
MAX_NESTING = 32
"""The deepest nesting of functions and subgraphs."""
NEWEST_OPSET = 28
"""The newest opset for which the table was written."""


@dataclass(frozen=True)
class Imported:
    """An imported model: its graph, and the values of the inputs that stand for its weights.

    `notes` say what the graph computes otherwise than the file says.
    """

    graph: Graph
    parameters: Mapping[str, HostArray]
    notes: Sequence[str] = ()

    @property
    def inputs(self) -> dict[str, TensorType]:
        """The types of the inputs that take data."""
        return {
            name: operand.type
            for name, operand in self.graph.inputs.items()
            if name not in self.parameters
        }


@dataclass(frozen=True)
class Segment:
    """Consecutive nodes of a model: those that can be imported before more values are known.

    The graph of `imported` computes results of these types; `constants` are results whose values
    do not depend on inputs. The nodes from `stop` on are left: they and the outputs use the values
    in `live`, and the first of them cannot be imported unless the values of `needs` are known.
    """

    imported: Imported | None
    types: Mapping[str, TensorType]
    constants: Mapping[str, HostArray]
    stop: int
    done: bool
    live: frozenset[str]
    needs: frozenset[str]


def import_model(
    model: ModelProto,
    shapes: Shapes | None = None,
    *,
    constants: Mapping[str, HostArray] | None = None,
    external: tensors.External = tensors.no_external,
    folds_floats: bool = True,
) -> Imported:
    """Return the graph of a model for sizes of its free dimensions.

    `shapes` gives the size of a dimension by its name, `{"batch": 1}`, or all sizes of an input,
    `{"image": [1, 3, 224, 224]}`. `constants` has the values of inputs that shapes depend on, which
    become constants of the graph. `external` fetches weights from other files. `folds_floats`:
    whether floats that are known are constants, rather than computed by the graph.

    Weights, the float initializers of more than one element, are inputs of the graph under their
    names; all other initializers are constants. Booleans are uint8, 0 and 1; float64 is float32,
    and integers of 16 bits are int32. Nodes that no output depends on are left out.

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
    importer = Importer(model, external, folds_floats=folds_floats)
    return importer.import_graph(model.graph, shapes or {}, constants or {})


def input_types(model: ModelProto, shapes: Shapes) -> dict[str, TensorType]:
    """Return the types of a model's inputs for sizes of its free dimensions."""
    graph = model.graph or GraphProto()
    sizes = Sizes(shapes, graph.input)
    return {info.name: sizes.type(info) for info in data_inputs(graph) if is_supported(info)}


def import_segment(
    model: ModelProto,
    first: int,
    types: Mapping[str, TensorType],
    constants: Mapping[str, HostArray],
    *,
    external: tensors.External = tensors.no_external,
) -> Segment:
    """Return the nodes of a model from one on, up to the first that needs values computed here.

    `types` has the types of earlier results that are used, `constants` the values of some of them.
    If one of these has more than `MAX_SHAPE_SIZE` elements, it is data: the segment is a single
    node.

    Raises what `import_model` raises; NNM816 if a node needs more than the values of its operands.
    """
    return Importer(model, external).import_segment(
        model.graph or GraphProto(), first, types, constants
    )


class Importer:
    """Imports the graph of one model; subgraphs and functions are imported where they are used."""

    def __init__(
        self, model: ModelProto, external: tensors.External, *, folds_floats: bool = True
    ) -> None:
        self.parameters: dict[str, HostArray] = {}
        self.builder = FoldingBuilder(self.parameters, folds_floats=folds_floats)
        self.external = external
        self._functions = {(_domain(f.domain), f.name, f.overload): f for f in model.functions}
        self._versions = _versions(model.opset_import)
        self.codes = _type_codes(model.graph)
        self._tensors: dict[int, tuple[TensorProto, Operand]] = {}
        self._trained: set[int] = set()
        self._uses = Counter[str]()
        self._calls = self._depth = 0

    def import_graph(
        self, graph: GraphProto, shapes: Shapes, constants: Mapping[str, HostArray]
    ) -> Imported:
        """Import the graph of the model."""
        scope = self._weights(graph)
        sizes = Sizes(shapes, graph.input)
        for info in graph.input:
            if info.name not in scope:
                scope[info.name] = self._model_input(info, sizes, constants.get(info.name))
        if not graph.output:
            raise invalid("its graph has no outputs")
        self._run(_live_nodes(graph), scope)
        outputs = {info.name: self._output(info.name, scope) for info in graph.output}
        return self._build(outputs)

    def _model_input(
        self, info: ValueInfoProto, sizes: Sizes, value: HostArray | None
    ) -> Operand | DataError:
        """Return an input of the model, or the error for who uses it if its type is missing."""
        try:
            type = sizes.type(info)
        except DataError as error:
            if is_supported(info):
                raise
            return error
        return self._input(info.name, type, value)

    def import_segment(
        self,
        graph: GraphProto,
        first: int,
        types: Mapping[str, TensorType],
        values: Mapping[str, HostArray],
    ) -> Segment:
        """Import nodes of the model; see `import_segment`."""
        nodes = _live_nodes(graph)
        scope = self._weights(graph)
        for name, type in types.items():
            scope[name] = self._input(name, type, values.get(name))
        for node in nodes[:first]:
            self._record_code(node, short_result(node, self.codes))
        single = any(count(array.shape) > MAX_SHAPE_SIZE for array in values.values())
        stop, needs = first, frozenset[str]()
        for node in nodes[first : first + 1] if single else nodes[first:]:
            try:
                self._run([node], scope)
            except UnknownValue as error:
                needs = _find_missing_values(node, scope, error.operand) - values.keys()
                if stop == first and not needs:
                    raise
                break
            stop += 1
        outputs = {info.name for info in graph.output}
        for name in outputs if stop == len(nodes) else ():
            scope[name] = self._value(name, scope)
        live = outputs.union(*map(values_taken, nodes[stop:]))
        results = {
            name: x
            for name, x in scope.items()
            if name in live and isinstance(x, Operand) and name not in types
        }
        constants = {
            name: x.node.array for name, x in results.items() if isinstance(x.node, ConstantNode)
        }
        computed = {name: self._output(name, scope) for name in results.keys() - constants.keys()}
        return Segment(
            self._build(computed) if computed else None,
            {name: x.type for name, x in results.items()},
            constants,
            stop,
            stop == len(nodes),
            frozenset(live),
            needs,
        )

    def _weights(self, graph: GraphProto) -> Scope:
        """Return the tensors of the model's graph; those of floats are weights."""
        self._trained |= {id(tensor) for tensor in graph.initializer}
        names = [tensor.name for tensor in graph.initializer]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise invalid(f'two weights are called "{twice}"')
        scope: Scope = {}
        self._initialise(graph, scope)
        return scope

    def _build(self, outputs: Mapping[str, Operand]) -> Imported:
        graph = self.builder.build(outputs)
        notes = explain(graph)
        return _without_unused(narrow_graph(graph), self.parameters, notes)

    def _input(self, name: str, type: TensorType, value: HostArray | None) -> Operand:
        """Return an input of the model: a constant if it is known, or has no elements."""
        if value is not None:
            return self.builder.constant(_convert(value, type))
        if not count(type.shape):
            return self.builder.constant(empty(*type))
        return self._declare(name, type)

    def _declare(self, name: str, type: TensorType) -> Operand:
        """Return an input of the graph; one of float64 is given as float32."""
        if type.dtype != "float64":
            return self.builder.input(name, type.dtype, type.shape)
        return self.builder.cast(self.builder.input(name, "float32", type.shape), type="float64")

    def subgraph(
        self, graph: GraphProto, outer: Scope, inputs: Sequence[Operand | None] = ()
    ) -> list[Operand]:
        """Return the outputs of a subgraph, which may use all values of the outer graph."""
        if len(inputs) != len(graph.input):
            raise invalid(f"a graph of {len(graph.input)} inputs is given {len(inputs)}")
        scope = dict(outer)
        scope |= {info.name: x for info, x in zip(graph.input, inputs, strict=True)}
        self._initialise(graph, scope)
        with self._deeper():
            self._run(_live_nodes(graph), scope)
        return [self._value(info.name, scope) for info in graph.output]

    def _initialise(self, graph: GraphProto, scope: Scope) -> None:
        if graph.sparse_initializer:
            raise DataError(
                "NNM814",
                "the model has sparse tensors, which WebNN does not have",
                hint="export it with dense weights",
            )
        for tensor in graph.initializer:
            scope[tensor.name] = tensor
            self.codes[tensor.name] = tensor.data_type

    def uses(self, node: NodeProto) -> int:
        """Return how often a node that draws random numbers was imported before."""
        self._uses[node.output[0]] += 1
        return self._uses[node.output[0]] - 1

    def tensor(self, tensor: TensorProto) -> Operand:
        """Return a tensor of the file: a weight, or a constant."""
        if id(tensor) in self._tensors:
            return self._tensors[id(tensor)][1]
        array = tensors.host_array(tensor, self.external)
        if id(tensor) in self._trained and is_float(array.dtype) and count(array.shape) > 1:
            self.parameters[tensor.name] = narrow(array)
            x = self._declare(tensor.name, TensorType(array.dtype, array.shape))
        else:
            x = self.builder.table(array)
        self._tensors[id(tensor)] = tensor, x
        return x

    def _run(self, nodes: Sequence[NodeProto], scope: Scope) -> None:
        """Import nodes in their order."""
        for node in nodes:
            results = self._results(node, scope)
            self._record_code(node, short_result(node, self.codes))
            scope |= {name: x for name, x in zip(node.output, results, strict=False) if name}

    def _record_code(self, node: NodeProto, code: int | None) -> None:
        """Remember whether the results of a node are integers of 16 bits."""
        for name in node.output:
            if code is not None:
                self.codes[name] = code
            elif self.codes.get(name) in tensors.SHORT:
                del self.codes[name]

    def _results(self, node: NodeProto, scope: Scope) -> Sequence[Operand | None]:
        """Return the results of a node."""
        self._calls += 1
        if self._calls > MAX_CALLS:
            raise too_large("the model, with its loops and functions", self._calls, MAX_CALLS)
        domain = _domain(node.domain)
        opset = self._versions.get(domain)
        function = self._functions.get((domain, node.op_type, node.overload))
        entry = None if function else find_entry(domain, node.op_type)
        if function is None and entry is None:
            names = [name for entry_domain, name in entries() if entry_domain == domain]
            raise unknown_operator(node, opset or 0, names)
        operands = [self._value(name, scope) if name else None for name in node.input]
        if function is not None:
            return self._inline_function(function, node, operands)
        if opset is None:
            raise invalid(
                f'{describe_node(node)} is of the domain "{domain}", which is not in opset_import'
            )
        if domain == "" and opset > NEWEST_OPSET:
            raise not_supported(node, opset, f"opsets up to {NEWEST_OPSET} are supported")
        refuse_short(node, self.codes)
        assert entry is not None
        return self._import_operator(entry, Call(self, node, opset, scope), operands)

    def _import_operator(
        self, entry: Entry, call: Call, operands: list[Operand | None]
    ) -> Sequence[Operand | None]:
        """Return the results of importing a node by its entry in the table."""
        node = call.node
        while len(operands) > entry.least and operands[-1] is None:
            operands.pop()
        if (
            not entry.least <= len(operands)
            or (entry.most is not None and len(operands) > entry.most)
            or any(
                x is None and k not in entry.absent for k, x in enumerate(operands[: entry.least])
            )
        ):
            raise invalid(f"{describe_node(node)} has {len(operands)} inputs")
        try:
            with self.builder.place(node.name or node.op_type):
                returned = entry.function(call, *operands)
        except WebNNMError as error:
            if error.code.startswith("NNM8"):
                raise
            raise not_supported(node, call.opset, error.message, error.hint) from error
        except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
            raise invalid(
                f"{describe_node(node)}: its inputs and attributes do not fit: {error}"
            ) from error
        results = [returned] if isinstance(returned, Operand) else list(returned)
        if (rank := max((result.rank for result in results if result), default=0)) > MAX_DIMENSIONS:
            raise too_large(f"the rank of {describe_node(node)}", rank, MAX_DIMENSIONS)
        if any(node.output[len(results) :]):
            raise not_supported(node, call.opset, f"its output {len(results)} is not supported")
        return results

    def _inline_function(
        self, function: FunctionProto, node: NodeProto, operands: Sequence[Operand | None]
    ) -> list[Operand | None]:
        """Return the results of a function of the model."""
        if len(operands) > len(function.input):
            raise invalid(f"{describe_node(node)} has {len(operands)} inputs")
        scope: Scope = dict.fromkeys(function.input)
        scope |= zip(function.input, operands, strict=False)
        for inner, outer_name in zip(function.input, node.input, strict=False):
            self.codes.pop(inner, None)
            if outer_name in self.codes:
                self.codes[inner] = self.codes[outer_name]
        attributes = {a.name: a for a in function.attribute_proto}
        attributes |= {a.name: a for a in node.attribute}
        outer = self._versions
        self._versions = outer | _versions(function.opset_import)
        try:
            with self._deeper():
                self._run(
                    [_bind_attributes(inner_node, attributes) for inner_node in function.node],
                    scope,
                )
        finally:
            self._versions = outer
        return [
            x if isinstance(x := scope.get(name), Operand) else None for name in function.output
        ]

    @contextmanager
    def _deeper(self) -> Generator[None]:
        """Count how deeply functions and graphs are nested."""
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise too_large("the nesting of functions and graphs", self._depth, MAX_NESTING)
        try:
            yield
        finally:
            self._depth -= 1

    def _value(self, name: str, scope: Scope) -> Operand:
        value = scope.get(name)
        if value is None:
            raise invalid(f'the value "{name}" is used before it is computed')
        if isinstance(value, TensorProto):
            value = scope[name] = self.tensor(value)
        if isinstance(value, DataError):
            raise value
        return value

    def _output(self, name: str, scope: Scope) -> Operand:
        """Return an output of the graph; an input or a constant is copied to it."""
        value = self._value(name, scope)
        if not count(value.shape):
            raise EmptyOutput(name, value)
        return value if isinstance(value.node, OperatorNode) else self.builder.identity(value)


def _live_nodes(graph: GraphProto) -> list[NodeProto]:
    """Return the nodes of a graph that its outputs depend on, in their order."""
    used = {info.name for info in graph.output} - {""}
    nodes: list[NodeProto] = []
    computed: set[str] = set()
    for node in reversed(graph.node):
        if used.isdisjoint(node.output):
            continue
        for name in filter(None, node.output):
            if name in computed:
                raise invalid(f'two nodes compute the value "{name}"')
            computed.add(name)
        nodes.append(node)
        used |= values_taken(node)
    return nodes[::-1]


def _find_missing_values(node: NodeProto, scope: Scope, operand: Operand) -> frozenset[str]:
    """Return the values that have to be known before a node can be imported.

    They are those that hold what the node asked for or, if it is computed within the node, all.
    """
    values = {name: scope.get(name) for name in values_taken(node)}
    operands = {name: x for name, x in values.items() if isinstance(x, Operand)}
    asked = {name for name, x in operands.items() if x == operand}
    computed = {name for name, x in operands.items() if not isinstance(x.node, ConstantNode)}
    return frozenset(asked or computed)


def _convert(array: HostArray, type: TensorType) -> HostArray:
    """Return the value of an input in the input's type."""
    value = HostArray.of(array, type.dtype)
    if value.shape != type.shape:
        raise misfit(f"values of shape {show(value.shape)} for an input {type}")
    return value


def _type_codes(graph: GraphProto | None) -> dict[str, int]:
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
    return {_domain(opset.domain): opset.version for opset in imported}


def _bind_attributes(node: NodeProto, values: Mapping[str, AttributeProto]) -> NodeProto:
    """Return a node of a function with the function's attributes in place of their names."""
    attributes: list[AttributeProto] = []
    for attribute in node.attribute:
        if attribute.ref_attr_name:
            value = values.get(attribute.ref_attr_name)
            if value is None:
                continue
            attribute = replace(value, name=attribute.name)
        elif attribute.g is not None:
            graph = attribute.g
            nodes = [_bind_attributes(inner_node, values) for inner_node in graph.node]
            attribute = replace(attribute, g=replace(graph, node=nodes))
        attributes.append(attribute)
    return replace(node, attribute=attributes)


def _without_unused(
    graph: Graph, parameters: Mapping[str, HostArray], notes: Sequence[str]
) -> Imported:
    """Return the graph without weights that are not used."""
    used = {node.name for node in graph.nodes() if isinstance(node, InputNode)}
    kept = {name: array for name, array in parameters.items() if name in used}
    inputs = {
        name: operand
        for name, operand in graph.inputs.items()
        if name in kept or name not in parameters
    }
    return Imported(Graph(graph.outputs, inputs), kept, notes)
