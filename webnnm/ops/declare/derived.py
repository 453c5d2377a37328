"""Layer rules of operators that declare none: they follow from the decomposition.

A decomposition sees whole tensors, `[batch, sequence?, features…]`, and leaves the leading
dimensions unchanged. Its effect on feature shapes is found by a trial run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from webnnm.core.dtypes import DataType, highest
from webnnm.core.errors import WebNNMError, suggestion
from webnnm.core.naming import camel_case
from webnnm.core.shapes import Shape, show
from webnnm.ops.declare.features import Conflict, Features
from webnnm.ops.declare.layer import (
    BuildView,
    LayerRules,
    ParameterRole,
    ShapeView,
    TensorSlot,
)
from webnnm.ops.declare.layout import LEADING, LayoutTensor, Role
from webnnm.ops.declare.operator import REQUIRED, Option, Slot
from webnnm.ops.declare.rules import tensor_options
from webnnm.ops.declare.tensors import Builder, OperatorError, Tensor, TensorType

NewParameter = tuple[ParameterRole, Callable[[Shape, Mapping[str, Any]], Sequence[int]]]
"""The role of a new parameter, which decides how it starts, and its shape as a function of the
input's feature shape and the layer's options."""

BATCH = 2
FIRST_LENGTH = 3
"""Sizes of the leading dimensions in a trial; sequences of other names are longer by 2 each."""


def derive_rules(
    name: str,
    operands: Sequence[Slot],
    options: Mapping[str, Option],
    parameters: Mapping[str, NewParameter],
    results: int | Sequence[str],
    result: DataType | None,
) -> LayerRules:
    """Return the layer rules of an operator that has a decomposition, except for its options.

    Raises `WebNNMError` NNM303 where `parameters` names no operand after the first.
    """
    names = [slot.name for slot in operands[1:]]
    for parameter in parameters:
        if parameter not in names:
            hint = suggestion(parameter, names)
            message = f'"{name}" has no operand "{parameter}" that may be a parameter'
            raise WebNNMError("NNM303", message, hint=hint)
    first, *others = operands
    leader = operands[_leader(operands)]
    rules = _Rules(name, operands, options, parameters, result)
    count, result_names = (results, ()) if isinstance(results, int) else (len(results), results)

    def dtype(
        compute: DataType, _options: Mapping[str, Any], _types: Mapping[str, DataType]
    ) -> DataType:
        return result or compute

    return LayerRules(
        slots=tuple(
            TensorSlot(
                name=slot.name,
                parameter=parameters[slot.name][0] if slot.name in parameters else None,
                optional=slot.optional,
                option=slot.optional,
                promotes=bool(slot.dtypes & leader.dtypes),
            )
            for slot in others
        ),
        shape=rules.shape,
        build=_build,
        dtype=dtype,
        results=lambda _options: count,
        result_words={name: index for index, name in enumerate(result_names)},
        many=first.variadic,
        own_type=leader is not first,
    )


class _Trial(NamedTuple):
    """The outcome of a trial: the results' types, the leading dimensions, the type of the layer."""

    types: Sequence[TensorType]
    lead: Shape
    sequence: str | None
    dtype: DataType


