"""The operators of WebNN and of the notation: each declared once, in one of the modules here.

Siblings are discovered: adding an operator touches one file.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache

from webnnm.ops.naming import snake_case
from webnnm.ops.operator import AnyOperator, Composite, Operator


@cache
def registry() -> Mapping[str, AnyOperator]:
    """Return every operator under its main name, sorted.

    >>> registry()["matmul"].summary
    'matrix product'
    """
    found: dict[str, AnyOperator] = {}
    for module in pkgutil.iter_modules(__path__):
        members = vars(importlib.import_module(f"{__name__}.{module.name}"))
        for member in members.values():
            if isinstance(member, Operator | Composite):
                found[member.name] = member
    return dict(sorted(found.items()))


@cache
def _spellings() -> Mapping[str, AnyOperator]:
    return {
        word: operator
        for operator in registry().values()
        for word in (operator.name, *operator.aliases)
    }


@cache
def _methods() -> Mapping[str, AnyOperator]:
    return {snake_case(word): operator for word, operator in _spellings().items()}


def lookup(word: str) -> AnyOperator | None:
    """Return the operator that the notation calls by this word, or None."""
    operator = _spellings().get(word)
    return operator if operator is not None and operator.layer is not None else None


def words() -> list[str]:
    """Return every word that the notation knows as an operator."""
    return [word for word, operator in _spellings().items() if operator.layer is not None]


def method(name: str) -> AnyOperator | None:
    """Return the operator that Python calls by this snake_case name, or None."""
    return _methods().get(name)


def methods() -> list[str]:
    """Return the snake_case names of all operators."""
    return list(_methods())
