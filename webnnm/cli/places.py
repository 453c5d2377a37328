"""Where commands write: checked in advance, replaced as a whole, with a fallback."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

from webnnm.cli.common import CommandError
from webnnm.core.errors import DataError
from webnnm.formats.atomic import check_writable, write_atomically

WRITTEN = ("out", "history")
"""Options that name the files a command writes."""
READ = ("model", "data", "rows", "names", "limits")
"""Options that name the files a command reads. A snapshot may be replaced by its successor."""


def check_places(given: argparse.Namespace) -> None:
    """Reject places that cannot be written, before there is anything to lose (NNM807, NNM704)."""
    named = [(name, getattr(given, name, None)) for name in WRITTEN]
    places = [(name, place) for name, place in named if place is not None]
    for name, place in places:
        check_writable(place)
        for other in READ:
            source = getattr(given, other, None)
            if isinstance(source, str) and _same(place, source) and not _is_snapshot(source):
                raise CommandError(
                    "NNM704", f"--{name} {place} would replace {source}", hint="give another name"
                )
    if len(places) == 2 and Path(places[0][1]).resolve() == Path(places[1][1]).resolve():
        raise CommandError("NNM704", f"--out and --history are both {places[0][1]}")


async def saved(save: Callable[[Path], Awaitable[Any]], place: str) -> tuple[str, DataError | None]:
    """Save in a place, or if that fails in another one; return it, and what went wrong.

    The current folder is tried next, then that for temporary files; no file there is replaced.
    Raises the first `DataError` NNM807 if nothing can be written anywhere.
    """
    try:
        await save(Path(place))
        return place, None
    except DataError as error:
        if error.code != "NNM807":
            raise
        for other in _others(Path(place).name):
            try:
                await save(other)
            except DataError:
                continue
            told = f"{error.message}; the trained model is in {other}"
            return str(other), DataError(error.code, told, hint="move it where you want it")
        raise


def write(place: str, text: str) -> None:
    """Write a text as a whole."""
    write_atomically(place, [text.encode()])


def _others(name: str) -> Iterator[Path]:
    for folder in (Path.cwd(), Path(tempfile.gettempdir())):
        names = (f"rescued-{number}-{name}" for number in count(1))
        yield next(folder / each for each in names if not (folder / each).exists())


def _same(place: str, source: str) -> bool:
    try:
        return Path(place).samefile(source)
    except (OSError, ValueError):  # one of them is not there
        return False


def _is_snapshot(source: str) -> bool:
    return source.endswith(".safetensors")
