"""What the outer packages offer the core: values by name, loaded when they are first used.

The core imports no outer package. `webnnm/__init__` registers here what these offer, and the core
asks for it by name: the reviewer of the expert system, losses written as functions of arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_loaders: dict[str, Callable[[], Any]] = {}


def register(name: str, load: Callable[[], Any]) -> None:
    """Offer the core what `load` returns; `load` is called whenever it is needed."""
    _loaders[name] = load


def plugin(name: str) -> Any:
    """Return what is registered under a name.

    >>> register("answer", lambda: 42)
    >>> plugin("answer")
    42
    """
    return _loaders[name]()
