"""The table of operators: the function that imports each operator of ONNX."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple, TypeVar

from webnnm.graph.node import Operand

FAMILIES = (
    "elementwise",
    "products",
    "windows",
    "movement",
    "values",
    "reductions",
    "normalising",
    "indexing",
    "logic",
    "resizing",
    "recurrent",
    "quantised",
    "quantised_layers",
    "losses",
    "attention",
    "signals",
    "detection",
    "trees",
    "random_numbers",
    "control",
    "contrib",
    "grouped_attention",
    "few_bits",
)
"""The modules that declare entries, those that most models need first."""

Function = Callable[..., Operand | Sequence[Operand | None]]

F = TypeVar("F", bound=Function)


class Entry(NamedTuple):
    """How an operator is imported, and how many operands it takes; `most` is None for any.

    `absent` are the places of operands before the last required one that may be absent.
    """

    function: Function
    least: int
    most: int | None
    absent: Collection[int] = ()


_ENTRIES: dict[tuple[str, str], Entry] = {}


def imports(*names: str, domain: str = "", absent: Collection[int] = ()) -> Callable[[F], F]:
    """Declare that a function imports operators of these names.

    It takes a `Call` and the operands in ONNX's order; optional ones have the default None, or, if
    required ones follow, are at the places in `absent`. It returns the result, or a tuple of
    results.
    """

    def declare(function: F) -> F:
        code = function.__code__
        limit = code.co_argcount - 1
        required = limit - len(function.__defaults__ or ())
        variadic = bool(code.co_flags & 4)
        for name in names:
            if (domain, name) in _ENTRIES:
                raise ValueError(f"two functions import {domain}.{name}")
            _ENTRIES[domain, name] = Entry(function, required, None if variadic else limit, absent)
        return function

    return declare


def find_entry(domain: str, name: str) -> Entry | None:
    """Return how an operator is imported, None if there is no such operator.

    Families are imported until one declares it.
    """
    for family in FAMILIES:
        if (domain, name) in _ENTRIES:
            break
        _import_family(family)
    return _ENTRIES.get((domain, name))


def entries() -> Mapping[tuple[str, str], Entry]:
    """Return the table: domain and name of each operator, and how it is imported."""
    for family in FAMILIES:
        _import_family(family)
    return _ENTRIES


def _import_family(name: str) -> None:
    importlib.import_module(f"webnnm.formats.onnx.importing.{name}")
