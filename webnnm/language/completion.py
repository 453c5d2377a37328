"""Completions at a position in a text, each with a line of help."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from webnnm import ops
from webnnm.core.dtypes import PRECEDENCE
from webnnm.core.naming import camel_case
from webnnm.graph.elaboration.loss_words import LOSSES
from webnnm.language.contexts import Context, context_at, words
from webnnm.language.names import Names, collect_names
from webnnm.language.signatures import (
    arguments,
    choices,
    common_arguments,
    common_words,
    signature,
)
from webnnm.language.words import INITIALISERS, PROPERTIES, TENSOR_OPTIONS
from webnnm.ops.declare.activation import is_activation
from webnnm.ops.declare.operator import AnyOperator
from webnnm.ops.declare.values import BOOLEANS

Kind = Literal["block", "property", "operator", "option", "value", "name", "loss", "type"]

_ACTIVATIONS = ("activation", "activations")


@dataclass(frozen=True)
class Completion:
    """A completion: its label, the text that it inserts, and the position of the cursor in that.

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
    """Return completions at an offset, None where no names are expected.

    >>> found = complete("m:loss ", 7)
    >>> found.options[0].label, found.options[0].help
    ('MSE', 'mean squared error')

    Everything possible is listed; the editor filters it by what is already written.
    """
    at = context_at(text, offset)
    if at is None:
        return None
    context, start = at
    # The word that is being written is not a name yet.
    names = collect_names([token for token in words(text) if token.start != start])
    completer = _COMPLETERS.get(context.role)
    options = tuple(completer(context, names)) if completer else ()
    return Completions(start, offset, options) if options else None


def _completion(
    label: str, kind: Kind, insert: str = "", detail: str = "", help: str = "", caret: int = -1
) -> Completion:
    insert = insert or label
    return Completion(label, kind, insert, caret if caret >= 0 else len(insert), detail, help)


def _blocks(_place: Context, names: Names) -> Iterator[Completion]:
    for name in names.blocks or ("model",):
        yield _completion(name, "block", f"{name}:", help="a block of the model")


def _properties(_place: Context, _names: Names) -> Iterator[Completion]:
    for name, text in PROPERTIES.items():
        yield _completion(name, "property", f"{name} ", help=text)


def _layers(context: Context, names: Names) -> Iterator[Completion]:
    for name in names.blocks:
        if name != context.block and name not in names.roots:
            inner = ", ".join(
                f"{placeholder}=…" for placeholder in names.placeholders.get(name, ())
            )
            detail = f"{name}({inner})"
            yield _completion(name, "block", f"{name}()", detail, "a block", len(name) + 1)
    for operator in _operators():
        for placeholder in (operator.name, *operator.aliases):
            filled = operator.layer and any(not slot.optional for slot in operator.layer.slots)
            caret = len(placeholder) + (1 if filled or arguments(operator) else 2)
            text = operator.summary
            yield _completion(
                placeholder, "operator", f"{placeholder}()", signature(operator), text, caret
            )


def _operators() -> list[AnyOperator]:
    return [operator for operator in ops.registry().values() if operator.layer is not None]


def _arguments(context: Context, names: Names) -> Iterator[Completion]:
    yield from _references(context, names)
    if context.callee in names.blocks:
        for label in names.placeholders.get(context.callee, ()):
            text = f"bound in {context.callee}"
            yield _completion(label, "option", f"{label}=", f"{label}=…", text)
    operator = ops.lookup(context.callee)
    rules = operator.layer if operator else next(iter(_operators())).layer
    if operator is not None:
        for argument in arguments(operator):
            if argument.option:
                yield _completion(
                    argument.name, "option", f"{argument.name}=", argument.written, argument.help
                )
            else:
                label = argument.name if len(argument.name) == 1 else argument.name[:1]
                yield _completion(label, "name", detail=argument.name, help=argument.help)
    if rules is not None and (operator is not None or context.callee in names.blocks):
        for argument in common_arguments(rules):
            yield _completion(
                argument.name, "option", f"{argument.name}=", argument.written, argument.help
            )


def _references(context: Context, names: Names) -> Iterator[Completion]:
    kinds = {"param": "a declared parameter", "constants": "a constant"}
    for name, kind in names.declared.items():
        yield _completion(name, "name", help=kinds[kind])
    for name in dict.fromkeys(names.visible(context.block)):
        yield _completion(name, "name", help="the result of a layer")
    for name in sorted(names.roots):
        yield _completion(f"{name}:input", "name", help="an input of the model")


def _values(context: Context, names: Names) -> Iterator[Completion]:
    option, operator = context.option, ops.lookup(context.callee)
    choices_of_option = common_words(option) if context.callee else ()
    if operator is not None and operator.layer is not None:
        for name, value_option in operator.layer.options.items():
            if option in (camel_case(name), *value_option.aliases):
                choices_of_option = choices(value_option)
    elif not context.callee and option in ("trainable", "decay", "shared"):
        choices_of_option = BOOLEANS
    for choice in choices_of_option:
        yield _completion(choice, "value")
    if option == "init":
        for choice, text in INITIALISERS.items():
            yield _completion(choice, "value", help=text)
    elif option in _ACTIVATIONS or context.callee in names.blocks:
        for value_option in _operators():
            if is_activation(value_option):
                yield _completion(value_option.name, "value", help=value_option.summary)
        yield _completion("softmax", "value", help=ops.registry()["softmax"].summary)
    elif context.callee and not choices_of_option and option != "name":
        yield from _references(context, names)


def _tensors(_place: Context, _names: Names) -> Iterator[Completion]:
    yield _completion("shape", "option", "shape=[]", "shape=[4]", "sizes without the batch", 7)
    for dtype in PRECEDENCE:
        yield _completion(dtype, "type", help="a data type")
    for dtype, text in TENSOR_OPTIONS.items():
        yield _completion(dtype, "option", f"{dtype}=", f"{dtype}=…", text)


def _losses(_place: Context, _names: Names) -> Iterator[Completion]:
    for loss in LOSSES:
        for name in (loss.name, *loss.aliases):
            yield _completion(name, "loss", help=loss.summary)


_COMPLETERS: Mapping[str, Callable[[Context, Names], Iterator[Completion]]] = {
    "block": _blocks,
    "property": _properties,
    "layer": _layers,
    "argument": _arguments,
    "reference": _references,
    "value": _values,
    "tensor": _tensors,
    "loss": _losses,
}
