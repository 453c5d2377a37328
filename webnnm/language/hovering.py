"""Documentation of the name at an offset of a text: its meaning, and the shapes around it."""

from __future__ import annotations

from dataclasses import dataclass

from webnnm import ops
from webnnm.graph.elaboration.loss_words import loss_name, loss_summary
from webnnm.graph.elaboration.vertices import LayerVertex, Network, Source, result_type
from webnnm.language.contexts import Context, Word, context_at, words
from webnnm.language.names import Names, collect_names
from webnnm.language.problems import elaborate_text
from webnnm.language.signatures import Argument, arguments, common_arguments, signature
from webnnm.language.words import INITIALISERS, PROPERTIES, TENSOR_OPTIONS

_SHOWN = 4
"""The number of expansions of a layer that are listed at most."""


@dataclass(frozen=True)
class Hover:
    """Information about the text from `start` to `end`: how it is written, what it means, facts."""

    start: int
    end: int
    code: str
    help: str
    facts: tuple[str, ...] = ()


@dataclass(frozen=True)
class SignatureHelp:
    """The layer whose parentheses enclose an offset; `start` and `end` in `code` are the argument
    there."""

    code: str
    help: str
    start: int
    end: int


def hover(text: str, offset: int) -> Hover | None:
    """Return documentation of the name at an offset, None if there is none.

    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), relu();"
    >>> found = hover(text, 49)
    >>> found.code, found.help, found.facts
    ('matmul(y, aTranspose=false, bTranspose=false)', 'matrix product', \
('matmul1: [4] → [3] float32', 'parameter w1: [4, 3]'))
    """
    listed = words(text)
    token = next((token for token in listed if token.start <= offset < token.end), None)
    if token is None:
        return None
    code, help, facts = _document(token, collect_names(listed), elaborate_text(text).network)
    return Hover(token.start, token.end, code, help, tuple(facts)) if code else None


def signature_help(text: str, offset: int) -> SignatureHelp | None:
    """Return the signature of the layer whose parentheses enclose an offset, None if none do.

    >>> found = signature_help("m:layers clamp(minValue=", 24)
    >>> found.code[found.start:found.end]
    'minValue=-inf'
    """
    context_and_start = context_at(text, offset)
    if context_and_start is None or not context_and_start[0].callee:
        return None
    context, _ = context_and_start
    operator = ops.lookup(context.callee)
    if operator is None:
        placeholders = collect_names(words(text)).placeholders.get(context.callee)
        if placeholders is None:
            return None
        code, help = _call(context.callee, placeholders), "a block"
        argument = f"{context.option}=…"
    else:
        code, help = signature(operator), operator.summary
        argument = _write_argument(context, arguments(operator))
    start = code.find(argument, code.index("(")) if argument.strip("=…") else -1
    return SignatureHelp(code, help, max(start, 0), start + len(argument) if start > 0 else 0)


def _write_argument(context: Context, arguments_of_layer: tuple[Argument, ...]) -> str:
    """Return the text of an argument in the signature, "" if it is not there."""
    if context.option:
        return next(
            (
                argument.written
                for argument in arguments_of_layer
                if argument.name == context.option
            ),
            "",
        )
    operands = [argument.written for argument in arguments_of_layer if not argument.option]
    return operands[context.index] if context.index < len(operands) else ""


_Documentation = tuple[str, str, list[str]]
_NOTHING: _Documentation = ("", "", [])


