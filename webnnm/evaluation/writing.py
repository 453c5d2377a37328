"""Writes texts to files whose names say what they are."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import PurePath

from webnnm.core.atomic import write_atomically
from webnnm.core.errors import DataError

CSV = (".csv", ".txt", "")
"""The endings of files that can hold a table as CSV."""
REMEDIES = {
    ".csv": "end the name in .csv, or write to_dict() in that format",
    ".svg": "end the name in .svg; of a history, figure().savefig(path) writes other pictures, "
    "with Matplotlib",
}


def write_text(
    text: str, path: str | PathLike[str] | None, endings: Sequence[str] = (".svg",)
) -> str:
    """Return a text, after writing it to a file if there is a path.

    Raises `DataError` NNM704, with a remedy, for a name with another ending.
    """
    if path is not None:
        if PurePath(path).suffix.lower() not in endings:
            raise DataError(
                "NNM704",
                f'"{fspath(path)}" does not end in {endings[0]}',
                hint=REMEDIES[endings[0]],
            )
        write_atomically(path, [text.encode()])
    return text
