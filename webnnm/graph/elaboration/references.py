"""Find what references name: layers, ports, blocks, declared constants and parameters (A.6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webnnm.core.errors import ModelError, Span, suggestion
from webnnm.graph.elaboration.declare import Declared
from webnnm.graph.elaboration.expand import Expander
from webnnm.graph.elaboration.outline import Outline
from webnnm.graph.elaboration.scope import Bound, Flow, Pending, Scope, plain, substitute
from webnnm.graph.elaboration.vertices import LayerVertex, ParameterVertex, Source
from webnnm.notation.syntax import Reference


class References:
    """Looks up names after expansion; declared parameters join `parameters` at their first use."""

    def __init__(self, outline: Outline, expander: Expander, declared: Declared) -> None:
        self.outline = outline
        self.expander = expander
        self.declared = declared
        self.parameters: list[ParameterVertex] = []
        self._copies: dict[tuple[str, int], ParameterVertex] = {}
        self._counts: dict[str, int] = {}

    def source(self, value: Flow, span: Span) -> Source:
        """Return the source that a flow stands for. Raises NNM210 if nothing flows."""
        if isinstance(value, Pending):
            return self.existing(value.value, value.scope, value.span)
        if value is None:
            message = "this is the value passed to the block, but the block has no input"
            raise self.outline.error("NNM210", message, span, "name another value")
        return value

    def existing(self, value: Any, scope: Scope, span: Span) -> Source:
        """Return what a reference names, which has to exist; errors point at `span`."""
        if isinstance(value, Bound):
            value, scope = value.value, value.scope
        if isinstance(value, (Source, Pending)):
            return self.source(value, span)
        if not isinstance(value, Reference):
            raise self.expander.make_error("NNM205", "expected a name", span, scope)
        source = self.find(value, scope, span)
        if source is None:
            raise self.unknown(value, scope, span)
        return source

    def find(self, reference: Reference, scope: Scope, span: Span) -> Source | None:
        """Return what a reference names, or None."""
        if reference.port is not None:
            return self._port(reference, span)
        head, *rest = reference.parts
        if head == "input" and not rest:
            if scope.entering is None:
                message = f'no value is passed to block "{scope.block.name}"'
                raise self.expander.make_error("NNM205", message, span, scope)
            return self.source(scope.entering, span)
        level: Scope | None = scope
        while level is not None:
            if head in level.names:
                return self._member(level.names[head], rest, reference, scope, span)
            level = level.parent
        if head in self.expander.globals:
            return self._member(self.expander.globals[head], rest, reference, scope, span)
        if not rest and (source := self._find_declared(head, scope)) is not None:
            return source
        if head in self.outline.blocks:
            return self._block(head, scope, span)
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
                raise self.unknown(reference, scope, span)
            return Source(layer, index)
        result, inner = target
        if not rest:
            return self.source(result, span)
        if rest[0] not in inner.names:
            raise self.unknown(reference, inner, span)
        return self._member(inner.names[rest[0]], rest[1:], reference, inner, span)

    def _find_declared(self, base: str, scope: Scope) -> Source | None:
        if base in self.declared.constants:
            return Source(self.declared.constants[base])
        if base not in self.outline.parameters:
            return None
        copy = self.declared.is_copied(base)
        key = (base, id(scope) if copy else 0)
        if key not in self._copies:
            self._counts[base] = number = self._counts.get(base, 0) + 1
            name = base if number == 1 else f"{base}{number}"
            shape = self.outline.parameters[base].shape
            if copy:
                shape = plain(substitute(shape, scope))
            self._copies[key] = self.declared.parameter(base, name, shape)
            self.parameters.append(self._copies[key])
        return Source(self._copies[key])

    def _port(self, reference: Reference, span: Span) -> Source:
        block_name = reference.parts[0]
        block = self.outline.blocks.get(block_name)
        port = None if block is None else getattr(block, str(reference.port))
        if port is None:
            hint = suggestion(block_name, self.outline.blocks)
            raise self.outline.error("NNM205", f'there is no "{reference}"', span, hint)
        if reference.port == "input":
            return Source(self.declared.inputs[block_name])
        return self.source(self.expander.results[block_name][0], span)

    def _block(self, name: str, scope: Scope, span: Span) -> Source:
        results = self.expander.results.get(name, [])
        block = self.outline.blocks[name]
        if block.is_root:
            if block.layers is None:
                return Source(self.declared.inputs[name])
            return self.source(results[0], span)
        if len(results) != 1:
            raise self.expander.make_error(
                "NNM209",
                f'"{name}" is expanded {len(results)} times',
                span,
                scope,
                "give one call name= and refer to that",
            )
        return self.source(results[0], span)

    def unknown(self, reference: Reference, scope: Scope, span: Span) -> ModelError:
        """Return the error for a reference that names nothing (NNM205)."""
        words = {*self.expander.globals, *self.outline.blocks, *self.outline.constants}
        words |= {*self.outline.parameters, "input"}
        level: Scope | None = scope
        while level is not None:
            words |= level.names.keys()
            level = level.parent
        hint = suggestion(str(reference), words, reference.span)
        return self.expander.make_error("NNM205", f'unknown name "{reference}"', span, scope, hint)


def _result_index(vertex: Any, text: str) -> int | None:
    """Return the index of a result by name or number; its range is checked later."""
    if not isinstance(vertex, LayerVertex):
        return None
    return int(text) if text.isdecimal() else vertex.rules.result_words.get(text)
