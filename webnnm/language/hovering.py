"""What is known about the word at a place in a text: its meaning, and the shapes around it."""

from __future__ import annotations

from dataclasses import dataclass

from webnnm import ops
from webnnm.graph.elaboration.loss_words import loss_name
from webnnm.graph.elaboration.vertices import LayerVertex, Network, Source, result_type
from webnnm.language.names import Names, names_of
from webnnm.language.places import Place, Word, place_at, words
from webnnm.language.problems import checked
from webnnm.language.signatures import Argument, arguments, common_arguments, signature
from webnnm.language.words import INITIALISERS, LOSSES, PROPERTIES, TENSOR_OPTIONS

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
    """The layer whose parentheses enclose a place; `start` and `end` in `code` are the argument
    there."""

    code: str
    help: str
    start: int
    end: int


def hover(text: str, offset: int) -> Hover | None:
    """Return what is known about the word at an offset, None if there is nothing to say.

    >>> text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), relu();"
    >>> found = hover(text, 49)
    >>> found.code, found.help, found.facts
    ('matmul(y, aTranspose=false, bTranspose=false)', 'matrix product', \
('matmul1: [4] → [3] float32', 'parameter w1: [4, 3]'))
    """
    listed = words(text)
    word = next((word for word in listed if word.start <= offset < word.end), None)
    if word is None:
        return None
    code, help, facts = _about(word, names_of(listed), checked(text).network)
    return Hover(word.start, word.end, code, help, tuple(facts)) if code else None


def signature_help(text: str, offset: int) -> SignatureHelp | None:
    """Return the signature of the layer whose parentheses enclose an offset, None if none do.

    >>> found = signature_help("m:layers clamp(minValue=", 24)
    >>> found.code[found.start:found.end]
    'minValue=-inf'
    """
    at = place_at(text, offset)
    if at is None or not at[0].callee:
        return None
    place, _ = at
    operator = ops.lookup(place.callee)
    if operator is None:
        bound = names_of(words(text)).placeholders.get(place.callee)
        if bound is None:
            return None
        code, help = _call(place.callee, bound), "a block"
        named = f"{place.option}=…"
    else:
        code, help = signature(operator), operator.summary
        named = _written(place, arguments(operator))
    start = code.find(named, code.index("(")) if named.strip("=…") else -1
    return SignatureHelp(code, help, max(start, 0), start + len(named) if start > 0 else 0)


def _written(place: Place, listed: tuple[Argument, ...]) -> str:
    """Return how the argument at a place is written in the signature, "" if it is not there."""
    if place.option:
        return next((each.written for each in listed if each.name == place.option), "")
    operands = [each.written for each in listed if not each.option]
    return operands[place.index] if place.index < len(operands) else ""


_About = tuple[str, str, list[str]]
_NOTHING: _About = ("", "", [])


def _about(word: Word, names: Names, network: Network | None) -> _About:
    """Return how a word is written, what it means, and facts."""
    place, name = word.place, word.text
    if place.role == "property":
        return (f"{place.block}:{name}", PROPERTIES.get(name, ""), [])
    if place.role == "loss":
        loss = loss_name(name)
        return (name, LOSSES[loss], []) if loss else _NOTHING
    if place.role == "layer":
        return _layer(word, names, network)
    if place.role == "argument" and word.following == "=":
        return _option(place.callee, name)
    if place.role == "tensor" and word.following == "=":
        return (f"{name}=…", TENSOR_OPTIONS.get(name, "sizes without the batch"), [])
    if place.role == "value" and place.option == "init" and name in INITIALISERS:
        return (name, INITIALISERS[name], [])
    if place.role == "block" and word.following == ":":
        return (f"block {name}", names.blocks.get(name, ""), _ports(name, network))
    if place.role in ("argument", "reference", "declared", "value", "block"):
        return _name(word, names, network)
    return _NOTHING


def _layer(word: Word, names: Names, network: Network | None) -> _About:
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
    return f"{block}({', '.join(f'{word}=…' for word in bound)})"


def _shapes(word: Word, network: Network | None) -> list[str]:
    """Return the shapes of a layer in its expansions."""
    vertices = [v for v in network.layers if v.span.start == word.start] if network else []
    facts = [_shape(vertex) for vertex in vertices[:_SHOWN]]
    if len(vertices) > _SHOWN:
        facts.append(f"and {len(vertices) - _SHOWN} more")
    if network is not None and len(vertices) == 1:
        own = [p for p in network.parameters if p.user is vertices[0]]
        facts += [f"parameter {p.name}: {p.features[0]}" for p in own]
    return facts


def _shape(vertex: LayerVertex) -> str:
    source = f"{vertex.operands[0].features} → " if vertex.operands else ""
    dtype = result_type(Source(vertex))
    results = ", ".join(str(each) for each in vertex.features)
    return f"{vertex.label}: {source}{results} {dtype}"


def _ports(block: str, network: Network | None) -> list[str]:
    if network is None:
        return []
    facts = [f"input: {v.features[0]} {v.dtype}" for v in network.inputs if v.block == block]
    facts += [f"output: {o.source.features} {o.dtype}" for o in network.outputs if o.name == block]
    expanded = [v for v in network.layers if block in v.chain]
    return [*facts, f"layers: {len(expanded)}"]


def _option(callee: str, name: str) -> _About:
    operator = ops.lookup(callee)
    some = operator or ops.registry()["identity"]
    assert some.layer is not None
    listed = [*(arguments(operator) if operator else ()), *common_arguments(some.layer)]
    found = next((each for each in listed if each.name == name), None)
    if found is None:
        return (f"{name}=…", f"bound in {callee}", [])
    return (found.written, found.help, [])


def _name(word: Word, names: Names, network: Network | None) -> _About:
    """Return what is known about a word that may name a tensor."""
    name = word.text
    found = [p for p in network.parameters if p.span.start == word.start] if network else []
    if not found and network is not None and name in names.declared:
        found = [p for p in network.parameters if p.name == name]
    facts = [f"{p.name}: {p.features[0]} {p.dtype}" for p in found[:_SHOWN]]
    if found:
        frozen = "" if found[0].trainable else ", not trained"
        return (name, f"a parameter{frozen}", facts)
    if name in names.declared:
        return (name, "a constant" if names.declared[name] == "constants" else "a parameter", [])
    operator = ops.lookup(name)
    if word.place.role == "value" and operator is not None:
        return (name, operator.summary, [])
    if name in names.visible(word.place.block):
        vertices = [v for v in network.layers if v.name == name] if network else []
        return (name, "the result of a layer", [_shape(v) for v in vertices[:_SHOWN]])
    return _NOTHING
