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

    def source(self, flow: Flow, span: Span) -> Source:
        """Return the source that a flow stands for. Raises NNM210 if nothing flows."""
        if isinstance(flow, Pending):
            return self.existing(flow.value, flow.scope, flow.span)
        if flow is None:
            message = "this is the value passed to the block, but the block has no input"
            raise self.outline.error("NNM210", message, span, "name another value")
        return flow

    def existing(self, value: Any, scope: Scope, span: Span) -> Source:
        """Return what a reference names, which has to exist; errors point at `span`."""
        if isinstance(value, Bound):
            value, scope = value.value, value.scope
        if isinstance(value, (Source, Pending)):
            return self.source(value, span)
        if not isinstance(value, Reference):
            raise self.expander.fail("NNM205", "expected a name", span, scope)
        found = self.find(value, scope, span)
        if found is None:
            raise self.unknown(value, scope, span)
        return found

    def find(self, reference: Reference, scope: Scope, span: Span) -> Source | None:
        """Return what a reference names, or None."""
        if reference.port is not None:
            return self._port(reference, span)
        word, *rest = reference.parts
        if word == "input" and not rest:
            if scope.entering is None:
                message = f'no value is passed to block "{scope.block.name}"'
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
                raise self.unknown(reference, scope, span)
            return Source(layer, index)
        flow, inner = target
        if not rest:
            return self.source(flow, span)
        if rest[0] not in inner.names:
            raise self.unknown(reference, inner, span)
        return self._member(inner.names[rest[0]], rest[1:], reference, inner, span)

    def _declared(self, word: str, scope: Scope) -> Source | None:
        if word in self.declared.constants:
            return Source(self.declared.constants[word])
        if word not in self.outline.parameters:
            return None
        copy = self.declared.is_copied(word)
        key = (word, id(scope) if copy else 0)
        if key not in self._copies:
            self._counts[word] = number = self._counts.get(word, 0) + 1
            name = word if number == 1 else f"{word}{number}"
            shape = self.outline.parameters[word].shape
            if copy:
                shape = plain(substitute(shape, scope))
            self._copies[key] = self.declared.parameter(word, name, shape)
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

    def unknown(self, reference: Reference, scope: Scope, span: Span) -> ModelError:
        """Return the error for a reference that names nothing (NNM205)."""
        words = {*self.expander.globals, *self.outline.blocks, *self.outline.constants}
        words |= {*self.outline.parameters, "input"}
        level: Scope | None = scope
        while level is not None:
            words |= level.names.keys()
            level = level.parent
        hint = suggestion(str(reference), words, reference.span)
        return self.expander.fail("NNM205", f'unknown name "{reference}"', span, scope, hint)


def _result_index(vertex: Any, word: str) -> int | None:
    """Return which result of a layer a word names; whether there are that many is known later."""
    if not isinstance(vertex, LayerVertex):
        return None
    return int(word) if word.isdecimal() else vertex.rules.result_words.get(word)
