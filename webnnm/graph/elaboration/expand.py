"""Expand block calls and repetitions into a flat list of layers (spec A.6, A.8)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from webnnm import ops
from webnnm.core.errors import ModelError, Span, raise_first, suggestion
from webnnm.graph.elaboration.expansion_size import MAX_LAYERS, refuse_bombs, too_large
from webnnm.graph.elaboration.outline import Block, Outline, operator_or_block
from webnnm.graph.elaboration.scope import (
    Bound,
    Flow,
    Given,
    Pending,
    Scope,
    placeholder_words,
    plain,
    show_value,
    substitute,
    tied,
)
from webnnm.graph.elaboration.vertices import BlockCall, LayerVertex, Source
from webnnm.notation.syntax import (
    Items,
    Layer,
    NamedShape,
    Number,
    Option,
    Reference,
)
from webnnm.ops.declare.operator import AnyOperator

if TYPE_CHECKING:
    from webnnm.graph.elaboration.sourced import SourcedBlock

MAX_DEPTH = 100
MAX_ERRORS = 20
"""From this number of errors on, the rest of a text is not looked at."""

ENDING = ("NNM207",)
"""Errors after which a text is not expanded further: blocks that contain themselves."""

COMMON = ("shape", "shapes", "repeat", "name", "node", "dataType", "lrm", "init", "trainable")
"""Options that every layer understands."""
_TO_LAST = ("shape", "dataType")
_TO_ALL = ("lrm", "init", "trainable")
_OF_CALL = ("name", "node", "repeat", "shapes")


class Expander:
    """Expands the root blocks of an outline in order; `sourced` are the blocks that are files."""

    def __init__(self, outline: Outline, sourced: Mapping[str, SourcedBlock]) -> None:
        self.outline = outline
        self.sourced = sourced
        self.layers: list[Given] = []
        self._vertices: list[LayerVertex] = []
        self.results: dict[str, list[Flow]] = {}
        self.expansions: dict[str, int] = {}
        self.globals: dict[str, Any] = {}
        self.used: set[str] = set()
        self.calls = 0
        self._errors: list[ModelError] = []
        self._most = refuse_bombs(outline, sourced)
        self._call_options = {option.name for call in outline.calls() for option in call.options}
        self._words = {
            name: placeholder_words(block, outline.parameters)
            for name, block in outline.blocks.items()
        }

    def expand_root(self, block: Block, entering: Flow) -> Flow:
        """Expand the layers of a root block and return the value that flows out."""
        scope = Scope(block, entering=entering, names=self.globals, chain=(block.name,))
        flow = self._block(block, scope, entering)
        self.results[block.name] = [flow]
        return flow

    def raise_errors(self) -> None:
        """Raise what is wrong with the layers that were expanded, all of it."""
        raise_first(self._errors)

    def attempt(self, resolve: Callable[[Given], None], given: Given) -> None:
        """Resolve a layer; what is wrong with it is raised with the errors of the others."""
        try:
            resolve(given)
        except ModelError as error:
            self._note(error)

    def _note(self, error: ModelError) -> None:
        """Keep an error for the end; layers that are expanded several times are wrong once."""
        if any((e.code, e.span) == (error.code, error.span) for e in self._errors):
            return
        self._errors.append(error)
        if error.code in ENDING or len(self._errors) >= MAX_ERRORS:
            self.raise_errors()

    def fail(self, code: str, message: str, span: Span, scope: Scope, hint: str = "") -> ModelError:
        """Return an error that names the chain of calls in which it occurred."""
        if len(scope.chain) > 1:
            message += f" (in {' > '.join(scope.chain)})"
        return self.outline.error(code, message, span, hint)

    def _block(
        self,
        block: Block,
        scope: Scope,
        flow: Flow,
        extra: dict[int, dict[str, Option]] | None = None,
    ) -> Flow:
        history: list[Flow] = [flow]
        for index, layer in enumerate(block.layers.layers if block.layers else ()):
            try:
                flow = self._layer(layer, scope, flow, history, (extra or {}).get(index, {}))
            except ModelError as error:
                if error.others or error in self._errors:  # it is the end
                    raise
                self._note(error)
                history.append(flow)
        return flow

    def _layer(
        self,
        layer: Layer,
        scope: Scope,
        flow: Flow,
        history: list[Flow],
        extra: dict[str, Option],
    ) -> Flow:
        """Expand a layer with its repetitions; `extra` are options from the call of the block."""
        options = self._options(layer, scope) | extra
        word = self._operator_word(layer, scope)
        if "shapes" in options and "repeat" in options:
            span = options["repeat"].span
            raise self.fail("NNM212", "shapes= and repeat= cannot be combined", span, scope)
        node = options.pop("node", None)
        if node is not None:
            flow = Pending(node.value, scope, node.span)
        repetitions = self._repetitions(options, scope)
        for number, own in enumerate(repetitions):
            final = number == len(repetitions) - 1
            if not final:
                own.pop("name", None)
            if word in self.outline.blocks and word not in self.sourced:
                flow = self._call(layer, word, own, scope, flow)
            else:
                flow = self._single(layer, word, own, scope, flow, history)
            history.append(flow)
        return flow

    def _operator_word(self, layer: Layer, scope: Scope) -> str:
        # Only errors need the words of other libraries: pages start without them.
        word = layer.operator
        if word in scope.bindings:
            bound = plain(scope.bindings[word])
            found = bound.word if isinstance(bound, Reference) else None
            if found is None or (found not in self.outline.blocks and ops.lookup(found) is None):
                from webnnm.graph.hints.foreign_words import layer_hint

                known = operator_or_block(self.outline)
                hint = f"bind it to the name of one, such as {word}=relu"
                if found is not None:
                    hint = suggestion(found, known, bound.span) or layer_hint(found, known)
                raise self.fail(
                    "NNM204",
                    f'"{word}" is bound to {show_value(bound)}, not to an operator or a block',
                    layer.span,
                    scope,
                    hint,
                )
            return found
        if word in self.outline.blocks or ops.lookup(word) is not None:
            return word
        known = word in self._call_options or word in ("activation", "normalization")
        if known and not layer.operands:
            self.outline.warn(
                "NNM003", f'"{word}" is not bound and is treated as identity', layer.span
            )
            return "identity"
        from webnnm.graph.hints.foreign_words import layer_hint

        raise self.fail(
            "NNM204",
            f'unknown operator "{word}" in block "{scope.block.name}"',
            layer.span,
            scope,
            layer_hint(word, operator_or_block(self.outline)),
        )

    def _options(self, layer: Layer, scope: Scope) -> dict[str, Option]:
        """Return the options of a layer with bound values substituted."""
        found: dict[str, Option] = {}
        for option in layer.options:
            value = option.value
            own_name = isinstance(value, Reference) and value.word == option.name
            if own_name and option.name not in scope.bindings:
                continue
            if option.name != "name":
                value = substitute(value, scope)
            found[option.name] = replace(option, value=value)
        return found

    def _repetitions(self, options: dict[str, Option], scope: Scope) -> list[dict[str, Option]]:
        if "shapes" in options:
            shapes = options.pop("shapes")
            items = shapes.value.items if isinstance(shapes.value, Items) else ()
            if not items or not all(isinstance(item, (Items, NamedShape)) for item in items):
                raise self.fail("NNM303", "shapes= takes a list of shapes", shapes.span, scope)
            return [options | {"shape": Option("shape", item, span=item.span)} for item in items]
        if "repeat" not in options:
            return [dict(options)]
        repeat = options.pop("repeat")
        count = repeat.value.value if isinstance(repeat.value, Number) else 0
        if not isinstance(count, int) or not 1 <= count <= MAX_LAYERS:
            raise self.fail("NNM303", "repeat= takes an integer from 1", repeat.span, scope)
        return [dict(options) for _ in range(count)]

    def _single(
        self,
        layer: Layer,
        word: str,
        options: dict[str, Option],
        scope: Scope,
        flow: Flow,
        history: Sequence[Flow],
    ) -> Flow:
        sourced = self.sourced.get(word)
        operator = sourced.operator if sourced else ops.lookup(word)
        assert operator is not None
        assert operator.layer is not None
        self._check_size(layer)
        self._check_options(operator, options, scope)
        skip = options.pop("skip", None)
        if skip is not None:
            options["to"] = self._skipped(skip, scope, history)
        name = options.pop("name", None)
        vertex = LayerVertex(
            span=layer.span,
            features=[],
            operator=operator,
            rules=operator.layer,
            all_layers=self._vertices,
            chain=scope.chain,
            calls=scope.calls,
        )
        operands = tuple(substitute(operand, scope) for operand in layer.operands)
        given = Given(vertex, layer, operands, options, scope, flow)
        self.layers.append(given)
        if name is not None:
            given.named = self._name(name, scope, Source(vertex))
        if sourced:
            self.used.add(word)
            self.results.setdefault(word, []).append(Source(vertex))
        return Source(vertex)

    def _check_size(self, layer: Layer) -> None:
        """Refuse what only bound words made large: `refuse_bombs` counted what is written."""
        if len(self.layers) + self.calls >= self._most:
            self._errors.clear()
            raise too_large(self.outline, layer, f"more than {self._most:,}", self._most)

    def _check_options(
        self, operator: AnyOperator, options: dict[str, Option], scope: Scope
    ) -> None:
        assert operator.layer is not None
        known = {*operator.layer.option_names(), *COMMON}
        for option in options.values():
            if option.name not in known:
                from webnnm.graph.hints.foreign_words import option_hint

                own = ", ".join(f"{name}=" for name in operator.layer.option_names())
                every = f"it takes {own}" if own else "leave it out: it takes no options of its own"
                raise self.fail(
                    "NNM301",
                    f'"{operator.name}" has no option "{option.name}"',
                    option.span,
                    scope,
                    option_hint(option.name, sorted(known)) or every,
                )

    def _skipped(self, skip: Option, scope: Scope, history: Sequence[Flow]) -> Option:
        """Turn `skip=n` into the value that flowed n layers earlier."""
        if not isinstance(skip.value, Number):
            return replace(skip, name="to")
        n = skip.value.value
        if not isinstance(n, int) or n < 0:
            raise self.fail("NNM303", "skip= takes an integer from 0", skip.span, scope)
        if n >= len(history):
            before = len(history) - 1
            layers = f"{before} layer{'' if before == 1 else 's'}"
            raise self.fail("NNM213", f"only {layers} before this one", skip.span, scope)
        return Option("to", Bound(history[-1 - n], scope), span=skip.span)  # pyrefly: ignore[bad-argument-type]

    def _name(self, name: Option, scope: Scope, target: Any) -> str:
        value = name.value
        word = value.word if isinstance(value, Reference) else None
        if word is None:
            raise self.fail("NNM303", "name= takes a word", name.span, scope)
        taken = word in scope.names or (
            scope.parent is None
            and (word in self.outline.constants or word in self.outline.parameters)
        )
        if taken or word in self.outline.blocks:
            what = "is a block" if word in self.outline.blocks else "already names a layer"
            raise self.fail("NNM206", f'"{word}" {what}', name.span, scope)
        scope.names[word] = target
        return scope.prefix + word

    def _call(
        self, layer: Layer, word: str, options: dict[str, Option], scope: Scope, flow: Flow
    ) -> Flow:
        """Expand a block in place of the layer that calls it."""
        block = self.outline.blocks[word]
        if block.layers is None:
            raise self.fail("NNM203", f'block "{word}" has no layers', layer.span, scope)
        if word in scope.chain or len(scope.chain) >= MAX_DEPTH:
            chain = " > ".join(
                (*scope.chain[scope.chain.index(word) if word in scope.chain else 0 :], word)
            )
            raise self.outline.error("NNM207", chain, layer.span, "a block cannot contain itself")
        flow = self._entering(layer, word, scope, flow)
        self.used.add(word)
        self._check_size(layer)
        self.calls += 1
        name = options.pop("name", None)
        label = plain(name.value).word if name is not None else None
        inner = Scope(
            block,
            parent=scope,
            bindings=scope.bindings | {o.name: tied(o.value, scope) for o in options.values()},
            entering=flow,
            chain=(*scope.chain, word),
            calls=(*scope.calls, BlockCall(self.calls, layer.span)),
            prefix=f"{scope.prefix}{label}." if label else scope.prefix,
        )
        result = self._block(block, inner, flow, self._passed_on(block, options, scope))
        if name is not None:
            self._name(name, scope, (result, inner))
        self.results.setdefault(word, []).append(result)
        return result

    def _entering(self, layer: Layer, word: str, scope: Scope, flow: Flow) -> Flow:
        if not layer.operands:
            return flow
        first = layer.operands[0]
        if len(layer.operands) > 1 or not isinstance(first, Items) or len(first.items) != 1:
            raise self.fail(
                "NNM302",
                f'a call of block "{word}" takes no operands except a list of one name',
                layer.span,
                scope,
                "bind placeholders with options",
            )
        return Pending(substitute(first.items[0], scope), scope, first.items[0].span)

    def _passed_on(
        self, block: Block, options: dict[str, Option], scope: Scope
    ) -> dict[int, dict[str, Option]]:
        """Return the options of a call that go to single layers of the block (rules 3, 4 and 6)."""
        layers = block.layers.layers if block.layers else ()
        extra: dict[int, dict[str, Option]] = {index: {} for index in range(len(layers))}
        for option in options.values():
            moved = replace(option, value=tied(option.value, scope))
            if option.name in self._words[block.name]:
                continue
            if option.name in _TO_LAST:
                extra[len(layers) - 1][option.name] = moved
            elif option.name in _TO_ALL:
                for index, layer in enumerate(layers):
                    if layer.option(option.name) is None:
                        extra[index][option.name] = moved
            elif option.name not in _OF_CALL:
                takers = [i for i, layer in enumerate(layers) if _defines(layer, option.name)]
                if len(takers) > 1:
                    raise self.fail(
                        "NNM306",
                        f'{len(takers)} layers of "{block.name}" have an option "{option.name}"',
                        option.span,
                        scope,
                        "use a placeholder",
                    )
                if takers:
                    extra[takers[0]][option.name] = moved
                elif not self._used_inside(block, option.name):
                    raise self.fail(
                        "NNM305",
                        f'block "{block.name}" does not use "{option.name}"',
                        option.span,
                        scope,
                        suggestion(option.name, [*self._words[block.name], *COMMON]),
                    )
        return extra

    def _used_inside(self, block: Block, word: str) -> bool:
        """Return whether a block nested in this one has the word as a placeholder."""
        seen: set[str] = set()
        waiting = [block.name]
        while waiting:
            name = waiting.pop()
            if name in seen or name not in self._words:
                continue
            seen.add(name)
            if word in self._words[name]:
                return True
            waiting.extend(self._words[name])
        return False


def _defines(layer: Layer, option: str) -> bool:
    operator = ops.lookup(layer.operator)
    return (
        operator is not None
        and operator.layer is not None
        and option in operator.layer.option_names()
    )
