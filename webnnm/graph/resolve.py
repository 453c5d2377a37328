"""Resolves operands and references of expanded layers; new names become parameters (spec A.6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webnnm.dtypes import is_data_type
from webnnm.errors import ModelError, Span, edit_distance, suggestion
from webnnm.graph.declare import Declared
from webnnm.graph.expand import Bound, Expander, Flow, Given, Pending, Scope, plain
from webnnm.graph.outline import Outline
from webnnm.graph.vertices import LayerVertex, LiteralVertex, ParameterVertex, Source
from webnnm.notation.syntax import Call, Items, NamedShape, Number, Reference, Value
from webnnm.ops.features import Changes, Features
from webnnm.ops.layer import Role, TensorSlot, ValueOption
from webnnm.ops.naming import camel_case
from webnnm.ops.values import Sizes


class Resolver:
    """Fills the layers of an expander with operands, tensors and option values."""

    def __init__(self, outline: Outline, expander: Expander, declared: Declared) -> None:
        self.outline = outline
        self.expander = expander
        self.declared = declared
        self.parameters: list[ParameterVertex] = []
        self._changes: Changes = declared.changes
        self._counts: dict[str, int] = {}
        self._copies: dict[tuple[str, int], ParameterVertex] = {}

    def resolve(self, given: Given) -> None:
        """Resolve one layer."""
        vertex, scope = given.vertex, given.scope
        self._read_common(given)
        operands = self._flow_and_operands(given)
        positional = self._positional(given, operands[1:])
        vertex.operands = [self._operand(given, *item) for item in operands[:1]] + positional
        for slot in vertex.rules.slots:
            option = given.options.get(slot.name) if slot.option else None
            if option is not None:
                vertex.places[slot.name] = option.span
                vertex.tensors[slot.name] = self._tensor(
                    given, option.value, slot, option.span if slot.parameter is None else None
                )
        for slot in vertex.rules.slots:
            if slot.option and not slot.optional and slot.name not in vertex.tensors:
                message = f'"{vertex.operator.name}" needs {slot.name}='
                if "skip" in vertex.rules.options:
                    message += " or skip="
                raise self.expander.fail("NNM304", message, vertex.span, scope)
        if not vertex.rules.slots or not all(slot.option for slot in vertex.rules.slots):
            return
        if "to" in vertex.tensors:
            vertex.operands.append(vertex.tensors.pop("to"))

    def source(self, flow: Flow, span: Span) -> Source:
        """Return the source that a flow stands for."""
        if isinstance(flow, Pending):
            return self._existing(flow.value, flow.scope, flow.span)
        assert flow is not None, span
        return flow

    # What flows in, and the operands as written.

    def _flow_and_operands(self, given: Given) -> list[tuple[Any, TensorSlot | None]]:
        """Return the flow and the operands behind it, unresolved."""
        vertex, scope = given.vertex, given.scope
        operands = list(given.operands)
        rules = vertex.rules
        if operands and isinstance(operands[0], Items) and _has_name(operands[0]):
            return [(value, None) for value in (*operands[0].items, *operands[1:])]
        if rules.condition and len(operands) == 1 + len(rules.slots):
            return [(value, None) for value in operands]
        if given.flow is None:
            raise self.expander.fail(
                "NNM210",
                f'block "{scope.block.name}" has no input',
                vertex.span,
                scope,
                "name the operand with node=",
            )
        return [(given.flow, None), *((value, None) for value in operands)]

    def _positional(
        self, given: Given, operands: Sequence[tuple[Any, TensorSlot | None]]
    ) -> list[Source]:
        """Distribute operands over tensor slots, then over values that may stand as operands."""
        vertex, rules = given.vertex, given.vertex.rules
        values = [value for value, _ in operands]
        if rules.many or (rules.folds and len(values) > 1 and _is_list(given)):
            return [self._tensor(given, value, TensorSlot(name="operand")) for value in values]
        slots = [slot for slot in rules.slots if not slot.option or slot.optional]
        slots = [s for s in slots if not (s.option and s.name in given.options)]
        tensor_slots = slots[: len(values)]
        readers = [(n, o) for n, o in rules.options.items() if o.operand]
        rest = values[len(tensor_slots) :]
        required = sum(not slot.option for slot in rules.slots)
        if len(rest) > len(readers) or len(values) < required:
            raise self._wrong_count(given, required, len(slots) + len(readers), len(values))
        sources: list[Source] = []
        for slot, value in zip(tensor_slots, values, strict=False):
            source = self._tensor(given, value, slot)
            vertex.places[slot.name] = value.span
            if slot.option:
                vertex.tensors[slot.name] = source
            else:
                sources.append(source)
        for (name, option), value in zip(readers, rest, strict=False):
            vertex.places[name] = value.span
            vertex.options[name] = self._read(given, name, option, value, value.span)
        self._read_options(given)
        return sources

    def _wrong_count(self, given: Given, least: int, most: int, found: int) -> ModelError:
        amount = str(least) if least == most else f"{least} to {most}"
        plural = "" if amount == "1" else "s"
        return self.expander.fail(
            "NNM302",
            f'"{given.vertex.operator.name}" takes {amount} operand{plural}, {found} given',
            given.vertex.span,
            given.scope,
        )

    def _operand(self, given: Given, value: Any, _slot: TensorSlot | None) -> Source:
        if isinstance(value, Source | Pending):
            return self.source(value, given.vertex.span)
        return self._tensor(given, value, TensorSlot(name="operand"))

    def _tensor(
        self, given: Given, value: Any, slot: TensorSlot, span: Span | None = None
    ) -> Source:
        """Resolve a value that stands for a tensor."""
        scope = given.scope
        if isinstance(value, Bound):
            value, scope = value.value, value.scope
            if isinstance(value, Source | Pending) or value is None:
                return self.source(value, given.vertex.span)
        if isinstance(value, Number) or (isinstance(value, Items) and not _has_name(value)):
            return self._literal(given, value)
        if not isinstance(value, Reference):
            raise self.expander.fail(
                "NNM205", "expected a name, a number or a list", value.span, scope
            )
        found = self._find(value, scope, span or value.span)
        if found is not None:
            return found
        if slot.parameter is None:
            raise self._unknown(value, scope, span or value.span)
        return Source(self._new_parameter(given, value, slot.parameter))

    def _literal(self, given: Given, value: Value) -> Source:
        vertex = given.vertex
        try:
            data = _nested(value)
            shape = _shape_of(data)
        except ValueError as error:
            raise self.expander.fail("NNM303", str(error), value.span, given.scope) from error
        features = Features(self._changes, shape)
        return Source(
            LiteralVertex(span=value.span, features=[features], data=data, dtype=vertex.dtype)
        )

    # References.

    def _existing(self, value: Any, scope: Scope, span: Span) -> Source:
        """Resolve a reference that shall name something; errors stand at `span`."""
        if isinstance(value, Bound):
            value, scope = value.value, value.scope
        if isinstance(value, Source | Pending):
            return self.source(value, span)
        if not isinstance(value, Reference):
            raise self.expander.fail("NNM205", "expected a name", span, scope)
        found = self._find(value, scope, span)
        if found is None:
            raise self._unknown(value, scope, span)
        return found

    def _find(self, reference: Reference, scope: Scope, span: Span) -> Source | None:
        """Return what a reference names, or None."""
        if reference.port is not None:
            return self._port(reference, span)
        word, *rest = reference.parts
        if word == "input" and not rest:
            if scope.entering is None:
                message = f'nothing enters block "{scope.block.name}"'
                raise self.expander.fail("NNM205", message, span, scope)
            return self.source(scope.entering, span)
        level: Scope | None = scope
        while level is not None:
            if word in level.names:
                return self._member(level.names[word], rest, reference, scope, span)
            level = level.parent
        if word in self.expander.globals:
            return self._member(self.expander.globals[word], rest, reference, scope, span)
        if not rest and (found := self._declared(word, scope)) is not None:
            return found
        if word in self.outline.blocks:
            return self._block(word, scope, span)
        return None

    def _member(
        self, target: Any, rest: Sequence[str], reference: Reference, scope: Scope, span: Span
    ) -> Source:
        """Follow the dotted parts of a reference."""
        if isinstance(target, Source):
            if not rest:
                return target
            layer = target.vertex
            index = _result_index(layer, rest[0])
            if index is None or len(rest) > 1:
                raise self._unknown(reference, scope, span)
            return Source(layer, index)
        flow, inner = target
        if not rest:
            return self.source(flow, span)
        if rest[0] not in inner.names:
            raise self._unknown(reference, inner, span)
        return self._member(inner.names[rest[0]], rest[1:], reference, inner, span)

    def _declared(self, word: str, scope: Scope) -> Source | None:
        if word in self.declared.constants:
            return Source(self.declared.constants[word])
        if word not in self.outline.parameters:
            return None
        copy = self.declared.is_copied(word)
        key = (word, id(scope) if copy else 0)
        if key not in self._copies:
            earlier = sum(name == word for name, _ in self._copies)
            name = word if not earlier else f"{word}{earlier + 1}"
            self._copies[key] = self.declared.parameter(word, name)
            self.parameters.append(self._copies[key])
        return Source(self._copies[key])

    def _port(self, reference: Reference, span: Span) -> Source:
        word = reference.parts[0]
        block = self.outline.blocks.get(word)
        port = None if block is None else getattr(block, str(reference.port))
        if port is None:
            hint = suggestion(word, self.outline.blocks)
            raise self.outline.error("NNM205", f'there is no "{reference}"', span, hint)
        if reference.port == "input":
            return Source(self.declared.inputs[word])
        return self.source(self.expander.results[word][0], span)

    def _block(self, word: str, scope: Scope, span: Span) -> Source:
        results = self.expander.results.get(word, [])
        block = self.outline.blocks[word]
        if block.is_root:
            if block.layers is None:
                return Source(self.declared.inputs[word])
            return self.source(results[0], span)
        if len(results) != 1:
            raise self.expander.fail(
                "NNM209",
                f'"{word}" is expanded {len(results)} times',
                span,
                scope,
                "give one call name= and refer to that",
            )
        return self.source(results[0], span)

    def _unknown(self, reference: Reference, scope: Scope, span: Span) -> ModelError:
        words = {*self.expander.globals, *self.outline.blocks, *self.outline.constants}
        words |= {*self.outline.parameters, "input"}
        level: Scope | None = scope
        while level is not None:
            words |= level.names.keys()
            level = level.parent
        hint = suggestion(str(reference), words)
        return self.expander.fail("NNM205", f'nothing is called "{reference}"', span, scope, hint)

    # New parameters.

    def _new_parameter(self, given: Given, reference: Reference, role: Role) -> ParameterVertex:
        word = str(reference)
        taken = {*self.outline.parameters, *self.outline.constants, *self.expander.globals}
        count = self._counts.get(word, 0) + 1
        while f"{word}{count}" in taken:
            count += 1
        self._counts[word] = count
        for name in self.outline.parameters:
            if len(word) >= 4 and edit_distance(word, name, 1) == 1:
                self.outline.warn(
                    "NNM004", f'"{word}" is a new parameter; meant "{name}"?', reference.span
                )
        lrm, trainable = given.options.get("lrm"), given.options.get("trainable")
        init = given.options.get("init")
        parameter = ParameterVertex(
            span=reference.span,
            features=[Features(self._changes, undeclared=True)],
            name=f"{word}{count}",
            role=role,
            user=given.vertex,
            trainable=trainable is None or str(plain(trainable.value)) != "false",
            lrm=self._number(given, lrm) if lrm is not None else None,
            init=plain(init.value) if init is not None and role in ("weight", "table") else None,
        )
        self.parameters.append(parameter)
        return parameter

    def _number(self, given: Given, option: Any) -> float:
        value = plain(option.value)
        if not isinstance(value, Number) or value.value < 0:
            message = f"{option.name}= takes a number from 0"
            raise self.expander.fail("NNM303", message, option.span, given.scope)
        return value.value

    # Options.

    def _read_common(self, given: Given) -> None:
        """Read the options that every layer understands."""
        vertex, options = given.vertex, given.options
        vertex.name = given.named or ""
        if "shape" in options and "shape" not in vertex.rules.options:
            value = plain(options["shape"].value)
            if not isinstance(value, Items | NamedShape):
                span = options["shape"].span
                raise self.expander.fail("NNM303", "shape= takes a shape", span, given.scope)
            vertex.shape = value
            vertex.places["shape"] = value.span
        data_type = options.get("dataType")
        if data_type is not None:
            word = str(plain(data_type.value))
            if not is_data_type(word):
                message = f'unknown data type "{word}"'
                raise self.expander.fail("NNM303", message, data_type.span, given.scope)
            vertex.written_type = word
            vertex.places["dataType"] = data_type.span

    def _read_options(self, given: Given) -> None:
        """Read the values of the operator's own options, defaults where nothing was written."""
        vertex = given.vertex
        for name, option in vertex.rules.options.items():
            spelling = next(
                (word for word in (camel_case(name), *option.aliases) if word in given.options),
                None,
            )
            if spelling is not None:
                written = given.options[spelling]
                vertex.places[name] = written.span
                value = self._read(given, name, option, written.value, written.span)
                vertex.options[name] = value
                self._dimensions_of_others(given, value)
            else:
                vertex.options.setdefault(name, option.default)

    def _read(self, given: Given, name: str, option: ValueOption, value: Any, span: Span) -> Any:
        syntax = plain(value)
        if isinstance(syntax, Reference) and syntax.word in self.declared.scalars:
            syntax = Number(self.declared.scalars[syntax.word], span=syntax.span)
        try:
            return option.read(syntax)
        except ValueError as error:
            message = f'{camel_case(name)}= of "{given.vertex.operator.name}": {error}'
            raise self.expander.fail("NNM303", message, span, given.scope) from error

    def _dimensions_of_others(self, given: Given, value: Any) -> None:
        """Sizes such as `half.dimension('sequence')` make the layer depend on another tensor."""
        for size in value.sizes if isinstance(value, Sizes) else ():
            if isinstance(size, Call):
                *parts, method = size.function.parts
                if method != "dimension" or not parts:
                    message = f"\"{size.function}\" is no size; write name.dimension('sequence')"
                    raise self.expander.fail("NNM303", message, size.span, given.scope)
                other = Reference(tuple(parts), span=size.span)
                source = self._existing(other, given.scope, size.span)
                given.vertex.tensors[str(size.function)] = source


def _is_list(given: Given) -> bool:
    return (
        bool(given.operands)
        and isinstance(given.operands[0], Items)
        and _has_name(given.operands[0])
    )


def _has_name(items: Items) -> bool:
    return any(isinstance(item, Reference | Bound) for item in items.items)


def _nested(value: Value) -> Any:
    if isinstance(value, Items):
        return [_nested(item) for item in value.items]
    if isinstance(value, Number):
        return value.value
    raise ValueError("expected numbers")


def _shape_of(data: Any) -> list[int]:
    if not isinstance(data, list):
        return []
    if not data:
        raise ValueError("the list is empty")
    shapes: list[list[int]] = [_shape_of(item) for item in data]  # pyright: ignore
    if any(shape != shapes[0] for shape in shapes):
        raise ValueError("the nested lists are ragged")
    return [len(shapes), *shapes[0]]


RESULT_WORDS: Mapping[str, int] = {"hidden": 0, "cell": 1, "sequence": 2}


def _result_index(vertex: Any, word: str) -> int | None:
    if not isinstance(vertex, LayerVertex):
        return None
    index = int(word) if word.isdecimal() else RESULT_WORDS.get(word)
    return index
