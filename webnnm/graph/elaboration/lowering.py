"""From a network to the tensor graph of one batch size and sequence length (spec B.2, B.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from webnnm.core.dtypes import DataType
from webnnm.core.errors import DataError, Span, WebNNMError
from webnnm.core.shapes import MAX_DIMENSION, Shape, count, show
from webnnm.graph.builder import GraphBuilder
from webnnm.graph.elaboration.infer import LayerView, layer_error
from webnnm.graph.elaboration.vertices import (
    ConstantVertex,
    InputVertex,
    LayerVertex,
    LiteralVertex,
    Network,
    Output,
    ParameterVertex,
    Source,
)
from webnnm.graph.node import Graph, Operand, OperatorNode
from webnnm.ops.declare.features import Features
from webnnm.ops.declare.generator import MODULI, advance
from webnnm.ops.declare.layout import LayoutTensor, Role
from webnnm.ops.declare.operator import AnyOperator
from webnnm.ops.declare.padding import combine_masks
from webnnm.ops.declare.tensors import TensorType

PARAMETER_PREFIX = "param/"
"""Parameters are graph inputs with this prefix, as in snapshots."""


GENERATOR_PREFIX = "random/"
"""States of random generators are graph inputs with this prefix."""


class Lowered:
    """A network on a graph builder: operands for inputs, parameters and outputs.

    In training, `updates` are the next values of states by the names of their graph inputs, and
    `generators` the layers that draw random numbers, with the states of each. `masks` show which
    positions are valid in each output that has padded ones: 0/1, float32 `[batch, length]`.
    `layers` are the results of all layers in the order of computation, `source` the text of the
    model.
    """

    def __init__(self, builder: GraphBuilder, source: str = "") -> None:
        self.builder = builder
        self.source = source
        self.inputs: dict[str, Operand] = {}
        self.parameters: dict[str, Operand] = {}
        self.outputs: dict[str, Operand] = {}
        self.masks: dict[str, Operand] = {}
        self.updates: dict[str, Operand] = {}
        self.generators: dict[str, tuple[str, ...]] = {}
        self.layers: list[tuple[LayerVertex, tuple[Operand, ...]]] = []

    def graph(self) -> Graph:
        """Return the inference graph, from inputs and parameters to outputs."""
        return self.builder.build(self.outputs)


def lower_network(
    network: Network,
    *,
    batch: int = 1,
    sequence: Mapping[str, int] | None = None,
    builder: GraphBuilder | None = None,
    inputs: Mapping[str, Operand] | None = None,
    parameters: Mapping[str, Operand] | None = None,
    training: bool = False,
    rows: Operand | None = None,
    masks: Mapping[str, Operand] | None = None,
) -> Lowered:
    """Lower a network to a tensor graph.

    `sequence` gives a length for every sequence name that has no fixed one. `inputs` and
    `parameters` are operands to use in place of graph inputs, by name. In `training`, layers such
    as dropout and batch normalisation work as they do in a training step, and `rows` is a 0/1 mask
    `[batch]` of the rows that count. `masks` are, by sequence name, float32 0/1 masks
    `[batch, length]` of the valid positions, which come before the padded ones: the results of a
    row are then those of the row without padding (spec G.6).

    Raises `DataError` NNM711 if a length is missing, `ModelError` if concrete sizes clash.
    """
    lowered = Lowered(builder or GraphBuilder(), network.outline.document.source)
    lowering = _Lowering(network, lowered, batch, sequence or {}, masks or {})
    lowering.training, lowering.rows = training, rows
    lowering.sources(inputs or {}, parameters or {})
    for layer in network.order:
        lowering.layer(layer)
    for output in network.outputs:
        lowered.outputs[output.name] = lowering.output(output)
    return lowered


class _Lowering:
    def __init__(
        self,
        network: Network,
        lowered: Lowered,
        batch: int,
        sequence: Mapping[str, int],
        masks: Mapping[str, Operand],
    ) -> None:
        self.network = network
        self.lowered = lowered
        self.builder = lowered.builder
        self.batch = batch
        self.lengths = sequence
        self.masks = masks
        self.training = False
        self.rows: Operand | None = None
        self.done: dict[int, tuple[LayoutTensor, ...]] = {}

    def sources(self, inputs: Mapping[str, Operand], parameters: Mapping[str, Operand]) -> None:
        """Lower inputs and parameters, as graph inputs or as the operands given for them."""
        for vertex in self.network.inputs:
            self._input(vertex, inputs.get(vertex.block))
        for vertex in self.network.parameters:
            if not vertex.packing:  # else at its first use
                self._parameter(vertex, parameters.get(vertex.name))

    def _input(self, vertex: InputVertex, existing: Operand | None) -> None:
        features = vertex.features[0]
        layout: tuple[Role, ...] = ("batch",)
        shape = [self.batch]
        if features.sequence is not None:
            layout += ("sequence",)
            shape.append(self._length(vertex, features.sequence))
        sizes = features.sizes()
        type = TensorType(vertex.dtype, (*shape, *sizes))
        self._check_size(type, f'the input "{vertex.block}"', vertex.span)
        operand = existing or self.builder.input(vertex.block, *type)
        self.lowered.inputs[vertex.block] = operand
        mask = self.masks.get(features.sequence or "")
        if mask is not None and mask.type != ("float32", tuple(shape)):
            message = f'the mask of sequence "{features.sequence}" is {mask.type}'
            raise DataError("NNM702", message, hint=f"its type is float32{show(shape)}")
        value = LayoutTensor(operand, (*layout, *range(len(sizes))), features.sequence, mask)
        self.done[id(vertex)] = (value,)

    def _length(self, vertex: InputVertex, name: str) -> int:
        requested = self.lengths.get(name)
        if vertex.length is not None and requested not in (None, vertex.length):
            raise DataError(
                "NNM711", f'sequence "{name}" has {vertex.length} steps, not {requested}'
            )
        length = vertex.length or requested
        if length is None:
            raise DataError(
                "NNM711",
                f'the length of sequence "{name}" is not known',
                hint=f"set_sequence_length({{'{name}': n}})",
            )
        return length

    def _parameter(self, vertex: ParameterVertex, existing: Operand | None) -> None:
        sizes = vertex.features[0].sizes()
        name = PARAMETER_PREFIX + vertex.name
        type = TensorType(vertex.dtype, sizes)
        self._check_size(type, f'the parameter "{vertex.name}"', vertex.span)
        if vertex.packing:
            from webnnm.graph.packing.packed_parameters import unpack_input

            existing = unpack_input(self.builder, name, vertex, self.training)
        operand = existing or self.builder.input(name, vertex.dtype, sizes)
        self.lowered.parameters[vertex.name] = operand
        self.done[id(vertex)] = (LayoutTensor(operand, tuple(range(len(sizes)))),)

    def _check_size(self, type: TensorType, what: str, span: Span) -> None:
        """Raise NNM409 for a tensor with more elements than any backend can count."""
        if count(type.shape) > MAX_DIMENSION:
            size = type.nbytes
            message = (
                f"{what} is {type}, {size} bytes; a tensor has at most {MAX_DIMENSION} elements"
            )
            hint = "choose smaller sizes, or a smaller batch"
            raise self.network.outline.error("NNM409", message, span, hint)

    def layer(self, layer: LayerVertex) -> None:
        """Lower one layer, after those that it depends on."""
        with self.builder.place(layer.label, layer.span):
            compute = self._inner_type(layer)
            operands = [
                self._operand(source, layer, compute if self._takes_type(layer, k) else None)
                for k, source in enumerate(layer.operands)
            ]
            if layer.rules.condition:
                operands[0] = self._condition(operands[0])
            silent = {slot.name for slot in layer.rules.slots if not slot.promotes}
            tensors = {
                name: self._operand(
                    source, layer, None if name in silent or "." in name else compute
                )
                for name, source in layer.tensors.items()
            }
            view = _View(self, layer, operands, tensors)
            try:
                result = layer.rules.build(self.builder, view)
            except WebNNMError as error:
                if error.line:
                    raise
                view.fail(error.code, error.message, hint=error.hint)
            results = (result,) if isinstance(result, LayoutTensor) else result
            for value in results:
                self._check_size(value.tensor.type, f'the result of "{layer.label}"', layer.span)
            self.done[id(layer)] = tuple(
                self._cast(self._add_mask(view, value), dtype)
                for value, dtype in zip(results, layer.result_types, strict=True)
            )
            delivered = tuple(value.tensor for value in self.done[id(layer)])
            self.lowered.layers.append((layer, delivered))

    def _add_mask(self, view: _View, value: LayoutTensor) -> LayoutTensor:
        """Give a result the mask of the values it was made from, unless its layer has set one."""
        mask = value.mask
        if "sequence" not in value.layout:
            return value
        if mask is None:
            sources = (*view.operands, *view.tensors.values())
            mask = combine_masks(self.builder, sources, value.sequence)
        if mask is None:
            return value
        if mask.shape[1] != value.size("sequence"):
            message = f"{value.size('sequence')} of {mask.shape[1]} positions, some of them padding"
            view.fail("NNM411", message, hint=f'give "{value.sequence}" rows of equal length')
        tensor = value.tensor
        if value.size("batch") != self.batch:  # a constant along a sequence, whose rows differ now
            axis = value.position("batch")
            shape = (*tensor.shape[:axis], self.batch, *tensor.shape[axis + 1 :])
            tensor = self.builder.expand(tensor, new_shape=shape)
        return LayoutTensor(tensor, value.layout, value.sequence, mask)

    def _takes_type(self, layer: LayerVertex, position: int) -> bool:
        apart = layer.rules.condition or layer.rules.own_type
        return layer.rules.casts and not (apart and position == 0)

    def _inner_type(self, layer: LayerVertex) -> DataType:
        """Return float32 for float16 operands of operators that compute wide (spec B.5, rule 7)."""
        risky = "wide" in layer.operator.hazards and layer.written_type is None
        return "float32" if risky and layer.dtype == "float16" else layer.dtype

    def _operand(self, source: Source, layer: LayerVertex, dtype: DataType | None) -> LayoutTensor:
        vertex = source.vertex
        if isinstance(vertex, LiteralVertex):
            literal = dtype or self._flow_type(layer)
            operand = self.builder.constant(vertex.data, literal)
            return LayoutTensor(operand, tuple(range(operand.rank)))
        if id(vertex) not in self.done:
            if isinstance(vertex, ConstantVertex):
                self.done[id(vertex)] = (self._constant(vertex),)
            elif isinstance(vertex, ParameterVertex):
                self._parameter(vertex, None)
        value = self.done[id(vertex)][source.result]
        return value if dtype is None else self._cast(value, dtype)

    def _flow_type(self, layer: LayerVertex) -> DataType:
        """Return the type for a literal that does not affect it: a condition or cast operand."""
        return "uint8" if layer.rules.condition else layer.dtype

    def _constant(self, vertex: ConstantVertex) -> LayoutTensor:
        sizes = vertex.features[0].sizes()
        type = TensorType(vertex.dtype, sizes)
        self._check_size(type, f'the constant "{vertex.name}"', vertex.span)
        if isinstance(vertex.data, list):
            operand = self.builder.constant(vertex.data, vertex.dtype, sizes)
        else:
            scalar = self.builder.constant(vertex.data, vertex.dtype)
            operand = self.builder.expand(scalar, new_shape=sizes) if sizes else scalar
        return LayoutTensor(operand, tuple(range(len(sizes))))

    def _condition(self, value: LayoutTensor) -> LayoutTensor:
        if value.tensor.dtype == "uint8":
            return value
        zero = self.builder.constant(0, value.tensor.dtype)
        return value.with_tensor(self.builder.not_equal(value.tensor, zero))

    def _cast(self, value: LayoutTensor, dtype: DataType) -> LayoutTensor:
        if value.tensor.dtype == dtype:
            return value
        node = value.tensor.node
        if dtype == "float16" and isinstance(node, OperatorNode) and node.operator.name == "cast":
            (before,) = node.operands
            if before and before.dtype == dtype:  # made wider, and unchanged since
                return value.with_tensor(before)
        return value.with_tensor(self.builder.cast(value.tensor, type=dtype))

    def output(self, output: Output) -> Operand:
        """Return the tensor of an output."""
        value = self.done[id(output.source.vertex)][output.source.result]
        with self.builder.place(f"{output.name}:output"):
            if output.order != tuple(role for role in value.layout if isinstance(role, int)):
                value = value.reorder((*value.lead, *output.order))
            if value.mask is not None:
                self.lowered.masks[output.name] = value.mask
            return self._cast(value, output.dtype).tensor


class _View(LayerView):
    """A layer as its build rule sees it."""

    def __init__(
        self,
        lowering: _Lowering,
        layer: LayerVertex,
        operands: Sequence[LayoutTensor],
        tensors: Mapping[str, LayoutTensor],
    ) -> None:
        super().__init__(lowering.network.outline, layer)
        self.features: Sequence[Features] = self.operands
        self._lowered = lowering.lowered
        self.operator: AnyOperator = layer.operator
        self.dtype: DataType = layer.result_types[0]
        self.operands: Any = operands
        self.tensors: Any = tensors
        self.training = lowering.training
        self.rows: Any = lowering.rows

    @property
    def input(self) -> Features:
        """The shape of the first operand."""
        return self.features[0]

    def update(self, slot: str, value: Operand) -> None:
        """Set the value that the state in a slot has in the next training step."""
        parameter = self.vertex.tensors[slot].vertex
        assert isinstance(parameter, ParameterVertex)
        self._lowered.updates[PARAMETER_PREFIX + parameter.name] = value

    def uniform(self, shape: Shape) -> Operand:
        """Return float32 numbers, uniform in [0, 1), which are new in every training step."""
        builder = self._lowered.builder
        name = self.vertex.label
        states = tuple(f"{GENERATOR_PREFIX}{name}/{k}" for k in range(len(MODULI)))
        before = [builder.input(state, "float32", shape) for state in states]
        after, numbers = advance(builder, before)
        self._lowered.updates |= dict(zip(states, after, strict=True))
        self._lowered.generators[name] = states
        return numbers

    def axes(self, option: str) -> list[Role]:
        """Resolve an option that lists axes against the input."""
        return super().axes(option) or []

    def tensor_names(self, option: str) -> Sequence[str | None]:
        """Return the dimension names of a tensor-valued option."""
        return self.vertex.tensors[option].features.names

    def fail(self, code: str, message: str, *, at: str | None = None, hint: str = "") -> NoReturn:
        """Raise a `ModelError` at the layer, or at one of its options."""
        span = self.vertex.places.get(at or "", self.vertex.span)
        raise layer_error(self.outline, self.vertex, code, message, span, hint)
