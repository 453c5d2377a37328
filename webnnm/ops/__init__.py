"""The operators of WebNN and of the notation: each declared once, in one of the modules here.

Siblings are discovered: adding an operator touches one file. Users add theirs by `register`.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Mapping
from functools import cache

from webnnm.errors import WebNNMError
from webnnm.ops.naming import snake_case
from webnnm.ops.operator import AnyOperator, Composite, Operator

RESERVED = {
    *("adopt", "apply", "build", "build_async", "constant", "context", "input", "inputs"),
    *("nodes", "place"),
    *("builder", "dtype", "index", "node", "number", "rank", "shape", "type"),
}
"""Names that graph builders and their tensors have already."""

_registered: dict[str, AnyOperator] = {}
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@cache
def registry() -> Mapping[str, AnyOperator]:
    """Return every operator under its main name, sorted.

    >>> registry()["matmul"].summary
    'matrix product'
    """
    return dict(sorted({**_library(), **_registered}.items()))


@cache
def _library() -> Mapping[str, AnyOperator]:
    found: dict[str, AnyOperator] = {}
    for module in pkgutil.iter_modules(__path__):
        members = vars(importlib.import_module(f"{__name__}.{module.name}"))
        for member in members.values():
            if isinstance(member, Operator | Composite):
                found[member.name] = member
    return found


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


def register(operator: AnyOperator) -> None:
    """Make an operator known to the notation, to graph builders and to listings.

    What is declared anew in the module that declared it before, as in a notebook, replaces it.
    Raises `WebNNMError` NNM101 for a name that is no word of the notation, NNM206 for one that is
    taken.
    """
    earlier = _registered.get(operator.name)
    replaced = earlier is not None and _home(earlier) == _home(operator)
    for word in (operator.name, *operator.aliases):
        if not _WORD.fullmatch(word):
            raise WebNNMError(
                "NNM101",
                f'"{word}" is no word of the notation',
                hint="names consist of letters, digits and _, a letter or _ first",
            )
        holder = _spellings().get(word) or _methods().get(snake_case(word))
        if snake_case(word) in RESERVED:
            message = f'"{word}" is no name for an operator: builders or tensors have it already'
            raise WebNNMError("NNM206", message, hint="take another name")
        if holder is not None and not (replaced and holder is earlier):
            raise WebNNMError(
                "NNM206",
                f'"{word}" already names an operator of {_home(holder)}',
                hint="take another name",
            )
    _registered[operator.name] = operator
    _forget_listings()


def unregister(name: str) -> None:
    """Take back a registered operator; the library's own stay."""
    if _registered.pop(name, None) is not None:
        _forget_listings()


def _home(operator: AnyOperator) -> str:
    """Return the module that declares an operator."""
    rule = operator.decompose if isinstance(operator, Composite) else operator.infer
    return getattr(rule, "__module__", "")


def _forget_listings() -> None:
    for listing in (registry, _spellings, _methods):
        listing.cache_clear()
