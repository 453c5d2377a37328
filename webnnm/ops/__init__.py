"""The operators of WebNN and of the notation: each declared once, in one of the modules here.

An operator's module is imported when a graph first needs it; `index`, which `make documents`
writes, says which one it is. Users add theirs by `register`.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache

from webnnm.core.errors import WebNNMError
from webnnm.core.naming import snake_case
from webnnm.ops.declare.operator import AnyOperator, Composite, Operator
from webnnm.ops.index import MODULES

RESERVED = {
    *("adopt", "apply", "build", "build_async", "cache", "constant", "context", "input", "inputs"),
    *("locate", "nodes", "place", "results"),
    *("builder", "dtype", "index", "node", "number", "rank", "shape", "type"),
}
"""Names that graph builders and their tensors have already."""

_registered: dict[str, AnyOperator] = {}
_SPELLING = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@cache
def _members(module: str) -> Mapping[str, AnyOperator]:
    """Return the operators that a module here holds, by method."""
    members = vars(importlib.import_module(f"webnnm.ops.{module}")).values()
    return _by_method(
        operator for operator in members if isinstance(operator, (Operator, Composite))
    )


def _by_method(operators: Iterable[AnyOperator]) -> dict[str, AnyOperator]:
    return {
        snake_case(name): operator
        for operator in operators
        for name in (operator.name, *operator.aliases)
    }


@cache
def _scan_unindexed() -> Mapping[str, str]:
    """Return the modules of operators that the index does not list yet.

    Pages have none: nothing lies in folders there.
    """
    import pkgutil

    modules = {module.name for module in pkgutil.iter_modules(__path__) if not module.ispkg}
    new = modules - {*MODULES.values(), "index"}
    return {method: module for module in new for method in _members(module)}


@cache
def _user_operators() -> Mapping[str, AnyOperator]:
    return _by_method(_registered.values())


@cache
def registry() -> Mapping[str, AnyOperator]:
    """Return every operator under its main name, sorted.

    >>> registry()["matmul"].summary
    'matrix product'
    """
    modules = {*MODULES.values(), *_scan_unindexed().values()}
    library = [operator for module in sorted(modules) for operator in _members(module).values()]
    return {
        operator.name: operator
        for operator in sorted([*library, *_user_operators().values()], key=_name_of)
    }


def _name_of(operator: AnyOperator) -> str:
    return operator.name


def lookup(name: str) -> AnyOperator | None:
    """Return the operator that the notation calls by this word, or None."""
    operator = method(snake_case(name))
    if operator is None or operator.layer is None:
        return None
    return operator if name in (operator.name, *operator.aliases) else None


def operator_names() -> list[str]:
    """Return every word that the notation knows as an operator."""
    operators = [operator for operator in registry().values() if operator.layer is not None]
    return [name for operator in operators for name in (operator.name, *operator.aliases)]


@lru_cache(512)
def method(name: str) -> AnyOperator | None:
    """Return the operator that Python calls by this snake_case name, or None."""
    if name in _user_operators():
        return _user_operators()[name]
    module = MODULES.get(name) or _scan_unindexed().get(name)
    return _members(module).get(name) if module else None


def methods() -> list[str]:
    """Return the snake_case names of all operators."""
    return list(_by_method(registry().values()))


def register(operator: AnyOperator) -> None:
    """Make an operator known to the notation, to graph builders and to listings.

    What is declared anew in the module that declared it before, as in a notebook, replaces it.
    Raises `WebNNMError` NNM101 for a name that is not a word of the notation, NNM206 for one that
    is taken.
    """
    earlier = _registered.get(operator.name)
    replaced = earlier is not None and _home(earlier) == _home(operator)
    for name in (operator.name, *operator.aliases):
        if not _SPELLING.fullmatch(name):
            raise WebNNMError(
                "NNM101",
                f'"{name}" is not a word of the notation',
                hint="names consist of letters, digits and _, and begin with a letter or _",
            )
        holder = method(snake_case(name))
        if snake_case(name) in RESERVED:
            message = f'"{name}" cannot name an operator: builders or tensors already use it'
            raise WebNNMError("NNM206", message, hint="choose another name")
        if holder is not None and not (replaced and holder is earlier):
            raise WebNNMError(
                "NNM206",
                f'"{name}" already names an operator of {_home(holder)}',
                hint="choose another name",
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
    registry.cache_clear()
    method.cache_clear()
    _user_operators.cache_clear()
