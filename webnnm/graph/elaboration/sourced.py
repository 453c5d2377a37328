"""Blocks whose layers are a graph in a file (spec A.3): how the notation sees such a graph."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol

from webnnm.core.arrays import HostArray
from webnnm.core.dtypes import ANY, FLOAT, DataType, is_float
from webnnm.core.errors import DataError, ModelError, Span, suggestion
from webnnm.core.shapes import Shape, show
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.elaboration.outline import Block, Outline
from webnnm.graph.elaboration.scope import UnresolvedLayer, plain
from webnnm.graph.elaboration.vertices import LayerVertex, ParameterVertex, Source
from webnnm.graph.node import Graph
from webnnm.graph.transforms.rewrite import copy_graph_into
from webnnm.notation.syntax import Items, ModelFile, Number, Reference, Text, Value
from webnnm.ops.declare.features import Changes, Conflict, Features
from webnnm.ops.declare.layer import BuildView, LayerRules, ShapeView, ValueOption
from webnnm.ops.declare.layout import LayoutTensor
from webnnm.ops.declare.operator import Composite, Slot
from webnnm.ops.declare.tensors import Builder, TensorType

PROBE_BATCH = 2
"""The batch that shapes are inferred with: a result that does not begin with it has lost rows."""


class Part(Protocol):
    """What a file's graph computes from its one input up to one of its values.

    `parameters` are its weights by name; training never changes those in `fixed`. `input` is the
    name of its input, `dtype` and `sizes` its type and the sizes of a row, None if they are free.
    """

    input: str
    dtype: DataType
    sizes: tuple[int | None, ...] | None
    parameters: Mapping[str, HostArray]
    fixed: Collection[str]

    def graph(self, batch: int, sizes: Shape) -> Graph:
        """Return the graph for rows of these sizes; its inputs are `input` and weights."""
        ...


class OpenedFile(Protocol):
    """An open file; `part` raises `DataError` if the file has no such value."""

    @property
    def dtype(self) -> DataType:
        """The type of its input."""
        ...

    def part(self, value: str | None) -> Part:
        """Return the part that leads to a value, or to the file's output for None."""
        ...


def collect_sourced_blocks(outline: Outline, changes: Changes) -> dict[str, SourcedBlock]:
    """Return the blocks of an outline that are graphs in files.

    Raises `ModelError` at the place in the text: NNM214 for a block with layers or ports as well,
    NNM715 for a file that was not given, NNM301 and NNM303 for options.
    """
    blocks = outline.blocks.values()
    return {block.name: SourcedBlock(outline, block, changes) for block in blocks if block.source}


