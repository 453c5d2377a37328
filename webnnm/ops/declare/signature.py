"""What the signature of a decomposition declares: operands, options, their kinds."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from webnnm.core.dtypes import ANY, FLOAT, DataType, is_data_type
from webnnm.core.errors import WebNNMError, suggestion
from webnnm.core.naming import camel_case
from webnnm.core.shapes import is_integer
from webnnm.notation.syntax import Value
from webnnm.ops.declare import checks, values
from webnnm.ops.declare.layer import ValueOption
from webnnm.ops.declare.operator import REQUIRED, Option, Slot
from webnnm.ops.declare.tensors import OperatorError, TensorType

Types = str | tuple[str, ...]
"""Data types: "float", "integer", "any", the name of a type, or several names."""

Ranks = tuple[int, int | None]
"""The least and the most dimensions, None for any number."""

GROUPS: Mapping[str, frozenset[DataType]] = {"float": FLOAT, "integer": ANY - FLOAT, "any": ANY}


class Kind(NamedTuple):
    """How values of a kind are checked in Python and read in the notation."""

    check: Callable[..., Any]
    read: Callable[[Value], Any]


def _anything(value: Any, *_: TensorType) -> Any:
    """Accept any value; lists become tuples, so that equal options compare equal."""
    return tuple(map(_anything, value)) if isinstance(value, (list, tuple)) else value


def _numbers(value: Any, *_: TensorType) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(map(_numbers, value))
    return int(value) if is_integer(value) else checks.number(value)


def _text(value: Any, *_: TensorType) -> str:
    if not isinstance(value, str):
        raise OperatorError("NNM303", f"{value!r} is not a word")
    return value


NOTHING: Mapping[str, Any] = {}

KINDS: Mapping[str, Kind] = {
    "bool": Kind(checks.boolean, values.boolean),
    "int": Kind(checks.integer(), values.integer()),
    "float": Kind(checks.number, values.number),
    "str": Kind(_text, values.text),
    "tuple": Kind(_numbers, values.number_tree),
    "list": Kind(_numbers, values.number_tree),
    "": Kind(_anything, values.anything),
}
"""Kinds of options by the name of their type; "" if the type is unknown."""


@dataclass(frozen=True)
class Signature:
    """The operands and options of a decomposition, and how the notation reads the options."""

    operands: tuple[Slot, ...]
    options: Mapping[str, Option]
    readers: Mapping[str, Callable[[Value], Any]]

    def readable(self, options: Mapping[str, Option]) -> dict[str, ValueOption]:
        """Return the options as the notation has them; missing required ones are None."""
        return {
            name: ValueOption(
                read=self.readers[name], default=None if o.default is REQUIRED else o.default
            )
            for name, o in options.items()
            if name in self.readers
        }


def read_signature(
    name: str,
    function: Callable[..., Any],
    *,
    types: Types | Mapping[str, Types] = "float",
    ranks: Ranks | Mapping[str, Ranks] = (0, None),
    own_checks: Mapping[str, Callable[[Any], Any]] = NOTHING,
) -> Signature:
    """Read `(b, x, *optional tensors, **options)`.

    Positional arguments after the builder are operands, optional with the default None; keyword
    arguments are options of the kind of their default. Operands that take the same types must
    have the same type. `own_checks` get the value once its kind is checked, and return it or raise
    `ValueError`.

    >>> def scaled(b, x, scale=None, *, by=2.0): ...
    >>> found = read_signature("scaled", scaled)
    >>> [(slot.name, slot.optional) for slot in found.operands], list(found.options)
    ([('x', False), ('scale', True)], ['by'])

    Raises `WebNNMError` NNM303 for a signature of another form.
    """
    arguments = list(inspect.signature(function).parameters.values())
    slots: list[Slot] = []
    options: dict[str, Option] = {}
    readers: dict[str, Callable[[Value], Any]] = {}
    for argument in arguments[1:]:
        if argument.kind == argument.VAR_KEYWORD:
            _refuse(name, f"**{argument.name}", "options need names and defaults of their own")
        if argument.kind == argument.KEYWORD_ONLY:
            kind = _with_check(KINDS[_kind_of(argument)], own_checks.get(argument.name))
            default = REQUIRED if argument.default is argument.empty else argument.default
            options[argument.name] = Option(default, kind.check)
            readers[argument.name] = kind.read
        else:
            own_types = types if isinstance(types, (str, tuple)) else types.get(argument.name)
            own_ranks = ranks if isinstance(ranks, tuple) else ranks.get(argument.name)
            dtypes = _types(name, own_types or "float")
            slots.append(_slot(name, argument, dtypes, own_ranks or (0, None), slots))
    if not slots:
        _refuse(name, "no operand", "it takes the builder and at least one tensor")
    if len(slots) > 1 and any(slot.variadic for slot in slots):
        _refuse(name, f"*{slots[-1].name} next to other operands", "a list has to be alone")
    _require_known(name, own_checks, options, "option")
    for default in (types, ranks):
        if not isinstance(default, (str, tuple)):
            _require_known(name, default, [a.name for a in arguments[1:]], "operand")
    return Signature(tuple(slots), options, readers)


def _slot(
    name: str,
    argument: inspect.Parameter,
    dtypes: frozenset[DataType],
    ranks: Ranks,
    before: Sequence[Slot],
) -> Slot:
    optional = argument.default is None
    if not optional and argument.default is not argument.empty:
        why = "the default of optional operands is None, options are keyword-only"
        _refuse(name, f"the default of {argument.name}", why)
    written = camel_case(argument.name)
    alike = (i for i, slot in enumerate(before) if slot.dtypes == dtypes and len(dtypes) > 1)
    return Slot(
        name=written,
        dtypes=dtypes,
        ranks=ranks,
        like=next(alike, None),
        optional=optional,
        keyword=optional,
        variadic=argument.kind == argument.VAR_POSITIONAL,
    )


def _types(name: str, types: Types) -> frozenset[DataType]:
    dtypes: set[DataType] = set()
    for group in (types,) if isinstance(types, str) else types:
        if group in GROUPS:
            dtypes |= GROUPS[group]
        elif is_data_type(group):
            dtypes.add(group)
        else:
            hint = suggestion(group, [*GROUPS, *sorted(ANY)])
            raise WebNNMError("NNM113", f'"{name}": unknown data type "{group}"', hint=hint)
    return frozenset(dtypes)


def _kind_of(argument: inspect.Parameter) -> str:
    """Return the kind of an option: that of its default, or its annotation if it has none."""
    if argument.default is not argument.empty and argument.default is not None:
        name = type(argument.default).__name__
    else:
        annotation: Any = argument.annotation
        name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return name if name in KINDS else ""


def _with_check(kind: Kind, own: Callable[[Any], Any] | None) -> Kind:
    if own is None:
        return kind

    def check(value: Any, *types: TensorType) -> Any:
        try:
            return own(kind.check(value, *types))
        except ValueError as error:
            raise OperatorError("NNM303", str(error)) from error

    def read(value: Value) -> Any:
        try:
            return own(kind.read(value))
        except OperatorError as error:
            raise ValueError(error.message) from error

    return Kind(check, read)


def _require_known(
    name: str, names: Collection[str], signature_names: Collection[str], what: str
) -> None:
    """Raise NNM303 if a declaration names an option or operand that does not exist."""
    for option in names:
        if option not in signature_names:
            hint = suggestion(option, signature_names)
            raise WebNNMError("NNM303", f'"{name}" has no {what} "{option}"', hint=hint)


def _refuse(name: str, what: str, why: str) -> NoReturn:
    raise WebNNMError("NNM303", f'the decomposition of "{name}" has {what}: {why}')
