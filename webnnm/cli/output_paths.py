"""Where commands write: checked in advance, replaced as a whole, with a fallback."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from itertools import combinations, count
from pathlib import Path
from typing import Any

from webnnm.cli.common import CommandError
from webnnm.core.atomic import check_writable, write_atomically
from webnnm.core.errors import DataError

OUTPUT_OPTIONS = ("out", "history", "report")
"""Options that name the files a command writes."""
INPUT_OPTIONS = ("model", "data", "rows", "names", "limits")
"""Options that name the files a command reads. A snapshot may be replaced by its successor."""


def check_places(arguments: argparse.Namespace) -> None:
    """Reject paths that cannot be written, before there is anything to lose (NNM807, NNM704)."""
    options = [(name, getattr(arguments, name, None)) for name in OUTPUT_OPTIONS]
    paths = [(name, path) for name, path in options if path is not None]
    for name, path in paths:
        check_writable(path)
        for other in INPUT_OPTIONS:
            value: Any = getattr(arguments, other, None)
            sources: list[Any] = value if isinstance(value, list) else [value]
            for source in sources:
                if isinstance(source, str) and _same(path, source) and not _is_snapshot(source):
                    message = f"--{name} {path} would replace {source}"
                    raise CommandError("NNM704", message, hint="give another name")
    for (name, path), (other, second) in combinations(paths, 2):
        if Path(path).resolve() == Path(second).resolve():
            raise CommandError("NNM704", f"--{name} and --{other} are both {path}")


async def save_somewhere(
    save: Callable[[Path], Awaitable[Any]], path: str
) -> tuple[str, DataError | None]:
    """Save to a path, or if that fails to another one; return it, and what went wrong.

    The current folder is tried next, then that for temporary files; no file there is replaced.
    Raises the first `DataError` NNM807 if nothing can be written anywhere.
    """
    try:
        await save(Path(path))
        return path, None
    except DataError as error:
        if error.code != "NNM807":
            raise
        for other in _others(Path(path).name):
            try:
                await save(other)
            except DataError:
                continue
            message = f"{error.message}; the trained model is in {other}"
            return str(other), DataError(error.code, message, hint="move it where you want it")
        raise


def write(path: str, text: str) -> None:
    """Write a text as a whole."""
    write_atomically(path, [text.encode()])


def _others(name: str) -> Iterator[Path]:
    for folder in (Path.cwd(), Path(tempfile.gettempdir())):
        names = (f"rescued-{number}-{name}" for number in count(1))
        yield next(
            folder / name_of_copy for name_of_copy in names if not (folder / name_of_copy).exists()
        )


def _same(path: str, source: str) -> bool:
    try:
        return Path(path).samefile(source)
    except (OSError, ValueError):  # one of them is not there
        return False


def _is_snapshot(source: str) -> bool:
    return source.endswith(".safetensors")
