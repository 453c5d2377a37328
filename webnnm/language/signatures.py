"""The signatures of operators, and the values of their options, from their declarations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from webnnm.core.dtypes import PRECEDENCE
from webnnm.core.naming import camel_case
from webnnm.graph.elaboration.expand import COMMON
from webnnm.language.words import LAYER_OPTIONS
from webnnm.notation.syntax import Dimension, Items, NamedShape, Number, Reference, Value
from webnnm.ops.declare import values
from webnnm.ops.declare.layer import LayerRules, ValueOption
from webnnm.ops.declare.operator import AnyOperator

_ROLES = {
    "weight": "a weight",
    "projection": "a weight",
    "additive": "an additive parameter",
    "ones": "a parameter initialised to 1",
    "zeros": "a parameter initialised to 0",
    "slope": "a slope",
    "table": "a table of vectors",
    "recurrent": "a recurrent weight",
    "gates": "a parameter of gates",
    "other": "a parameter",
}


@dataclass(frozen=True)
class Argument:
    """An operand or option: its name, how it is written, which values it takes, and words among
    them."""

    name: str
    written: str
    help: str
    words: tuple[str, ...] = ()
    option: bool = True


@cache
def arguments(operator: AnyOperator) -> tuple[Argument, ...]:
    """Return the arguments of a layer, without the options of all layers.

    >>> from webnnm import ops
    >>> [each.written for each in arguments(ops.registry()["clamp"])]
    ['minValue=-inf', 'maxValue=inf']
    """
    rules = operator.layer
    assert rules is not None
    result = [_slot(slot) for slot in rules.slots]
    for name, option in rules.options.items():
        spelling, kinds = camel_case(name), describe(option)
        aliases = f", also {' or '.join(option.aliases)}" if option.aliases else ""
        written = f"{spelling}={show_default(option.default)}"
        result.append(Argument(spelling, written, f"{kinds}{aliases}", choices(option)))
    return tuple(result)


def _slot(slot: Any) -> Argument:
    role = _ROLES.get(slot.parameter or "", "the name of a tensor")
    text = f"{role}{', optional' if slot.optional else ''}"
    written = f"{slot.name}=…" if slot.option else slot.name
    return Argument(slot.name, written, text, option=slot.option)


def common_arguments(rules: LayerRules) -> list[Argument]:
    """Return the options that every layer has, except those that this one defines itself."""
    own = rules.option_names()
    return [
        Argument(name, f"{name}=…", LAYER_OPTIONS[name], common_words(name))
        for name in COMMON
        if name not in own
    ]


def common_words(option: str) -> tuple[str, ...]:
    """Return the words allowed as the value of an option of all layers."""
    fixed = {"dataType": PRECEDENCE, "trainable": values.BOOLEANS}
    return tuple(fixed.get(option, ()))


def signature(operator: AnyOperator) -> str:
    """Return how a layer is written, with the defaults of its options.

    >>> from webnnm import ops
    >>> signature(ops.registry()["gemm"])
    'gemm(b, c=…, alpha=1.0, beta=1.0, aTranspose=false, bTranspose=false)'
    """
    words = [argument.written for argument in arguments(operator)]
    rules = operator.layer
    if rules is not None and (rules.folds or rules.many):
        words.insert(len(rules.slots), "…")
    return f"{operator.name}({', '.join(words)})"


def choices(option: ValueOption) -> tuple[str, ...]:
    """Return the words allowed as the value of an option.

    >>> from webnnm.ops.declare.layer import ValueOption
    >>> choices(ValueOption(read=values.boolean))
    ('true', 'false')
    """
    if isinstance(option.read, values.OneOf):
        return option.read.words
    if option.read is values.boolean:
        return values.BOOLEANS
    return tuple(PRECEDENCE) if option.read is values.data_type else option.words


_NUMBER = Number(0.5)
_KINDS: Mapping[str, Sequence[Value]] = {
    "a number": [_NUMBER],
    "an integer": [Number(1), Number(2), Number(4)],
    "a list of numbers": [Items((Number(1),) * n) for n in (1, 2, 3, 4)],
    "sizes by name": [
        NamedShape(tuple(Dimension(name, Number(1)) for name in ("height", "width")[:n]))
        for n in (1, 2)
    ],
    "the name of a dimension": [Reference(("anything",))],
}
"""Samples of the values that options take."""


def describe(option: ValueOption) -> str:
    """Return which values an option may have, found by trying samples on its reader.

    >>> from webnnm.ops.declare.layer import ValueOption
    >>> describe(ValueOption(read=values.integer(1)))
    'an integer'
    """
    kinds = [kind for kind, samples in _KINDS.items() if any(_reads(option, s) for s in samples)]
    if "a number" in kinds:
        kinds = [kind for kind in kinds if kind != "an integer"]
    words = choices(option)
    kinds = [f"one of {', '.join(words)}"] * bool(words) + kinds
    return " or ".join(kinds) or "a list"


def _reads(option: ValueOption, value: Value) -> bool:
    try:
        option.read(value)
    except ValueError:
        return False
    return True


def show_default(value: Any) -> str:
    """Return a default as the notation writes it.

    >>> show_default((1, 2)), show_default(False), show_default(None)
    ('[1, 2]', 'false', '…')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (tuple, list)):
        items = cast("Sequence[Any]", value)
        return f"[{', '.join(show_default(item) for item in items)}]"
    return "…" if value is None else str(value)
