"""What a method was given as a dict, by keywords, or both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webnnm.core.errors import DataError


def keywords(
    config: Mapping[str, Any] | None, more: Mapping[str, Any], method: str, hint: str
) -> dict[str, Any]:
    """Return what a method was given as a dict and by keywords.

    >>> keywords({"epochs": 3}, {"lr": 0.1}, "NNModel.train", "")
    {'epochs': 3, 'lr': 0.1}

    Raises `DataError` NNM703 for anything but a dict.
    """
    given: Any = {} if config is None else config
    if not isinstance(given, Mapping):
        raise DataError("NNM703", f"{method} was given {given!r:.60} by position", hint=hint)
    return {**given, **more}
