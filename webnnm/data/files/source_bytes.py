"""Reads bytes from a path or URL."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from webnnm.core.errors import DataError


async def read_bytes(location: str | Path, *, guarded: bool = False) -> Any:
    """Return the bytes of a file, or of an http, https or file URL.

    In a page every location is fetched, relative to the page, unless the file system of Pyodide
    has a file of that name. Raises `DataError` NNM715 if it cannot be read; with `guarded`, also
    if the server redirects elsewhere, see `addresses.allowed`.
    """
    address = str(location)
    try:
        if "://" not in address and (sys.platform != "emscripten" or Path(address).is_file()):
            return Path(address).read_bytes()
        if sys.platform == "emscripten":
            from webnnm.backends.pyodide_host import fetch_url, find_registered, js_error

            downloads = find_registered("webnnm_downloads")
            prefetched = downloads and await downloads.takePrefetched(address)
            if prefetched:
                return prefetched.to_bytes()
            response = await fetch_url(address, guarded=guarded)
            try:
                return (await response.js_response.arrayBuffer()).to_bytes()
            except js_error() as error:  # the connection has ended; `bytes` hides that
                raise OSError(f"{error}") from error
        from webnnm.data.files.addresses import open_url

        return await open_url(address, guarded=guarded)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError("NNM715", f'"{address}" cannot be read: {reason}') from error