class SourcedBlock:
    """A block that is a graph in a file: an operator, and the parameters that its calls share."""

    def __init__(self, outline: Outline, block: Block, changes: Changes) -> None:
        assert block.source is not None
        self.outline = outline
        self.block = block.name
        self.statement: ModelFile = block.source
        self._changes = changes
        self._parameters: dict[str, ParameterVertex] = {}
        self._rates: tuple[bool | tuple[str, ...], float | None] | None = None
        self._types: dict[str | None, DataType] = {}
        other = block.layers or block.input or block.output
        if other is not None:
            message = f'block "{block.name}" is the graph in a file, so it cannot have this as well'
            hint = "call it among the layers of another block"
            raise outline.error("NNM214", message, other.property_span, hint)
        self.file = self._get_file()
        try:
            floats = is_float(self.file.dtype)
        except DataError as error:
            raise self._locate_error(error) from error
        self.operator = Composite(
            name=block.name,
            summary=f"the graph in {self.statement.file}",
            operands=(Slot(name="input", dtypes=FLOAT if floats else ANY - FLOAT),),
            options={},
            decompose=_not_a_tensor_operator,
            layer=self._rules(),
            samples=(),
        )

    def _get_file(self) -> OpenedFile:
        name, files = self.statement.file, self.outline.document.files
        if name in files:
            return files[name]
        raise self.outline.error(
            "NNM715",
            f'the file "{name}" is missing',
            self.statement.file_span,
            f'NNModel.create(files={{"{name}": its path, address or bytes}})',
        )

    def _rules(self) -> LayerRules:
        return LayerRules(
            shape=self._shape,
            build=self._build,
            options={"at": ValueOption(read=_text, default=self._default())},
            dtype=self._result_type,
        )

    def _default(self) -> str | None:
        """Return the value that the statement names for all calls."""
        value = None
        for option in self.statement.options:
            if option.name != "at":
                message = f'"source" has no option "{option.name}"'
                hint = f"options such as trainable= belong in the call: {self.block}(…)"
                raise self.outline.error("NNM301", message, option.span, hint)
            try:
                value = _text(option.value)
            except ValueError as error:
                message = f"at= {error}"
                raise self.outline.error("NNM303", message, option.value.span) from error
        return value

    # Calls.

    def resolve(self, layer: UnresolvedLayer, parameters: list[ParameterVertex]) -> None:
        """Give a call its parameters; new ones join `parameters`."""
        vertex = layer.vertex
        part = self._part(vertex)
        if self._rates is None:
            self._rates = self._read_rates(layer)
        elif self._rates != self._read_rates(layer):
            message = f'the calls of "{self.block}" share their parameters'
            hint = "write the same trainable= and lrm= in each"
            raise self.outline.error("NNM303", message, vertex.span, hint)
        for pattern in self._patterns():
            if not any(_matches(name, (pattern,)) for name in part.parameters):
                message = f'no weight of the graph is called "{pattern}"'
                hint = suggestion(pattern, part.parameters) or "names may contain *"
                span = layer.options["trainable"].span
                raise self.outline.error("NNM205", message, span, hint)
        for name, array in part.parameters.items():
            if name not in self._parameters:
                parameter = self._parameters[name] = self._parameter(name, array, part, vertex)
                parameters.append(parameter)
            vertex.tensors[self._own(name)] = Source(self._parameters[name])

    def _patterns(self) -> tuple[str, ...]:
        """Return the names of weights that are trained, unless all or none are."""
        names = self._rates[0] if self._rates else ()
        return () if isinstance(names, bool) else names

    def _own(self, name: str) -> str:
        """Return the name of a weight in the model; the dot keeps it out of the layer's type."""
        return f"{self.block}.{name}"

    def _part(self, vertex: LayerVertex) -> Part:
        value: str | None = vertex.options["at"]
        try:
            return self.file.part(value)
        except DataError as error:
            own = next((o.value.span for o in self.statement.options), None)
            raise self._locate_error(error, vertex.places.get("at", own)) from error

    def _locate_error(self, error: DataError, span: Span | None = None) -> ModelError:
        """Return an error about the file with its position in the text."""
        error_span = span or self.statement.file_span
        return self.outline.error(error.code, error.message, error_span, error.hint)

    def _parameter(
        self, name: str, array: HostArray, part: Part, user: LayerVertex
    ) -> ParameterVertex:
        assert self._rates is not None
        trainable, rate = self._rates
        chosen = trainable if isinstance(trainable, bool) else _matches(name, trainable)
        return ParameterVertex(
            span=self.statement.file_span,
            features=[Features(self._changes, array.shape)],
            dtype=array.dtype,
            name=self._own(name),
            role="other",
            user=user,
            trainable=chosen and name not in part.fixed,
            lrm=rate if chosen else None,
            value=array,
        )

    def _read_rates(self, layer: UnresolvedLayer) -> tuple[bool | tuple[str, ...], float | None]:
        """Return what is trained in the graph, all or names with `*`, and how fast."""
        options = layer.options
        rate = plain(options["lrm"].value) if "lrm" in options else None
        if rate is not None and (not isinstance(rate, Number) or rate.value < 0):
            raise self._fail(layer, "lrm", "a number from 0")
        number = None if rate is None else float(rate.value)
        if "trainable" not in options:
            return bool(number), number
        match plain(options["trainable"].value):
            case Reference(word="true"):
                return True, number
            case Reference(word="false"):
                return False, number
            case Items(items=items):
                values: tuple[Value, ...] = items
            case value:
                values = (value,)
        try:
            return tuple(_text(value) for value in values), number
        except ValueError:
            raise self._fail(
                layer, "trainable", 'true, false, or names of weights: ["layer4.*"]'
            ) from None

    def _fail(self, layer: UnresolvedLayer, option: str, expected: str) -> ModelError:
        span = layer.options[option].span
        return self.outline.error("NNM303", f"{option}= of a source takes {expected}", span)

    # The rules of the operator.

    def _shape(self, v: ShapeView) -> None:
        features = v.input
        part = self.file.part(v.options["at"])
        if features.sequence is not None:
            message = (
                f'"{self.block}" takes rows without a sequence; these have "{features.sequence}"'
            )
            v.fail("NNM411", message, hint="reshape them, or reduce the sequence first")
        try:
            features.unify(part.sizes)
        except Conflict:
            message = f'"{self.block}" takes rows of shape {show(part.sizes or ())}, not {features}'
            v.fail("NNM404", message, hint=_hint_transpose(features, part.sizes))
        if not features.known:
            return
        result_type = self._infer_probe_type(v, part, features.sizes())
        unknown, rank = v.result.rank is None, len(result_type.shape) - 1
        v.result.unify(result_type.shape[1:])
        if unknown and rank == 1:
            v.result.set_names(["features"])
        elif unknown and rank == features.rank:
            v.result.set_names(features.names)

    def _infer_probe_type(self, v: ShapeView, part: Part, sizes: Shape) -> TensorType:
        """Return the type of the result for a small batch, which has to keep every row."""
        try:
            graph = part.graph(PROBE_BATCH, sizes)
        except DataError as error:
            v.fail(error.code, error.message, hint=error.hint)
        for name in part.parameters:
            v.tensors[self._own(name)].unneeded = name not in graph.inputs
        (result,) = graph.outputs.values()
        shape = result.shape
        if shape[:1] != (PROBE_BATCH,):
            name = next(iter(graph.outputs))
            message = (
                f'the value "{name}" is {show(shape)} for {PROBE_BATCH} rows: not one value per row'
            )
            v.fail("NNM404", message, at="at", hint="choose another value with at=")
        self._types[v.options["at"]] = result.dtype
        return result.type

    def _result_type(
        self, compute: DataType, options: Mapping[str, Any], _types: Mapping[str, DataType]
    ) -> DataType:
        """Return the float type of the rows; the graph still computes in its own type."""
        own_type = self._types[options["at"]]
        return compute if is_float(compute) and is_float(own_type) else own_type

    def _build(self, b: Builder, v: BuildView) -> LayoutTensor:
        assert isinstance(b, GraphBuilder)
        part = self.file.part(v.options["at"])
        x = v.operands[0]
        if "batch" not in x.layout:
            v.fail("NNM404", f'"{self.block}" takes the rows of a batch; this is one value')
        x = x.reorder(("batch", *range(x.rank)))
        batch, *sizes = x.tensor.shape
        graph = part.graph(batch, tuple(sizes))
        operands = {name: v.tensors[self._own(name)].tensor for name in part.parameters}
        operands[part.input] = _cast(b, x.tensor, part.dtype)
        (result,) = copy_graph_into(b, graph, operands).values()
        result = _cast(b, result, v.dtype)
        return LayoutTensor(result, ("batch", *range(result.rank - 1)))


def _cast(b: GraphBuilder, x: Any, dtype: DataType) -> Any:
    return x if x.dtype == dtype else b.cast(x, type=dtype)


def _not_a_tensor_operator(_b: Builder, *_operands: Any, **_options: Any) -> Any:
    raise AssertionError("a block is written into a graph by its layer's rule")


def _text(value: Value) -> str:
    match value:
        case Text():
            return value.value
        case Reference():
            return str(value)
        case Number():
            return str(value.value)
        case _:
            raise ValueError('takes the name of a value in quotes: at="features"')


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    from fnmatch import fnmatchcase

    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _hint_transpose(features: Features, expected: tuple[int | None, ...] | None) -> str:
    """Return how to fix rows of a wrong shape, by a transpose if their channels are last."""
    sizes = features.dims
    if sizes and expected and len(sizes) == len(expected) == 3 and None not in sizes:
        channels_first = (sizes[2], *sizes[:2])
        if all(
            size_or_none in (None, size)
            for size_or_none, size in zip(expected, channels_first, strict=True)
        ):
            return "write transpose(permutation=[2, 0, 1]) before it: it moves the channels first"
    return "reshape the rows before it"
