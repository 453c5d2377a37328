"""The two spellings of a name: WebNN's camelCase and Python's snake_case."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@cache
def snake_case(name: str) -> str:
    """Turn WebNN's spelling into Python's; trailing capitals stay together.

    >>> snake_case("reduceLogSumExp"), snake_case("gatherND"), snake_case("conv2d")
    ('reduce_log_sum_exp', 'gather_nd', 'conv2d')
    """
    return "_".join(part.lower() for part in _HUMP.split(name))


@cache
def camel_case(name: str) -> str:
    """Turn Python's spelling of an option into WebNN's.

    >>> camel_case("keep_dimensions"), camel_case("axis")
    ('keepDimensions', 'axis')
    """
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def by_javascript_name(thing: object, name: str, aliases: Mapping[str, str] = {}) -> Any:
    """Return the attribute that JavaScript spells in camelCase, or by one of these aliases.

    Raises `AttributeError` if there is none. Called by `__getattr__`, it keeps such names callable
    without listing them beside the others.
    """
    spelled = aliases.get(name, snake_case(name))
    if spelled != name and not spelled.startswith("_") and hasattr(type(thing), spelled):
        return getattr(thing, spelled)
    kind = type(thing).__name__
    raise AttributeError(f"'{kind}' object has no attribute '{name}'", name=name, obj=thing)
