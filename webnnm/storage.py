"""Where snapshots are kept: files, memory, and the storage of a browser (spec I)."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from webnnm.errors import DataError

BROWSER = "browser:"
"""Names with this prefix lie in the storage of the browser, for this site alone."""


async def store(place: str | os.PathLike[str] | None, parts: Iterable[bytes]) -> Any:
    """Write a file as a whole and return its place; without a place return its bytes.

    >>> import asyncio, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     asyncio.run(store(f"{folder}/a.bin", [b"one ", b"two"])).name
    'a.bin'

    What was there before stays until all of it is written. Raises `DataError` NNM807 where that
    fails.
    """
    if place is None:
        return b"".join(parts)
    name = stored_name(place)
    if name is None:
        from webnnm.formats.atomic import write_atomically

        return write_atomically(place, parts)
    from webnnm.backends.pyodide_host import keep_file

    await keep_file(_here(name, "NNM807"), parts)
    return place


async def fetch(place: str | os.PathLike[str]) -> Any:
    """Return the bytes of a file. Raises `DataError` NNM715 where there is none."""
    name = stored_name(place)
    if name is not None:
        from webnnm.backends.pyodide_host import kept_file

        found = await kept_file(_here(name, "NNM715"))
        if found is None:
            raise DataError("NNM715", f'the browser keeps no "{name}" for this site')
        return found
    try:
        return Path(place).read_bytes()
    except OSError as error:
        raise DataError(
            "NNM715", f"{place} cannot be read: {error.strerror or error}", hint="check the path"
        ) from error


async def discard(place: str | os.PathLike[str]) -> None:
    """Remove a file; one that is not there is removed already."""
    name = stored_name(place)
    if name is None:
        Path(place).unlink(missing_ok=True)
        return
    from webnnm.backends.pyodide_host import drop_file

    await drop_file(_here(name, "NNM807"))


def stored_name(place: Any) -> str | None:
    """Return the name of a file in the storage of a browser, None for a path.

    >>> stored_name("browser:iris"), stored_name("iris.safetensors")
    ('iris', None)
    """
    if isinstance(place, str) and place.startswith(BROWSER):
        return place.removeprefix(BROWSER)
    return None


def _here(name: str, code: str) -> str:
    if sys.platform != "emscripten":
        raise DataError(
            code, f'"{BROWSER}{name}" is in a browser, and this is none', hint="give a path"
        )
    if not name or "/" in name:
        raise DataError(code, f'"{name}" is no name in the storage of a browser', hint="no slash")
    return name
