"""Fill expanded layers with operands and option values; new names become parameters (A.6)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from webnnm.core.dtypes import is_data_type
from webnnm.core.errors import ModelError, Span
from webnnm.core.naming import camel_case
from webnnm.graph.elaboration.declare import Declared
from webnnm.graph.elaboration.expand import Expander
from webnnm.graph.elaboration.outline import Outline
from webnnm.graph.elaboration.references import References
from webnnm.graph.elaboration.scope import Bound, Pending, UnresolvedLayer, plain
from webnnm.graph.elaboration.slips import Slips
from webnnm.graph.elaboration.vertices import LayerVertex, LiteralVertex, ParameterVertex, Source
from webnnm.notation.syntax import Call, Items, NamedShape, Number, Reference, Value
from webnnm.ops.declare.features import Changes, Features
from webnnm.ops.declare.layer import ParameterRole, TensorSlot, ValueOption
from webnnm.ops.declare.values import BOOLEANS, LIST_EXPECTED, TYPE_EXPECTED, Sizes

INITIALISED = ("weight", "projection", "recurrent", "table")
"""Roles of the parameters that `init=` sets on a block, or on a layer with several."""


class Resolver:
    """Fills the layers of an expander with operands, tensors and option values."""

    def __init__(self, outline: Outline, expander: Expander, declared: Declared) -> None:
        self.outline = outline
        self.expander = expander
        self.declared = declared
        self.references = References(outline, expander, declared)
        self.parameters = self.references.parameters
        self.blocks: dict[int, Reference] = {}
        """References to blocks where a parameter may have been meant, by the ids of layers."""
        self._changes: Changes = declared.changes
        self._counts: dict[str, int] = {}
        self._judged: set[int] = set()
        self._words: dict[str, str] = {}
        self._used_names = {*outline.parameters, *outline.constants, *expander.globals}
        self._slips = Slips([*self._used_names, *outline.blocks, "input"])
        self._written: set[Span] = set()

    def resolve(self, layer: UnresolvedLayer) -> None:
        """Resolve one layer."""
        vertex, scope = layer.vertex, layer.scope
        self._words = {}
        self._read_common(layer)
        incoming, values, list_length = self._flow_and_operands(layer)
        positional = self._assign_operands(layer, values, list_length)
        vertex.operands = (
            positional if incoming is None else [self._flow(layer, incoming), *positional]
        )
        for slot in vertex.rules.slots:
            option = layer.options.get(slot.name) if slot.option else None
            if option is not None:
                vertex.places[slot.name] = option.span
                vertex.tensors[slot.name] = self._tensor(
                    layer, option.value, slot, option.span if slot.parameter is None else None
                )
        for slot in vertex.rules.slots:
            if slot.option and not slot.optional and slot.name not in vertex.tensors:
                message = f'"{vertex.operator.name}" needs {slot.name}='
                if "skip" in vertex.rules.options:
                    message += " or skip="
                hint = f"write {slot.name}=, with the name of a layer or of a parameter"
                raise self.expander.make_error("NNM304", message, vertex.span, scope, hint)
        for slot in vertex.rules.implicit(vertex.options, self._words):
            reference = Reference((slot.word or slot.name,), span=vertex.span)
            vertex.tensors[slot.name] = Source(self._new_parameter(layer, reference, slot))
        sourced = self.expander.sourced.get(vertex.operator.name)
        if sourced:
            sourced.resolve(layer, self.parameters)
        vertex.parameters = self._slots_of_parameters(vertex)
        for _ in range(1, vertex.rules.results(vertex.options)):
            vertex.features.append(Features(self._changes))

    # What flows in, and the operands as written.

    def _flow_and_operands(self, layer: UnresolvedLayer) -> tuple[Any, list[Any], int]:
        """Return the flow, the operands after it, and how many of these were in a list."""
        vertex, scope = layer.vertex, layer.scope
        operands = list(layer.operands)
        rules = vertex.rules
        if operands and isinstance(operands[0], Items) and _has_name(operands[0]):
            incoming, *listed = operands[0].items
            return incoming, [*listed, *operands[1:]], len(listed)
        if rules.condition and len(operands) == 1 + len(rules.slots):
            return operands[0], operands[1:], 0
        if rules.starts:
            return None, operands, 0
        if layer.flow is None:
            raise self.expander.make_error(
                "NNM210",
                f'block "{scope.block.name}" has no input',
                vertex.span,
                scope,
                "name the operand with node=",
            )
        return layer.flow, operands, 0

    def _assign_operands(
        self, layer: UnresolvedLayer, values: list[Any], list_length: int
    ) -> list[Source]:
        """Distribute operands over tensor slots, then over options that may be given as operands.

        Names in a list refer to something that exists; they never become parameters.
        """
        vertex, rules = layer.vertex, layer.vertex.rules
        if rules.many or (rules.folds and list_length > 1):
            self._read_options(layer)
            if rules.many and not values and _is_list(layer):
                raise self._alone(layer)
            return [self._tensor(layer, value, TensorSlot(name="operand")) for value in values]
        slots = [slot for slot in rules.slots if not slot.option or slot.optional]
        slots = [s for s in slots if not (s.option and s.name in layer.options)]
        tensor_slots = slots[: len(values)]
        readers = [(n, o) for n, o in rules.options.items() if o.operand]
        rest = values[len(tensor_slots) :]
        required = sum(not slot.option for slot in rules.slots)
        if len(rest) > len(readers) or len(values) < required:
            raise self._wrong_count(layer, required, len(slots) + len(readers), len(values))
        sources: list[Source] = []
        for index, (slot, value) in enumerate(zip(tensor_slots, values, strict=False)):
            own_slot = replace(slot, parameter=None) if index < list_length else slot
            source = self._tensor(layer, value, own_slot)
            vertex.places[slot.name] = value.span
            if slot.option:
                vertex.tensors[slot.name] = source
            else:
                sources.append(source)
        for (name, option), value in zip(readers, rest, strict=False):
            vertex.places[name] = value.span
            vertex.options[name] = self._read(layer, name, option, value, value.span)
        self._read_options(layer)
        return sources

    def _alone(self, layer: UnresolvedLayer) -> ModelError:
        """Return the error of a list of one, where several are joined."""
        from webnnm.graph.hints.remedies import hint_list_of_operands

        operator = layer.vertex.operator.name
        message = f'"{operator}" joins two operands or more, and its list has one'
        span, hint = layer.vertex.span, hint_list_of_operands(layer.syntax, layer.flow)
        return self.expander.make_error("NNM302", message, span, layer.scope, hint)

    def _wrong_count(
        self, layer: UnresolvedLayer, minimum: int, maximum: int, actual: int
    ) -> ModelError:
        from webnnm.graph.hints.remedies import usage

        if actual < minimum and layer.vertex.rules.folds and _is_list(layer):
            return self._alone(layer)
        amount = str(minimum) if minimum == maximum else f"{minimum} to {maximum}"
        plural = "" if amount == "1" else "s"
        return self.expander.make_error(
            "NNM302",
            f'"{layer.vertex.operator.name}" takes {amount} operand{plural}, {actual} given',
            layer.vertex.span,
            layer.scope,
            usage(layer.syntax.operator, layer.vertex.rules, layer.syntax.operands),
        )

    def _flow(self, layer: UnresolvedLayer, value: Any) -> Source:
        if isinstance(value, (Source, Pending)):
            return self.references.source(value, layer.vertex.span)
        try:
            return self._tensor(layer, value, TensorSlot(name="operand"))
        except ModelError as error:
            axes = [name for name in ("axes", "axis") if name in layer.vertex.rules.options]
            if error.code == "NNM205" and axes and not error.hint.startswith("write"):
                error.hint = f"a list of names holds operands: write {axes[0]}=[{value}] for axes"
                error.fix = None
            raise

    def _tensor(
        self, layer: UnresolvedLayer, value: Any, slot: TensorSlot, span: Span | None = None
    ) -> Source:
        """Resolve a value that stands for a tensor."""
        scope = layer.scope
        self._words[slot.name] = ""
        if isinstance(value, Bound):
            value, scope = value.value, value.scope
            if isinstance(value, (Source, Pending)) or value is None:
                return self.references.source(value, layer.vertex.span)
        if isinstance(value, Number) or (isinstance(value, Items) and not _has_name(value)):
            return self._literal(layer, value)
        if not isinstance(value, Reference):
            raise self.expander.make_error(
                "NNM205", "expected a name, a number or a list", value.span, scope
            )
        source = self.references.find(value, scope, span or value.span)
        if source is not None:
            self._judge(source, slot)
            if slot.parameter is not None and value.word in self.outline.blocks:
                self.blocks.setdefault(id(layer.vertex), value)
            if isinstance(source.vertex, ParameterVertex):
                self._words[slot.name] = str(value)
            return source
        if slot.parameter is None:
            raise self.references.unknown(value, scope, span or value.span)
        new_name = self._words[slot.name] = str(value)
        if value.span not in self._written:
            self._written.add(value.span)
            for name in self._slips.find_intended(new_name, scope):
                message = f'"{new_name}" is a new parameter; meant "{name}"?'
                self.outline.warn("NNM004", message, value.span, name)
        return Source(self._new_parameter(layer, value, slot))

    def _judge(self, source: Source, slot: TensorSlot) -> None:
        """Give a declared parameter the role of its first use (spec B.6)."""
        vertex = source.vertex
        if isinstance(vertex, ParameterVertex) and id(vertex) not in self._judged:
            self._judged.add(id(vertex))
            if vertex.user is None:
                vertex.role = slot.parameter or "other"

    def _literal(self, layer: UnresolvedLayer, value: Value) -> Source:
        vertex = layer.vertex
        try:
            data = _to_lists(value)
            shape = _shape_of(data)
        except ValueError as error:
            raise self.expander.make_error("NNM303", str(error), value.span, layer.scope) from error
        features = Features(self._changes, shape)
        return Source(
            LiteralVertex(span=value.span, features=[features], data=data, dtype=vertex.dtype)
        )

    # New parameters.

    def _slots_of_parameters(self, vertex: LayerVertex) -> frozenset[str]:
        """Return the names of the slots that hold parameters."""
        positional = [s for s in vertex.rules.slots if not s.option]
        filled = dict(zip((s.name for s in positional), vertex.operands[1:], strict=False))
        return frozenset(
            name
            for name, source in (filled | vertex.tensors).items()
            if isinstance(source.vertex, ParameterVertex)
        )

    def _new_parameter(
        self, layer: UnresolvedLayer, reference: Reference, slot: TensorSlot
    ) -> ParameterVertex:
        base = str(reference)
        names = self._used_names
        count = self._counts.get(base, 0) + 1
        while f"{base}{count}" in names:
            count += 1
        self._counts[base] = count
        lrm, trainable = layer.options.get("lrm"), layer.options.get("trainable")
        init = layer.options.get("init")
        role: ParameterRole = slot.parameter or "other"
        # init= of a block is for weights; init= of add(b) is for b.
        is_explicit = layer.syntax.option("init") is not None and len(layer.vertex.rules.slots) == 1
        parameter = ParameterVertex(
            span=reference.span,
            features=[Features(self._changes, undeclared=True)],
            name=f"{base}{count}",
            role=role,
            user=layer.vertex,
            trainable=slot.trainable
            and (trainable is None or self._is_trainable(layer, trainable)),
            lrm=self._number(layer, lrm) if lrm is not None else None,
            init=plain(init.value)
            if init is not None and (is_explicit or role in INITIALISED)
            else None,
        )
        self.parameters.append(parameter)
        return parameter

    def _is_trainable(self, layer: UnresolvedLayer, option: Any) -> bool:
        """Read `trainable=`; a call may name weights of a file, which leaves other layers alone."""
        value, own = plain(option.value), layer.syntax.option("trainable") is not None
        of_file = self.expander.sourced and not own
        if str(value) not in BOOLEANS and not (of_file and isinstance(value, (Items, Reference))):
            message = "trainable= takes true or false"
            raise self.expander.make_error("NNM303", message, option.span, layer.scope)
        return str(value) != "false"

    def _number(self, layer: UnresolvedLayer, option: Any) -> float:
        value = plain(option.value)
        if not isinstance(value, Number) or value.value < 0:
            message = f"{option.name}= takes a number from 0"
            raise self.expander.make_error("NNM303", message, option.span, layer.scope)
        return value.value

    # Options.

    def _read_common(self, layer: UnresolvedLayer) -> None:
        """Read the options that every layer understands."""
        vertex, options = layer.vertex, layer.options
        vertex.name = layer.named or ""
        if "shape" in options and "shape" not in vertex.rules.options:
            value = plain(options["shape"].value)
            if not isinstance(value, (Items, NamedShape)):
                span = options["shape"].span
                raise self.expander.make_error("NNM303", "shape= takes a shape", span, layer.scope)
            vertex.shape = value
            vertex.places["shape"] = value.span
        data_type = options.get("dataType")
        if data_type is not None:
            name = str(plain(data_type.value))
            if not is_data_type(name):
                from webnnm.notation.type_words import suggest_type

                message, hint = f'unknown data type "{name}"', suggest_type(name)
                raise self.expander.make_error("NNM303", message, data_type.span, layer.scope, hint)
            vertex.written_type = name
            vertex.places["dataType"] = data_type.span

    def _read_options(self, layer: UnresolvedLayer) -> None:
        """Read the values of the operator's own options, defaults where nothing was written."""
        vertex = layer.vertex
        for name, option in vertex.rules.options.items():
            spelling = next(
                (key for key in (camel_case(name), *option.aliases) if key in layer.options),
                None,
            )
            if spelling is not None:
                option_in_text = layer.options[spelling]
                vertex.places[name] = option_in_text.span
                value = self._read(layer, name, option, option_in_text.value, option_in_text.span)
                vertex.options[name] = value
                self._dimensions_of_others(layer, value)
            else:
                vertex.options.setdefault(name, option.default)

    def _read(
        self, layer: UnresolvedLayer, name: str, option: ValueOption, value: Any, span: Span
    ) -> Any:
        syntax = plain(value)
        if isinstance(syntax, Reference) and syntax.word in self.declared.scalars:
            syntax = Number(self.declared.scalars[syntax.word], span=syntax.span)
        try:
            return option.read(syntax)
        except ValueError as error:
            message = f'{camel_case(name)}= of "{layer.vertex.operator.name}": {error}'
            bare = isinstance(syntax, Number) and error.args == (LIST_EXPECTED,)
            hint = f"write [{syntax.value}], with a number for each dimension" if bare else ""
            if error.args == (TYPE_EXPECTED,):
                from webnnm.notation.type_words import suggest_type

                hint = suggest_type(str(syntax))
            raise self.expander.make_error("NNM303", message, span, layer.scope, hint) from error

    def _dimensions_of_others(self, layer: UnresolvedLayer, value: Any) -> None:
        """Make the layer depend on tensors in sizes such as `half.dimension('sequence')`."""
        for size in value.sizes if isinstance(value, Sizes) else ():
            if isinstance(size, Call):
                *parts, method = size.function.parts
                if method != "dimension" or not parts:
                    message = f"\"{size.function}\" is not a size; write name.dimension('sequence')"
                    raise self.expander.make_error("NNM303", message, size.span, layer.scope)
                other = Reference(tuple(parts), span=size.span)
                source = self.references.existing(other, layer.scope, size.span)
                layer.vertex.tensors[str(size.function)] = source


def _has_name(items: Items) -> bool:
    return any(isinstance(item, (Reference, Bound)) for item in items.items)


def _to_lists(value: Value) -> Any:
    if isinstance(value, Items):
        return [_to_lists(item) for item in value.items]
    if isinstance(value, Number):
        return value.value
    raise ValueError("expected numbers")


def _shape_of(data: list[Any] | float) -> list[int]:
    if not isinstance(data, list):
        return []
    if not data:
        raise ValueError("the list is empty")
    shapes: list[list[int]] = [_shape_of(item) for item in data]
    if any(shape != shapes[0] for shape in shapes):
        raise ValueError("the nested lists are ragged")
    return [len(shapes), *shapes[0]]


def _is_list(layer: UnresolvedLayer) -> bool:
    """Return whether the operands of a layer were written as a list of names."""
    first = layer.operands[0] if layer.operands else None
    return isinstance(first, Items) and _has_name(first)
