"""Expand block calls and repetitions into a flat list of layers (spec A.6, A.8)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from webnnm import ops
from webnnm.core.errors import ModelError, Span, raise_first, suggestion
from webnnm.graph.elaboration.expansion_size import MAX_LAYERS, check_expansion_size, too_large
from webnnm.graph.elaboration.outline import Block, Outline, operator_or_block
from webnnm.graph.elaboration.scope import (
    Bound,
    Flow,
    Pending,
    Scope,
    UnresolvedLayer,
    placeholder_words,
    plain,
    show_value,
    substitute,
    tie_to_scope,
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
"""Errors after which a text is not expanded further: blocks that contain themselves, or are nested
too deep."""

COMMON = ("shape", "shapes", "repeat", "name", "node", "dataType", "lrm", "init", "trainable")
"""Options that every layer understands."""
_FOR_LAST_LAYER = ("shape", "dataType")
_FOR_ALL_LAYERS = ("lrm", "init", "trainable")
_FOR_THE_CALL = ("name", "node", "repeat", "shapes")
"""Options of a call, by what they apply to: layers of the block, or the call itself."""


class Expander:
    """Expands the root blocks of an outline in order; `sourced` are the blocks whose
    layers come from a file.
    """

    def __init__(self, outline: Outline, sourced: Mapping[str, SourcedBlock]) -> None:
        self.outline = outline
        self.sourced = sourced
        self.layers: list[UnresolvedLayer] = []
        self._vertices: list[LayerVertex] = []
        self.results: dict[str, list[Flow]] = {}
        self.expansions: dict[str, int] = {}
        self.globals: dict[str, Any] = {}
        self.used: set[str] = set()
        self.calls = 0
        self._errors: list[ModelError] = []
        self._max_layers = check_expansion_size(outline, sourced)
        self._call_options = {option.name for call in outline.calls() for option in call.options}
        self._words = {
            name: placeholder_words(block, outline.parameters)
            for name, block in outline.blocks.items()
        }

    def expand_root(self, block: Block, entering: Flow) -> Flow:
        """Expand the layers of a root block and return the value that flows out."""
        scope = Scope(block, entering=entering, names=self.globals, chain=(block.name,))
        result = self._block(block, scope, entering)
        self.results[block.name] = [result]
        return result

    def raise_errors(self) -> None:
        """Raise what is wrong with the layers that were expanded, all of it."""
        raise_first(self._errors)

    def attempt(self, resolve: Callable[[UnresolvedLayer], None], layer: UnresolvedLayer) -> None:
        """Resolve a layer; what is wrong with it is raised with the errors of the others."""
        try:
            resolve(layer)
        except ModelError as error:
            self._note(error)

    def _note(self, error: ModelError) -> None:
        """Collect an error; layers that are expanded several times report it once."""
        if any((e.code, e.span) == (error.code, error.span) for e in self._errors):
            return
        self._errors.append(error)
        if error.code in ENDING or len(self._errors) >= MAX_ERRORS:
            self.raise_errors()

    def make_error(
        self, code: str, message: str, span: Span, scope: Scope, hint: str = ""
    ) -> ModelError:
        """Return an error that names the chain of calls in which it occurred."""
        if len(scope.chain) > 1:
            message += f" (in {' > '.join(scope.chain)})"
        return self.outline.error(code, message, span, hint)

    def _block(
        self,
        block: Block,
        scope: Scope,
        previous: Flow,
        extra: dict[int, dict[str, Option]] | None = None,
    ) -> Flow:
        history: list[Flow] = [previous]
        for index, layer in enumerate(block.layers.layers if block.layers else ()):
            try:
                previous = self._layer(
                    layer, scope, previous, history, (extra or {}).get(index, {})
                )
            except ModelError as error:
                if error.others or error in self._errors:  # the report of all errors
                    raise
                self._note(error)
                history.append(previous)
        return previous

    def _layer(
        self,
        layer: Layer,
        scope: Scope,
        previous: Flow,
        history: list[Flow],
        extra: dict[str, Option],
    ) -> Flow:
        """Expand a layer with its repetitions; `extra` are options from the call of the block."""
        name = self._operator_word(layer, scope)
        options = self._options(layer, name, scope) | extra
        if "shapes" in options and "repeat" in options:
            span = options["repeat"].span
            raise self.make_error("NNM212", "shapes= and repeat= cannot be combined", span, scope)
        node = options.pop("node", None)
        if node is not None:
            previous = Pending(node.value, scope, node.span)
        repetitions = self._repetitions(options, scope)
        for number, own_options in enumerate(repetitions):
            final = number == len(repetitions) - 1
            if not final:
                own_options.pop("name", None)
            if name in self.outline.blocks and name not in self.sourced:
                previous = self._call(layer, name, own_options, scope, previous)
            else:
                previous = self._single(layer, name, own_options, scope, previous, history)
            history.append(previous)
        return previous

    def _operator_word(self, layer: Layer, scope: Scope) -> str:
        # Only errors need the words of other libraries: pages start without them.
        name = layer.operator
        if name in scope.bindings:
            bound = plain(scope.bindings[name])
            target = bound.word if isinstance(bound, Reference) else None
            if target is None or (target not in self.outline.blocks and ops.lookup(target) is None):
                from webnnm.graph.hints.foreign_words import layer_hint

                candidates = operator_or_block(self.outline)
                hint = f"bind it to the name of one, such as {name}=relu"
                if target is not None:
                    hint = suggestion(target, candidates, bound.span) or layer_hint(
                        target, candidates
                    )
                raise self.make_error(
                    "NNM204",
                    f'"{name}" is bound to {show_value(bound)}, not to an operator or a block',
                    layer.span,
                    scope,
                    hint,
                )
            return target
        if name in self.outline.blocks or ops.lookup(name) is not None:
            return name
        is_placeholder = name in self._call_options or name in ("activation", "normalization")
        if is_placeholder and not layer.operands:
            self.outline.warn(
                "NNM003", f'"{name}" is not bound and is treated as identity', layer.span
            )
            return "identity"
        from webnnm.graph.hints.foreign_words import layer_hint

        raise self.make_error(
            "NNM204",
            f'unknown operator "{name}" in block "{scope.block.name}"',
            layer.span,
            scope,
            layer_hint(name, operator_or_block(self.outline)),
        )

    def _options(self, layer: Layer, operator_name: str, scope: Scope) -> dict[str, Option]:
        """Return the options of a layer with bound values substituted."""
        options: dict[str, Option] = {}
        for option in layer.options:
            value = option.value
            own_name = isinstance(value, Reference) and value.word == option.name
            if (
                own_name
                and option.name not in scope.bindings
                and self._is_left_out(option, operator_name, scope)
            ):
                continue
            if option.name != "name":
                value = substitute(value, scope)
            options[option.name] = replace(option, value=value)
        return options

    def _is_left_out(self, option: Option, operator_name: str, scope: Scope) -> bool:
        """Return whether an option that is written as its own name is left to the call of a block.

        No call binds the words of a root block, and a tensor of this name is meant as one.
        """
        if scope.parent is None:
            return False
        sourced = operator_name in self.outline.blocks
        operator = None if sourced else ops.lookup(operator_name)
        slots = operator.layer.slots if operator is not None and operator.layer else ()
        slot = next((slot for slot in slots if slot.option and slot.name == option.name), None)
        if slot is None:
            return True
        own_layers = scope.block.layers.layers if scope.block.layers else ()
        if option.name in (*self.outline.parameters, *self.outline.constants) or any(
            isinstance(named.value, Reference) and named.value.word == option.name
            for layer in own_layers
            for named in layer.options
            if named.name == "name"
        ):
            return False
        if slot.parameter is not None and option.name not in self._call_options:
            message = f'"{option.name}" is not bound, so that there is no such parameter'
            self.outline.warn("NNM008", message, option.span)
        return True

    def _repetitions(self, options: dict[str, Option], scope: Scope) -> list[dict[str, Option]]:
        if "shapes" in options:
            shapes = options.pop("shapes")
            items = shapes.value.items if isinstance(shapes.value, Items) else ()
            if not items or not all(isinstance(item, (Items, NamedShape)) for item in items):
                raise self.make_error(
                    "NNM303", "shapes= takes a list of shapes", shapes.span, scope
                )
            return [options | {"shape": Option("shape", item, span=item.span)} for item in items]
        if "repeat" not in options:
            return [dict(options)]
        repeat = options.pop("repeat")
        count = repeat.value.value if isinstance(repeat.value, Number) else 0
        if not isinstance(count, int) or not 1 <= count <= MAX_LAYERS:
            raise self.make_error(
                "NNM303", f"repeat= takes an integer from 1 to {MAX_LAYERS:,}", repeat.span, scope
            )
        return [dict(options) for _ in range(count)]

    def _single(
        self,
        layer: Layer,
        operator_name: str,
        options: dict[str, Option],
        scope: Scope,
        previous: Flow,
        history: Sequence[Flow],
    ) -> Flow:
        sourced = self.sourced.get(operator_name)
        operator = sourced.operator if sourced else ops.lookup(operator_name)
        assert operator is not None
        assert operator.layer is not None
        self._check_size(layer)
        self._check_options(operator, options, scope)
        skip = options.pop("skip", None)
        if skip is not None:
            options["to"] = self._resolve_skip(skip, scope, history)
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
        unresolved = UnresolvedLayer(vertex, layer, operands, options, scope, previous)
        self.layers.append(unresolved)
        if name is not None:
            unresolved.named = self._register_name(name, scope, Source(vertex))
        if sourced:
            self.used.add(operator_name)
            self.results.setdefault(operator_name, []).append(Source(vertex))
        return Source(vertex)

    def _check_size(self, layer: Layer) -> None:
        """Raise an error if bound options, which cannot be foreseen, make the text too large."""
        if len(self.layers) + self.calls >= self._max_layers:
            self._errors.clear()
            raise too_large(
                self.outline, layer, f"more than {self._max_layers:,}", self._max_layers
            )

    def _check_options(
        self, operator: AnyOperator, options: dict[str, Option], scope: Scope
    ) -> None:
        assert operator.layer is not None
        known_options = {*operator.layer.option_names(), *COMMON}
        for option in options.values():
            if option.name not in known_options:
                from webnnm.graph.hints.foreign_words import option_hint

                listed = ", ".join(f"{name}=" for name in operator.layer.option_names())
                hint = (
                    f"it takes {listed}"
                    if listed
                    else "leave it out: it takes no options of its own"
                )
                raise self.make_error(
                    "NNM301",
                    f'"{operator.name}" has no option "{option.name}"',
                    option.span,
                    scope,
                    option_hint(option.name, sorted(known_options)) or hint,
                )

    def _resolve_skip(self, skip: Option, scope: Scope, history: Sequence[Flow]) -> Option:
        """Resolve `skip=n` to the result of n layers earlier."""
        if not isinstance(skip.value, Number):
            return replace(skip, name="to")
        n = skip.value.value
        if not isinstance(n, int) or n < 0:
            raise self.make_error("NNM303", "skip= takes an integer from 0", skip.span, scope)
        if n >= len(history):
            before = len(history) - 1
            layers = f"{before} layer{'' if before == 1 else 's'}"
            raise self.make_error("NNM213", f"only {layers} before this one", skip.span, scope)
        return Option("to", Bound(history[-1 - n], scope), span=skip.span)  # pyrefly: ignore[bad-argument-type]

    def _register_name(self, name: Option, scope: Scope, target: Any) -> str:
        """Give a target the name that an option has; return the name with its prefix."""
        value = name.value
        new_name = value.word if isinstance(value, Reference) else None
        if new_name is None:
            raise self.make_error("NNM303", "name= takes a word", name.span, scope)
        exists = new_name in scope.names or (
            scope.parent is None
            and (new_name in self.outline.constants or new_name in self.outline.parameters)
        )
        if exists or new_name in self.outline.blocks:
            what = "is a block" if new_name in self.outline.blocks else "is used already"
            raise self.make_error("NNM206", f'"{new_name}" {what}', name.span, scope)
        scope.names[new_name] = target
        return scope.prefix + new_name

    def _call(
        self,
        layer: Layer,
        block_name: str,
        options: dict[str, Option],
        scope: Scope,
        previous: Flow,
    ) -> Flow:
        """Inline a block into the layer that calls it."""
        block = self.outline.blocks[block_name]
        if block.layers is None:
            raise self.make_error(
                "NNM203", f'block "{block_name}" has no layers', layer.span, scope
            )
        if block_name in scope.chain or len(scope.chain) >= MAX_DEPTH:
            chain = " > ".join(
                (
                    *scope.chain[
                        scope.chain.index(block_name) if block_name in scope.chain else 0 :
                    ],
                    block_name,
                )
            )
            hint = (
                "a block cannot contain itself"
                if block_name in scope.chain
                else f"blocks can be nested {MAX_DEPTH} deep"
            )
            raise self.outline.error("NNM207", chain, layer.span, hint)
        previous = self._resolve_entering_value(layer, block_name, scope, previous)
        self.used.add(block_name)
        self._check_size(layer)
        self.calls += 1
        name = options.pop("name", None)
        label = plain(name.value).word if name is not None else None
        inner = Scope(
            block,
            parent=scope,
            bindings=scope.bindings
            | {o.name: tie_to_scope(o.value, scope) for o in options.values()},
            entering=previous,
            chain=(*scope.chain, block_name),
            calls=(*scope.calls, BlockCall(self.calls, layer.span)),
            prefix=f"{scope.prefix}{label}." if label else scope.prefix,
        )
        result = self._block(
            block, inner, previous, self._distribute_options(block, options, scope)
        )
        if name is not None:
            self._register_name(name, scope, (result, inner))
        self.results.setdefault(block_name, []).append(result)
        return result

    def _resolve_entering_value(
        self, layer: Layer, block_name: str, scope: Scope, previous: Flow
    ) -> Flow:
        if not layer.operands:
            return previous
        first = layer.operands[0]
        if len(layer.operands) > 1 or not isinstance(first, Items) or len(first.items) != 1:
            raise self.make_error(
                "NNM302",
                f'a call of block "{block_name}" takes no operands except a list of one name',
                layer.span,
                scope,
                "bind placeholders with options",
            )
        return Pending(substitute(first.items[0], scope), scope, first.items[0].span)

    def _distribute_options(
        self, block: Block, options: dict[str, Option], scope: Scope
    ) -> dict[int, dict[str, Option]]:
        """Return the options of a call by the index of the layer of the block that gets them."""
        layers = block.layers.layers if block.layers else ()
        extra: dict[int, dict[str, Option]] = {index: {} for index in range(len(layers))}
        for option in options.values():
            tied = replace(option, value=tie_to_scope(option.value, scope))
            if option.name in self._words[block.name]:
                continue
            if option.name in _FOR_LAST_LAYER:
                extra[len(layers) - 1][option.name] = tied
            elif option.name in _FOR_ALL_LAYERS:
                for index, layer in enumerate(layers):
                    if layer.option(option.name) is None:
                        extra[index][option.name] = tied
            elif option.name not in _FOR_THE_CALL:
                takers = [i for i, layer in enumerate(layers) if _defines(layer, option.name)]
                if len(takers) > 1:
                    raise self.make_error(
                        "NNM306",
                        f'{len(takers)} layers of "{block.name}" have an option "{option.name}"',
                        option.span,
                        scope,
                        "use a placeholder",
                    )
                if takers:
                    extra[takers[0]][option.name] = tied
                elif not self._is_used_inside(block, option.name):
                    raise self.make_error(
                        "NNM305",
                        f'block "{block.name}" does not use "{option.name}"',
                        option.span,
                        scope,
                        suggestion(option.name, [*self._words[block.name], *COMMON]),
                    )
        return extra

    def _is_used_inside(self, block: Block, placeholder: str) -> bool:
        """Return whether a block nested in this one has this placeholder."""
        seen: set[str] = set()
        pending = [block.name]
        while pending:
            name = pending.pop()
            if name in seen or name not in self._words:
                continue
            seen.add(name)
            if placeholder in self._words[name]:
                return True
            pending.extend(self._words[name])
        return False


def _defines(layer: Layer, option: str) -> bool:
    operator = ops.lookup(layer.operator)
    return (
        operator is not None
        and operator.layer is not None
        and option in operator.layer.option_names()
    )