class _Rules:
    """The shape rule of one operator."""

    def __init__(
        self,
        name: str,
        operands: Sequence[Slot],
        options: Mapping[str, Option],
        parameters: Mapping[str, NewParameter],
        result: DataType | None,
    ) -> None:
        self._name = name
        self._operands = operands
        self._options = options
        self._required = [name for name, o in options.items() if o.default is REQUIRED]
        self._parameters = parameters
        self._result = result

    def shape(self, layer: ShapeView) -> None:
        """Infer the shapes of the results by a trial, once those of all operands are known."""
        for option in self._required:
            if layer.options[option] is None:
                option_name = camel_case(option)
                layer.fail(
                    "NNM304",
                    f'"{self._name}" needs {option_name}=',
                    hint=f"write {self._name}({option_name}=…)",
                )
        operands: list[Features | None] = _arguments(self._operands, layer)
        if not layer.input.known and not self._keeps_shape(layer, operands):
            return
        self._infer_parameters(layer, operands)
        sizes = [x.sizes() if x is not None and x.known else None for x in operands]
        if any(x is not None and not x.known for x in operands):
            return
        trial = self._try_shapes(layer, operands, sizes)
        for type, features in zip(trial.types, layer.results, strict=True):
            self._check(layer, type, trial)
            dims = type.shape[len(trial.lead) :]
            try:
                features.unify(dims)
            except Conflict:
                layer.fail("NNM402", f"declared {features}, inferred {show(dims)}", at="shape")
            features.set_names(_names(dims, [x for x in operands if x is not None]))
            features.set_sequence(trial.sequence)

    def _keeps_shape(self, layer: ShapeView, operands: Sequence[Features | None]) -> bool:
        """Return whether result and input have one shape; if so, infer the input from it."""
        if not layer.result.known:
            return False
        shape = layer.result.sizes()
        sizes: list[Shape | None] = [shape]
        for slot, x in list(zip(_slots(self._operands, operands), operands, strict=True))[1:]:
            if x is not None and x.undeclared and not x.known and slot.name in self._parameters:
                sizes.append(self._parameter_shape(layer, slot.name, shape))
            elif x is not None and not x.known:
                return False
            else:
                sizes.append(None if x is None else x.sizes())
        try:
            trial = self._try_shapes(layer, operands, sizes)
            if trial.types[0].shape != (*trial.lead, *shape):
                return False
            layer.input.unify(shape)
        except (OperatorError, Conflict):
            return False
        return True

    def _try_shapes(
        self, layer: ShapeView, operands: Sequence[Features | None], sizes: Sequence[Shape | None]
    ) -> _Trial:
        """Apply the operator to operands of these feature shapes; parameters have no batch."""
        present = [x for x in operands if x is not None]
        names = dict.fromkeys(x.sequence for x in present if x.sequence)
        lengths = {name: FIRST_LENGTH + 2 * i for i, name in enumerate(names)}
        sequence = layer.input.sequence or next(iter(names), None)

        def lead(name: str | None) -> Shape:
            return (BATCH, lengths[name] if name else 1) if lengths else (BATCH,)

        types: list[TensorType | None] = []
        dtypes: list[DataType] = []
        slots = _slots(self._operands, operands)
        for slot, x, shape in zip(slots, operands, sizes, strict=True):
            dtype = "float32" if "float32" in slot.dtypes else highest(slot.dtypes)
            dtypes.append(dtype if slot.like is None else dtypes[slot.like])
            if x is None or shape is None:
                types.append(None)
                continue
            lead_shape = () if slot.name in layer.parameters else lead(x.sequence)
            types.append(TensorType(dtypes[-1], (*lead_shape, *shape)))
        result_types = layer.infer_result_types(
            types, {name: layer.options[name] for name in self._options}
        )
        return _Trial(result_types, lead(sequence), sequence, dtypes[_leader(self._operands)])

    def _parameter_shape(self, layer: ShapeView, name: str, input_shape: Shape) -> Shape:
        """Return the shape of a new parameter."""
        return tuple(self._parameters[name][1](input_shape, layer.options))

    def _infer_parameters(self, layer: ShapeView, operands: Sequence[Features | None]) -> None:
        for slot, x in zip(_slots(self._operands, operands), operands, strict=True):
            if x is not None and slot.name in self._parameters and slot.name in layer.parameters:
                sizes = self._parameter_shape(layer, slot.name, layer.input.sizes())
                try:
                    x.unify(sizes)
                except Conflict:
                    layer.fail("NNM404", f"{slot.name} is {x}, not {show(sizes)}", at=slot.name)

    def _check(self, layer: ShapeView, type: TensorType, trial: _Trial) -> None:
        """Raise for a decomposition that changes the leading dimensions or the type."""
        lead = trial.lead
        if type.shape[: len(lead)] != lead:
            roles = "batch, sequence" if len(lead) > 1 else "batch"
            layer.fail(
                "NNM405",
                f'"{self._name}" returns {show(type.shape)} for {roles} {show(lead)}',
                hint="its decomposition must keep these dimensions: count axes from the end",
            )
        expected = self._result or trial.dtype
        if type.dtype != expected:
            layer.fail(
                "NNM501",
                f'"{self._name}" returns {type.dtype}, not {expected}',
                hint=f'declare it with result="{type.dtype}"',
            )


def _slots(operands: Sequence[Slot], arguments: Sequence[Any]) -> Sequence[Slot]:
    """Return a slot for each operand."""
    return [operands[0]] * len(arguments) if operands[0].variadic else operands


def _leader(operands: Sequence[Slot]) -> int:
    """Return the operand whose type is the layer's: the first, unless it is of another kind.

    An input that shares no type with what follows, such as indices, has no say in the layer's type.
    """
    return int(len(operands) > 1 and operands[0].dtypes.isdisjoint(operands[1].dtypes))


def _arguments(operands: Sequence[Slot], layer: Any) -> list[Any]:
    """Return the operands of the tensor operator, None for optional ones that are absent."""
    positional = iter(layer.operands)
    if operands[0].variadic:
        return list(positional)
    return [layer.tensors.get(s.name) if s.optional else next(positional) for s in operands]


def _names(dims: Sequence[int], operands: Sequence[Features]) -> Sequence[str | None]:
    """Return the names of the first operand with the same sizes, or none."""
    named = (x.names for x in operands if x.sizes() == tuple(dims) and any(x.names))
    return next(named, ("features",) if len(dims) == 1 else (None,) * len(dims))


def _build(b: Builder, layer: BuildView) -> LayoutTensor | tuple[LayoutTensor, ...]:
    """Apply the operator to tensors with equal leading dimensions; parameters have none."""
    slots = layer.operator.operands
    operands: list[LayoutTensor | None] = _arguments(slots, layer)
    canonical = [
        (slot.name in layer.parameters, x and x.canonical())
        for slot, x in zip(_slots(slots, operands), operands, strict=True)
    ]
    unbound = [x for is_parameter, x in canonical if x is not None and not is_parameter]
    lead: tuple[Role, ...] = tuple(r for r in LEADING if any(r in x.layout for x in unbound))
    tensors = [
        x and (x.tensor if is_parameter else _with_lead(b, x, lead))
        for is_parameter, x in canonical
    ]
    sequence = next((x.sequence for x in unbound if x.sequence is not None), None)
    outcome = b.apply(layer.operator, tensors, tensor_options(layer))
    is_tuple = isinstance(outcome, tuple)
    results: tuple[Tensor, ...] = outcome if is_tuple else (outcome,)
    value: list[LayoutTensor] = []
    for tensor, features in zip(results, layer.results, strict=True):
        if tensor.shape[len(lead) :] != features.sizes():
            layer.fail(
                "NNM402",
                f"{show(tensor.shape)} after {', '.join(map(str, lead))}, inferred {features}",
                hint="the decomposition has to treat all batches and sequences alike",
            )
        value.append(LayoutTensor(tensor, (*lead, *range(len(features.sizes()))), sequence))
    return tuple(value) if is_tuple else value[0]


def _with_lead(b: Builder, x: LayoutTensor, lead: Sequence[Role]) -> Any:
    if len(x.lead) == len(lead):
        return x.tensor
    ones = [x.size(role) if role in x.layout else 1 for role in lead]
    return b.reshape(x.tensor, new_shape=(*ones, *x.features))
