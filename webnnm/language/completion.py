"""What can be written at a place in a text, each with a line of help."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from webnnm import ops
from webnnm.core.dtypes import PRECEDENCE
from webnnm.core.naming import camel_case
from webnnm.graph.elaboration.loss_words import LOSSES as LOSS_WORDS
from webnnm.language.names import Names, names_of
from webnnm.language.places import Place, place_at, words
from webnnm.language.signatures import (
    arguments,
    choices,
    common_arguments,
    common_words,
    signature,
)
from webnnm.language.words import INITIALISERS, LOSSES, PROPERTIES, TENSOR_OPTIONS
from webnnm.ops.declare.activation import is_activation
from webnnm.ops.declare.operator import AnyOperator
from webnnm.ops.declare.values import BOOLEANS

Kind = Literal["block", "property", "operator", "option", "value", "name", "loss", "type"]

_ACTIVATIONS = ("activation", "activations")


@dataclass(frozen=True)
class Completion:
    """A word that can be written, the text inserted for it, and the position of the cursor in it.

    `detail` says how it is used, `help` what it means; `caret` counts from the start of `insert`.
    """

    label: str
    kind: Kind
    insert: str
    caret: int
    detail: str = ""
    help: str = ""


@dataclass(frozen=True)
class Completions:
    """What can replace the text from `start` to `end`."""

    start: int
    end: int
    options: tuple[Completion, ...]


def complete(text: str, offset: int) -> Completions | None:
    """Return what can be written at an offset, None where no names are expected.

    >>> found = complete("m:loss ", 7)
    >>> found.options[0].label, found.options[0].help
    ('MSE', 'mean squared error')

    Everything possible is listed; the editor filters it by what is already written.
    """
    at = place_at(text, offset)
    if at is None:
        return None
    place, start = at
    # The word that is being written is not a name yet.
    names = names_of([word for word in words(text) if word.start != start])
    offered = _OFFERS.get(place.role)
    options = tuple(offered(place, names)) if offered else ()
    return Completions(start, offset, options) if options else None


def _completion(
    label: str, kind: Kind, insert: str = "", detail: str = "", help: str = "", caret: int = -1
) -> Completion:
    insert = insert or label
    return Completion(label, kind, insert, caret if caret >= 0 else len(insert), detail, help)


def _blocks(_place: Place, names: Names) -> Iterator[Completion]:
    for name in names.blocks or ("model",):
        yield _completion(name, "block", f"{name}:", help="a block of the model")


def _properties(_place: Place, _names: Names) -> Iterator[Completion]:
    for name, text in PROPERTIES.items():
        yield _completion(name, "property", f"{name} ", help=text)


def _layers(place: Place, names: Names) -> Iterator[Completion]:
    for name in names.blocks:
        if name != place.block and name not in names.roots:
            inner = ", ".join(f"{word}=…" for word in names.placeholders.get(name, ()))
            detail = f"{name}({inner})"
            yield _completion(name, "block", f"{name}()", detail, "a block", len(name) + 1)
    for operator in _operators():
        for word in (operator.name, *operator.aliases):
            filled = operator.layer and any(not slot.optional for slot in operator.layer.slots)
            caret = len(word) + (1 if filled or arguments(operator) else 2)
            text = operator.summary
            yield _completion(word, "operator", f"{word}()", signature(operator), text, caret)


def _operators() -> list[AnyOperator]:
    return [each for each in ops.registry().values() if each.layer is not None]


def _arguments(place: Place, names: Names) -> Iterator[Completion]:
    yield from _references(place, names)
    if place.callee in names.blocks:
        for word in names.placeholders.get(place.callee, ()):
            text = f"bound in {place.callee}"
            yield _completion(word, "option", f"{word}=", f"{word}=…", text)
    operator = ops.lookup(place.callee)
    rules = operator.layer if operator else next(iter(_operators())).layer
    if operator is not None:
        for each in arguments(operator):
            if each.option:
                yield _completion(each.name, "option", f"{each.name}=", each.written, each.help)
            else:
                word = each.name if len(each.name) == 1 else each.name[:1]
                yield _completion(word, "name", detail=each.name, help=each.help)
    if rules is not None and (operator is not None or place.callee in names.blocks):
        for each in common_arguments(rules):
            yield _completion(each.name, "option", f"{each.name}=", each.written, each.help)


def _references(place: Place, names: Names) -> Iterator[Completion]:
    kinds = {"param": "a declared parameter", "constants": "a constant"}
    for name, kind in names.declared.items():
        yield _completion(name, "name", help=kinds[kind])
    for name in dict.fromkeys(names.visible(place.block)):
        yield _completion(name, "name", help="the result of a layer")
    for name in sorted(names.roots):
        yield _completion(f"{name}:input", "name", help="an input of the model")


def _values(place: Place, names: Names) -> Iterator[Completion]:
    option, operator = place.option, ops.lookup(place.callee)
    taken = common_words(option) if place.callee else ()
    if operator is not None and operator.layer is not None:
        for name, each in operator.layer.options.items():
            if option in (camel_case(name), *each.aliases):
                taken = choices(each)
    elif not place.callee and option in ("trainable", "decay", "shared"):
        taken = BOOLEANS
    for word in taken:
        yield _completion(word, "value")
    if option == "init":
        for word, text in INITIALISERS.items():
            yield _completion(word, "value", help=text)
    elif option in _ACTIVATIONS or place.callee in names.blocks:
        for each in _operators():
            if is_activation(each):
                yield _completion(each.name, "value", help=each.summary)
        yield _completion("softmax", "value", help=ops.registry()["softmax"].summary)
    elif place.callee and not taken and option != "name":
        yield from _references(place, names)


def _tensors(_place: Place, _names: Names) -> Iterator[Completion]:
    yield _completion("shape", "option", "shape=[]", "shape=[4]", "sizes without the batch", 7)
    for word in PRECEDENCE:
        yield _completion(word, "type", help="a data type")
    for word, text in TENSOR_OPTIONS.items():
        yield _completion(word, "option", f"{word}=", f"{word}=…", text)


def _losses(_place: Place, _names: Names) -> Iterator[Completion]:
    for loss in LOSS_WORDS:
        for word in (loss.name, *loss.aliases):
            yield _completion(word, "loss", help=LOSSES[loss.name])


_OFFERS: Mapping[str, Callable[[Place, Names], Iterator[Completion]]] = {
    "block": _blocks,
    "property": _properties,
    "layer": _layers,
    "argument": _arguments,
    "reference": _references,
    "value": _values,
    "tensor": _tensors,
    "loss": _losses,
}
