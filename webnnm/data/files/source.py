"""Reads a text from a path or URL."""

from __future__ import annotations

import sys
from pathlib import Path

from webnnm.core.errors import DataError

_REMOTE = ("http://", "https://", "file://")


async def read_text(location: str | Path) -> str:
    """Return the text of a file, or of an http, https or file URL.

    >>> import asyncio, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.csv").write_text("1,2")
    ...     asyncio.run(read_text(Path(folder, "a.csv")))
    '1,2'

    In a page every location is fetched, relative to the page, unless the file system of Pyodide
    has a file of that name. Raises `DataError` NNM715 for other kinds of URLs, and if it
    cannot be read.
    """
    address = str(location)
    scheme = address.partition("://")[0]
    if "://" in address and not address.startswith(_REMOTE):
        raise DataError(
            "NNM715",
            f'"{address}" cannot be read: {scheme} is not supported',
            hint="give a path, or a URL that starts with http, https or file",
        )
    try:
        if "://" not in address and (sys.platform != "emscripten" or Path(address).is_file()):
            return Path(address).read_text(encoding="utf-8-sig")
        if sys.platform == "emscripten":
            from webnnm.backends.pyodide_host import fetch_url, js_error

            response = await fetch_url(address)
            try:
                return str(await response.js_response.text())
            except js_error() as error:  # the connection has ended; `string` hides that
                raise OSError(f"{error}") from error
        from webnnm.data.files.addresses import open_url

        return (await open_url(address)).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise DataError("NNM715", f'"{address}" cannot be read: {error}') from error
