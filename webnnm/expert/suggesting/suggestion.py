"""A suggestion: a dataset, the text of a model, and why."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

from webnnm.data.dataset import Dataset
from webnnm.data.tables.columns import Table
from webnnm.data.tables.description import ColumnDescription, describe_table

WIDTH = 98
MAX_LISTED = 6
"""Names that a reason lists."""


@dataclass(frozen=True)
class Suggestion:
    """A dataset and the text of a model that suit data, with the reasons.

    Attributes: `source`, the text of the model, whose comments are the reasons; `dataset`;
    `options`, those with which the dataset was made; `call`, the Python that makes it; `reasons`,
    one sentence each; `new_data`, an example of what `webnnm predict` takes; `reading`, the options
    with which a table was read; `epochs`, how many a training needs, None for the default.
    """

    source: str
    dataset: Dataset
    options: Mapping[str, Any]
    call: str
    reasons: tuple[str, ...]
    new_data: str = "ROWS.csv"
    reading: Mapping[str, Any] = field(default_factory=dict[str, Any])
    epochs: int | None = None

    def __str__(self) -> str:
        return f"{self.call.rstrip()}\n\n{self.source.rstrip()}"


@dataclass(frozen=True)
class TableSource:
    """A table, the path or address from which it was read, or "", and the options of reading it."""

    table: Table
    path: str
    reading: Mapping[str, Any]

    @cached_property
    def described(self) -> list[ColumnDescription]:
        """What the columns hold."""
        return describe_table(self.table)

    @property
    def literal(self) -> str:
        """The path as Python."""
        return write_literal(self.path)

    @property
    def expression(self) -> str:
        """The Python that reads the table."""
        if not self.path:
            return "table"
        options = [f"{key}={write_literal(value)}" for key, value in self.reading.items()]
        opening = "urlopen" if "://" in self.path else "Path"
        return f"read_table({', '.join([f'{opening}({self.literal})', *options])})"


def write_source(reasons: Sequence[str], text: str) -> str:
    """Return the text of a model after the reasons as comments.

    >>> print(write_source(["It is small."], "m:name m;"))
    # It is small.
    m:name m;
    """
    # Names from data may hold line breaks.
    lines = [line for reason in reasons for line in textwrap.wrap(" ".join(reason.split()), WIDTH)]
    return "".join(f"# {line}\n" for line in lines) + text


def write_call(start: str, options: Mapping[str, Any]) -> str:
    """Return the Python that makes a dataset; `start` is the call up to its first argument.

    >>> print(write_call("TableDataset(table", {"label": "y", "features": ["a"]}))
    dataset = TableDataset(table, label="y", features=["a"])
    """
    arguments = [f"{key}={write_literal(value)}" for key, value in options.items()]
    line = f"dataset = {', '.join([start, *arguments])})"
    if len(line) <= WIDTH:
        return line
    head, _, first = start.partition("(")
    lines = "".join(f"    {argument},\n" for argument in [first, *arguments])
    return f"dataset = {head}(\n{lines})"


def write_literal(value: Any) -> str:
    """Return a value as Python with double quotes.

    >>> write_literal(["a", 'b"', 1.5])
    '["a", \\'b"\\', 1.5]'
    >>> write_literal({"shop": 64})
    '{"shop": 64}'
    """
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(write_literal, value))}]"
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        pairs = [f"{write_literal(key)}: {write_literal(item)}" for key, item in items]
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, str) and '"' not in value:
        return f'"{repr(value + chr(34))[1:-2]}"'
    return repr(value)


def list_names(names: Sequence[str]) -> str:
    """Return names as a list in words, shortened if there are many."""
    shown = ", ".join(names[:MAX_LISTED])
    return shown if len(names) <= MAX_LISTED else f"{shown} … ({len(names)} in all)"


def name_model(path: str) -> str:
    """Return a name for a model, from that of a file.

    >>> name_model("data/my flats.2024.csv"), name_model("")
    ('my_flats', 'model')
    """
    stem = re.split(r"[\\/]", path.rstrip("\\/"))[-1].partition(".")[0]
    name = re.sub(r"\W+", "_", stem, flags=re.ASCII).strip("_")
    return name if re.match(r"[A-Za-z]", name) else "model"
