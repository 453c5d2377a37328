"""The recurrent operators in the notation: options, parameters, shapes both ways, layouts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from webnnm.core.shapes import Shape, broadcast, show
from webnnm.notation.syntax import Items, Value
from webnnm.ops.declare import padding, values
from webnnm.ops.declare.features import Conflict, Features
from webnnm.ops.declare.layer import BuildView, ParameterRole, ShapeView, TensorSlot, ValueOption
from webnnm.ops.declare.layout import LayoutTensor, Role
from webnnm.ops.declare.padding import as_column
from webnnm.ops.declare.recurrent import DIRECTIONS
from webnnm.ops.declare.rules import broadcast_operands, tensor_options
from webnnm.ops.declare.tensors import Builder

WEIGHTS = (
    TensorSlot(name="weight", parameter="recurrent"),
    TensorSlot(name="recurrentWeight", parameter="recurrent"),
)
RUN_OPTIONS = {
    "return_sequence": ValueOption(read=values.boolean, default=False),
    "direction": ValueOption(read=values.choice(*DIRECTIONS), default="forward"),
}


def biases(role: ParameterRole) -> tuple[TensorSlot, ...]:
    """Return the slots of both biases; `role` is that of the first."""
    return (
        TensorSlot(name="bias", parameter=role, optional=True, option=True),
        TensorSlot(name="recurrentBias", parameter="zeros", optional=True, option=True),
    )


def initial(name: str) -> TensorSlot:
    """Return the slot of an initial state."""
    return TensorSlot(name=name, optional=True, option=True)


def cell_options(*layouts: str, activations: Sequence[str]) -> dict[str, ValueOption]:
    """Return the options that cells have as well."""

    def read(value: Value) -> tuple[str, ...]:
        items = value.items if isinstance(value, Items) else ()
        if len(items) != len(activations):
            raise ValueError(f"expected a list of {len(activations)} activations")
        return tuple(str(item) for item in items)

    return {
        "hidden_size": ValueOption(read=values.integer(1)),
        "layout": ValueOption(read=values.choice(*layouts), default=layouts[0]),
        "activations": ValueOption(read=read, default=tuple(activations)),
    }


def gate_fans(gates: int) -> Callable[[Shape, Mapping[str, Any]], tuple[int, int]]:
    """Return the rule for the fans of one gate: (input, hidden) and (hidden, hidden)."""

    def fans(shape: Shape, _options: Mapping[str, Any]) -> tuple[int, int]:
        return shape[-1], shape[-2] // gates

    return fans


# Shapes.


def run_shape(name: str, gates: int) -> Callable[[ShapeView], None]:
    """Return the shape rule of an operator over the steps of a sequence."""

    def rule(layer: ShapeView) -> None:
        source = layer.input
        if source.known and source.sequence is None:
            hint = "give the input sequence=true, or the layer before it returnSequence=true"
            layer.fail("NNM411", f'"{name}" needs a sequence, but its input has none', hint=hint)
        directions = DIRECTIONS[layer.options["direction"]]
        _relate(layer, gates, directions, (directions,))
        if layer.options["return_sequence"]:
            for result in (layer.results[0], layer.results[-1]):
                result.set_sequence(source.sequence)

    return rule


def cell_shape(gates: int) -> Callable[[ShapeView], None]:
    """Return the shape rule of one step."""

    def rule(layer: ShapeView) -> None:
        _relate(layer, gates, 1, ())
        for result in layer.results:
            result.set_sequence(layer.input.sequence)

    return rule


def _relate(layer: ShapeView, gates: int, directions: int, lead: tuple[int, ...]) -> None:
    """Exchange the known features and hidden size between operands and results."""
    source, weight, recurrent, *states = layer.operands
    if source.rank not in (None, 1):
        layer.fail("NNM405", f"a recurrent layer needs 1 feature dimension, not {source}")
    tensors = layer.tensors
    states += [tensors[n] for n in ("initialHiddenState", "initialCellState") if n in tensors]
    # A number written as initial state applies to all states.
    states = [state for state in states if state.rank != 0]
    hidden = _infer_hidden_size(layer, gates, directions)
    features = _size(source, 0) or _size(weight, -1)
    wide = None if hidden is None else gates * hidden
    expected: list[tuple[str, Features | None, list[int | None]]] = [
        ("flow", source, [features]),
        ("weight", weight, [*lead, wide, features]),
        ("recurrentWeight", recurrent, [*lead, wide, hidden]),
        ("bias", tensors.get("bias"), [*lead, wide]),
        ("recurrentBias", tensors.get("recurrentBias"), [*lead, wide]),
        ("peepholeWeight", tensors.get("peepholeWeight"), [*lead, hidden and 3 * hidden]),
        *(("state", state, [hidden and directions * hidden]) for state in states),
    ]
    for name, operand, dims in expected:
        try:
            if operand is not None:
                operand.unify(dims)
        except Conflict:
            layer.fail("NNM404", f"{name} {operand}, but the other operands need {show(dims)}")
    for result in layer.results:
        result.unify([hidden and directions * hidden])
        result.set_names(["features"])


def _infer_hidden_size(layer: ShapeView, gates: int, directions: int) -> int | None:
    """Return the hidden size: as written, or as it follows from the result or any operand."""
    _, weight, recurrent, *states = layer.operands
    total = _size(layer.result, 0)
    if layer.options["hidden_size"] is None and total is not None and total % directions:
        layer.fail("NNM406", f"{total} features, {directions} directions", at="shape")
    gated = [
        _size(weight, -2),
        *(_size(layer.tensors.get(n), -1) for n in ("bias", "recurrentBias")),
    ]
    candidates = [
        layer.options["hidden_size"],
        total and total // directions,
        _size(recurrent, -1),
        *(size and size // gates for size in gated),
        *(_size(state, 0) for state in states),
    ]
    return next((size for size in candidates if size), None)


def _size(features: Features | None, axis: int) -> int | None:
    """Return a size, None where it is not known."""
    if features is None or not features.dims or len(features.dims) < abs(axis):
        return None
    return features.dims[axis]


# Tensors.


def build_run(b: Builder, layer: BuildView) -> tuple[LayoutTensor, ...]:
    """Run over the sequence; the first result is passed on, then each result has its word."""
    source = layer.operands[0].reorder(("sequence", "batch", 0))
    steps, batch, _ = source.tensor.shape
    directions = DIRECTIONS[layer.options["direction"]]
    operands = _weights(layer)
    for index, slot in enumerate(layer.operator.operands[3:], start=2):
        if slot.name.startswith("initial") and operands[index] is not None:
            operands[index] = _initial(b, layer, slot.name, (directions, batch))
    options = tensor_options(layer) | {"steps": steps, "hidden_size": operands[1].shape[-1]}
    lengths = None if source.mask is None else as_column(b, padding.lengths(b, source.mask))
    outputs = _apply(b, layer, [source.tensor, *operands], options, lengths)
    states = len(outputs) - layer.options["return_sequence"]
    results = [_states(b, x, ("batch", 0), None) for x in outputs[:states]]
    if layer.options["return_sequence"]:
        sequence = _states(b, outputs[-1], source.layout, source.sequence)
        results.append(sequence.reorder(layer.operands[0].layout))
        return results[-1], *results
    return results[0], *results


def build_cell(b: Builder, layer: BuildView) -> tuple[LayoutTensor, ...]:
    """Apply a cell to every sample, and to every step if there is a sequence."""
    count = len(layer.operands) - 3
    value = [layer.operands[k].canonical() for k in (0, *range(3, 3 + count))]
    tensors, layout, sequence = broadcast_operands(layer, value, [(None,)] * len(value))
    lead = broadcast(*(tensor.shape[:-1] for tensor in tensors)) or ()
    x, *states = (_rows(b, tensor, lead) for tensor in tensors)
    weight, recurrent, *rest = _weights(layer, behind=3 + count)
    options = tensor_options(layer) | {"hidden_size": recurrent.shape[-1]}
    results = _apply(b, layer, [x, weight, recurrent, *states, *rest], options)
    return tuple(
        LayoutTensor(b.reshape(y, new_shape=(*lead, y.shape[-1])), layout, sequence)
        for y in results
    )


def _apply(
    b: Builder,
    layer: BuildView,
    operands: Sequence[Any],
    options: Mapping[str, Any],
    lengths: Any = None,
) -> tuple[Any, ...]:
    """Return the results; in training, they are made of the steps, which gradients then share.

    The same is done for rows of different lengths, which no WebNN method supports.
    """
    operator = layer.operator
    if lengths is not None:
        options = {**options, "lengths": lengths}
    if (layer.training or lengths is not None) and operator.decompose is not None:
        results = operator.decompose(b, *operands, **options)
    else:
        results = b.apply(operator, operands, options)
    return cast("tuple[Any, ...]", results) if isinstance(results, tuple) else (results,)


def _weights(layer: BuildView, behind: int = 3) -> list[Any]:
    """Return both weights, and the tensors of the slots from `behind` on, None if absent."""
    weights = [layer.tensors.get(slot.name) for slot in layer.operator.operands[behind:]]
    return [
        None if value is None else value.canonical().tensor
        for value in (*layer.operands[1:3], *weights)
    ]


def _initial(b: Builder, layer: BuildView, name: str, lead: tuple[int, int]) -> Any:
    """Return an initial state `[directions, batch, hidden]`, given per sample or for all."""
    value = layer.tensors[name]
    if "sequence" in value.layout:
        layer.fail("NNM411", f"{name} has a sequence", at=name, hint="it has to be one state")
    directions, batch = lead
    size = layer.results[0].sizes()[0]
    tensor = value.canonical().tensor
    if tensor.shape != (batch, size):
        tensor = b.expand(tensor, new_shape=(batch, size))
    by_direction = b.reshape(tensor, new_shape=(batch, directions, size // directions))
    return b.transpose(by_direction, permutation=(1, 0, 2))


def _states(b: Builder, x: Any, layout: tuple[Role, ...], sequence: str | None) -> LayoutTensor:
    """Merge the directions, the third-last dimension of a result, into its features."""
    *lead, directions, batch, hidden = x.shape
    if directions > 1:
        order = (*range(len(lead)), x.rank - 2, x.rank - 3, x.rank - 1)
        x = b.transpose(x, permutation=order)
    return LayoutTensor(
        b.reshape(x, new_shape=(*lead, batch, directions * hidden)), layout, sequence
    )


def _rows(b: Builder, x: Any, lead: Shape) -> Any:
    """Return the features of every sample and step as rows of a matrix."""
    if x.shape[:-1] != lead:
        x = b.expand(x, new_shape=(*lead, x.shape[-1]))
    return x if x.rank == 2 else b.reshape(x, new_shape=(-1, x.shape[-1]))
