"""Arguments of a method that are given as a dict, by keyword, or both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webnnm.core.errors import DataError


def merge_keywords(
    config: Mapping[str, Any] | None, more: Mapping[str, Any], method: str, hint: str
) -> dict[str, Any]:
    """Return the arguments that a method was given as a dict and by keyword.

    >>> merge_keywords({"epochs": 3}, {"lr": 0.1}, "NNModel.train", "")
    {'epochs': 3, 'lr': 0.1}

    Raises `DataError` NNM703 for anything other than a dict.
    """
    options: Any = {} if config is None else config
    if not isinstance(options, Mapping):
        raise DataError(
            "NNM703", f"{method} got {options!r:.60} as a positional argument", hint=hint
        )
    return {**options, **more}