def _document(word: Word, names: Names, network: Network | None) -> _Documentation:
    """Return code, meaning and facts for a word."""
    context, name = word.place, word.text
    if context.role == "property":
        return (f"{context.block}:{name}", PROPERTIES.get(name, ""), [])
    if context.role == "loss":
        loss = loss_name(name)
        return (name, loss_summary(loss), []) if loss else _NOTHING
    if context.role == "layer":
        return _layer(word, names, network)
    if context.role == "argument" and word.following == "=":
        return _option(context.callee, name)
    if context.role == "tensor" and word.following == "=":
        return (f"{name}=…", TENSOR_OPTIONS.get(name, "sizes without the batch"), [])
    if context.role == "value" and context.option == "init" and name in INITIALISERS:
        return (name, INITIALISERS[name], [])
    if context.role == "block" and word.following == ":":
        return (f"block {name}", names.blocks.get(name, ""), _ports(name, network))
    if context.role in ("argument", "reference", "declared", "value", "block"):
        return _name(word, names, network)
    return _NOTHING


def _layer(word: Word, names: Names, network: Network | None) -> _Documentation:
    name = word.text
    facts = _shapes(word, network)
    if name in names.placeholders.get(word.place.block, ()):
        return (f"{name}()", "bound by the calls of the block", facts)
    if name in names.blocks:
        return (_call(name, names.placeholders.get(name, [])), "a block", facts)
    operator = ops.lookup(name)
    return (signature(operator), operator.summary, facts) if operator else _NOTHING


def _call(block: str, bound: list[str]) -> str:
    """Return how a call of a block is written."""
    return f"{block}({', '.join(f'{name}=…' for name in bound)})"


def _shapes(word: Word, network: Network | None) -> list[str]:
    """Return the shapes of a layer in its expansions."""
    vertices = [v for v in network.layers if v.span.start == word.start] if network else []
    facts = [_shape(vertex) for vertex in vertices[:_SHOWN]]
    if len(vertices) > _SHOWN:
        facts.append(f"and {len(vertices) - _SHOWN} more")
    if network is not None and len(vertices) == 1:
        parameters = [p for p in network.parameters if p.user is vertices[0]]
        facts += [f"parameter {p.name}: {p.features[0]}" for p in parameters]
    return facts


def _shape(vertex: LayerVertex) -> str:
    source = f"{vertex.operands[0].features} → " if vertex.operands else ""
    dtype = result_type(Source(vertex))
    results = ", ".join(str(shape) for shape in vertex.features)
    return f"{vertex.label}: {source}{results} {dtype}"


def _ports(block: str, network: Network | None) -> list[str]:
    if network is None:
        return []
    facts = [f"input: {v.features[0]} {v.dtype}" for v in network.inputs if v.block == block]
    facts += [f"output: {o.source.features} {o.dtype}" for o in network.outputs if o.name == block]
    expanded = [v for v in network.layers if block in v.chain]
    return [*facts, f"layers: {len(expanded)}"]


def _option(callee: str, name: str) -> _Documentation:
    operator = ops.lookup(callee)
    rules_of = operator or ops.registry()["identity"]
    assert rules_of.layer is not None
    options = [*(arguments(operator) if operator else ()), *common_arguments(rules_of.layer)]
    argument = next((option for option in options if option.name == name), None)
    if argument is None:
        return (f"{name}=…", f"bound in {callee}", [])
    return (argument.written, argument.help, [])


def _name(word: Word, names: Names, network: Network | None) -> _Documentation:
    """Return documentation of a word that may name a tensor."""
    name = word.text
    parameters = [p for p in network.parameters if p.span.start == word.start] if network else []
    if not parameters and network is not None and name in names.declared:
        parameters = [p for p in network.parameters if p.name == name]
    facts = [f"{p.name}: {p.features[0]} {p.dtype}" for p in parameters[:_SHOWN]]
    if parameters:
        suffix = "" if parameters[0].trainable else ", not trained"
        return (name, f"a parameter{suffix}", facts)
    if name in names.declared:
        return (name, "a constant" if names.declared[name] == "constants" else "a parameter", [])
    operator = ops.lookup(name)
    if word.place.role == "value" and operator is not None:
        return (name, operator.summary, [])
    if name in names.visible(word.place.block):
        vertices = [v for v in network.layers if v.name == name] if network else []
        return (name, "the result of a layer", [_shape(v) for v in vertices[:_SHOWN]])
    return _NOTHING
