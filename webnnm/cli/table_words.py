"""Hints about tables in the words of the command line instead of Python's."""

from __future__ import annotations

import re

OPTIONS = (
    *("decimal", "delimiter", "encoding", "comment", "missing", "missing_values", "categorical"),
    *("task", "header", "label", "features"),
)
_OPTION = re.compile(
    rf"\b({'|'.join(OPTIONS)})=(\[(?P<list>[^\]]*)\]|\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|)"
)


def as_options(hint: str) -> str:
    """Return a hint whose options of `read_csv` and `TableDataset` are those of commands.

    >>> as_options('decimal="," reads decimal commas; missing_values=["n.v."] takes them as empty')
    '--decimal , reads decimal commas; --missing-values n.v. takes them as empty'
    """

    def option(found: re.Match[str]) -> str:
        values = [found[name] for name in ("list", "double", "single") if found[name] is not None]
        value = values[0].replace('"', "").replace("'", "") if values else ""
        value = "COLUMN" if value == "column" else value
        name = f"--{found[1].replace('_', '-')}"
        return f"{name} {value}" if value else name

    return _OPTION.sub(option, hint)
