"""Checks that a dataset of a kind has the options that are wanted."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from webnnm.core.errors import DataError, suggestion

MAX_LISTED = 12


def check_options(kind: str, makers: Iterable[Callable[..., Any]], wanted: Iterable[str]) -> None:
    """Refuse options that none of some functions takes by name (NNM704).

    >>> check_options("a table", [dict.fromkeys, print], ["sep"])
    >>> check_options("a table", [print], ["seb"])
    Traceback (most recent call last):
    webnnm.core.errors.DataError: NNM704: a table has no option "seb"
    hint: did you mean "sep"?
    """
    names = [
        name
        for maker in makers
        for name, parameter in inspect.signature(maker).parameters.items()
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        and name != "self"
    ]
    for option in wanted:
        if option not in names:
            listed = ", ".join(names[:MAX_LISTED])
            hint = suggestion(option, names) or f"it has {listed} …"
            raise DataError("NNM704", f'{kind} has no option "{option}"', hint=hint)
