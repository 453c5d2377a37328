"""Hints for the command line: options replace Python's keywords."""

from __future__ import annotations

import argparse
import ast
import json
import re
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from typing import Any

from webnnm.snapshots.name_map import FORMS

OPTIONS = (
    *("decimal", "delimiter", "encoding", "comment", "missing", "missing_values", "categorical"),
    *("dates", "task", "header", "label", "features"),
)
OF_FILES = frozenset({"references"})
"""Options that hints on a text name: others stand for those of its layers."""
OF_EXPORTS = "NNM90"
"""How the codes of errors begin whose hints name options of an export, not of layers."""
CALLS = ("Dataset", "TableDataset", "read_csv", "train")
"""Calls whose arguments are options here; those of others, such as layers, stay as they are."""
METHODS = re.compile(r": dataset\.\w+\([^()]*\)")
"""What datasets do in Python alone, after the words for it."""


def _name_map_file(mapping: str) -> str:
    """Return the option for a name map, which is a file of JSON here.

    >>> _name_map_file('"w1": Transposed("fc.weight")')
    '--mapping FILE, where FILE holds {"w1": {"transposed": "fc.weight"}}'
    """
    try:
        entries = ast.parse(f"{{{mapping}}}", mode="eval").body
        return f"--mapping FILE, where FILE holds {json.dumps(_json(entries), ensure_ascii=False)}"
    except (SyntaxError, ValueError):  # words for what is in it
        return "--mapping FILE"


def _json(value: ast.expr) -> Any:
    """Return names and forms as they are written in the file of a name map."""
    if isinstance(value, ast.Dict):
        keys = [ast.literal_eval(key) for key in value.keys if key is not None]
        return dict(zip(keys, map(_json, value.values), strict=True))
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        form = value.func.id.lower()
        if form in FORMS:
            _, *fields = FORMS[form].__dataclass_fields__
            source, *others = map(_json, value.args)
            return {form: source, **dict(zip(fields, others, strict=False))}
    return ast.literal_eval(value)


def _free_size(mapping: str) -> str:
    """Return the option for the size of a free dimension, or the sizes of an input.

    >>> _free_size('"batch": …'), _free_size('"x": [1, 3, 32, 32]')
    ('--shape batch=SIZE', '--shape x=1x3x32x32')
    """
    name, _, size = mapping.partition(":")
    sizes = "x".join(match[0] for match in re.finditer(r"\d+", size))
    unknown = "SIZExSIZE…" if "[" in size else "SIZE"
    return f"--shape {name.strip().strip(chr(34))}={sizes or unknown}"


def _parts(shares: str) -> str:
    """Return the option that divides rows: by shares, or by a column if it tells which rows.

    >>> _parts("0.7, 0, 0.3"), _parts("rows of some, [], rows of others")
    ('--split 0.7,0,0.3', '--groups COLUMN')
    """
    if "rows" in shares:
        return "--groups COLUMN"
    return f"--split {shares.replace(' ', '')}".rstrip()


def _task(mapping: str) -> str:
    """Return the option for the kind of the labels of a table, which has one column of them."""
    return f"--task {'regression' if 'continuous' in mapping else 'classification'}"


MAPPINGS: Mapping[str, tuple[str, Callable[[str], str]]] = {
    "mapping": ("mapping", _name_map_file),
    "shapes": ("shape", _free_size),
    "kinds": ("task", _task),
    "strict": ("partial", lambda _: "--partial"),
    "split": ("split", _parts),
}
"""Settings that commands take in another form: the option for each, and how it is written."""


@lru_cache(8)
def _pattern(names: frozenset[str]) -> re.Pattern[str]:
    """Return what finds calls, and options with their values."""
    words = "|".join(sorted(names | MAPPINGS.keys(), key=len, reverse=True))
    values = (
        r"\{(?P<mapping>[^{}]*)\}",
        r"\[(?P<list>[^\]]*)\]",
        r"\((?P<shares>[^()]*)\)",
        r"\"(?P<double>[^\"]*)\"",
        r"'(?P<single>[^']*)'",
        r"(?P<bare>[\w.]+)",
        "",
    )
    value = f"({'|'.join(values)})"
    return re.compile(rf"(?P<call>\b\w+\([^()]*\))|\b(?P<option>{words})={value}")


def options_of(parser: argparse.ArgumentParser | None) -> frozenset[str]:
    """Return the names in Python of the options that a command has."""
    actions = parser._actions if parser is not None else []
    strings = {string for action in actions for string in action.option_strings}
    long = {string[2:].replace("-", "_") for string in strings if string.startswith("--")}
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
        own, written = MAPPINGS.get(match["option"], ("", str))
        if own in names:
            return written(match["mapping"] or match["shares"] or match["list"] or "")
        if match["option"] not in names:
            return match[0]
        groups = ("list", "double", "single", "bare")
        values = [match[group] for group in groups if match[group] is not None]
        value = values[0].replace('"', "").replace("'", "") if values else ""
        value = "COLUMN" if value == "column" else value.removeprefix("True")
        tail = "." if value.endswith(".") and match["bare"] else ""
        value = value.removesuffix(".") if tail else value
        name = f"--{match['option'].replace('_', '-')}"
        return (f"{name} {value}" if value else name) + tail

    return _pattern(names).sub(option, METHODS.sub("", hint))
