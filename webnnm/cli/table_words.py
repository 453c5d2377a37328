"""Hints in the words of the command line instead of Python's."""

from __future__ import annotations

import argparse
import re
from collections.abc import Collection
from functools import lru_cache

OPTIONS = (
    *("decimal", "delimiter", "encoding", "comment", "missing", "missing_values", "categorical"),
    *("task", "header", "label", "features"),
)
CALLS = ("Dataset", "TableDataset", "read_csv", "train")
"""Calls whose arguments are options here; those of others, such as layers, stay as they are."""


@lru_cache(8)
def _pattern(names: Collection[str]) -> re.Pattern[str]:
    """Return what finds calls, and options with their values."""
    words = "|".join(sorted(names, key=len, reverse=True))
    value = r"(\[(?P<list>[^\]]*)\]|\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|(?P<bare>[\w.]+)|)"
    return re.compile(rf"(?P<call>\b\w+\([^()]*\))|\b(?P<option>{words})={value}")


def options_of(parser: argparse.ArgumentParser | None) -> frozenset[str]:
    """Return the names in Python of the options that a command has."""
    actions = parser._actions if parser is not None else []
    words = {word for action in actions for word in action.option_strings}
    long = {word[2:].replace("-", "_") for word in words if word.startswith("--")}
    return frozenset(long - {"help", "json"})


def as_options(hint: str, names: Collection[str] = OPTIONS) -> str:
    """Return a hint whose options, those of these names, are options of commands.

    >>> as_options('decimal="," reads decimal commas; missing_values=["n.v."] takes them as empty')
    '--decimal , reads decimal commas; --missing-values n.v. takes them as empty'
    >>> as_options("Set lr=0.1, or write elu(alpha=2).", frozenset({"lr", "alpha"}))
    'Set --lr 0.1, or write elu(alpha=2).'
    """
    if not names:
        return hint
    names = frozenset(names)

    def option(match: re.Match[str]) -> str:
        if match["call"]:
            name, _, inside = match["call"].partition("(")
            return as_options(inside[:-1], names) if name in CALLS else match["call"]
        groups = ("list", "double", "single", "bare")
        values = [match[group] for group in groups if match[group] is not None]
        value = values[0].replace('"', "").replace("'", "") if values else ""
        value = "COLUMN" if value == "column" else value.removeprefix("True")
        tail = "." if value.endswith(".") and match["bare"] else ""
        value = value.removesuffix(".") if tail else value
        name = f"--{match['option'].replace('_', '-')}"
        return (f"{name} {value}" if value else name) + tail

    return _pattern(names).sub(option, hint)
