"""Downloads of large files: with progress, verified, and kept by browsers."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from webnnm.core.awaiting import require_await
from webnnm.core.errors import DataError
from webnnm.data.files.references import read_path

Progress = Callable[[str, int, int], object]
"""Called with the name of a file, the bytes loaded so far, and the total (0 if unknown)."""
Report = Callable[[int, int], object]


@dataclass(frozen=True, kw_only=True)
class Downloads:
    """How files are fetched.

    - `progress`: called with the bytes of each file as they arrive.
    - `keep`: in pages, whether the browser keeps files for the next visit; an interrupted download
      is resumed.
    - `hashes`: name of a file → the SHA-256 that it must have, in hexadecimal digits.
    """

    progress: Progress | None = None
    keep: bool = False
    hashes: Mapping[str, str] = field(default_factory=dict[str, str])

    async def bytes(self, location: str | Path, *, guarded: bool = False) -> Any:
        """Return the bytes of a file; with `guarded`, servers must not redirect elsewhere.

        Raises `DataError` NNM715 if it cannot be read, NNM801 for a wrong hash.
        """
        address = str(location)
        name = address.rpartition("/")[2].partition("?")[0]
        expected_hash = self.hashes.get(name, "").lower()

        def report(done: int, total: int) -> None:
            if self.progress is not None:
                self.progress(name, done, total)

        if sys.platform == "emscripten" and not Path(address).is_file():
            data, actual_hash = await _download_in_page(
                address, report, expected_hash, keep=self.keep, guarded=guarded
            )
        else:
            data = await _read_on_desktop(address, report, guarded=guarded)
            actual_hash = hashlib.sha256(data).hexdigest() if expected_hash else ""
        if actual_hash != expected_hash:
            message = f'"{address}" has the SHA-256 {actual_hash}, not {expected_hash}'
            raise DataError("NNM801", message, hint="the file is damaged, or is another version")
        return data


async def _download_in_page(
    address: str, report: Report, expected_hash: str, *, keep: bool, guarded: bool
) -> tuple[bytearray, str]:
    """Return the bytes of a file, relative to the page, and its hash if one is required."""
    from webnnm.backends import pyodide_host

    module: Any = await pyodide_host.load_module("page/downloads")
    callback = pyodide_host.callback(report)
    try:
        download = await module.download(address, keep, bool(expected_hash), callback, guarded)
        digest, data = str(download.sha256), bytearray()
        if digest == expected_hash:
            data = bytearray(download.size)
            await download.copy(data)
        else:
            await download.drop()
    except pyodide_host.js_error() as error:
        cause: Any = error
        raise DataError(
            "NNM715",
            f'"{address}" cannot be fetched: {cause.message}',
            hint="the part that arrived is kept: load it again to resume" if keep else "",
        ) from error
    finally:
        callback.destroy()
    return data, digest


async def _read_on_desktop(address: str, report: Report, *, guarded: bool) -> Any:
    """Return the bytes of a file; a file on disk is memory-mapped."""
    try:
        if "://" in address:
            from webnnm.data.files.addresses import open_url

            return await open_url(address, report, guarded=guarded)
    except (OSError, ValueError) as error:
        raise DataError("NNM715", f'"{address}" cannot be read: {error}') from error
    data = read_path(Path(address))
    report(len(data), len(data))
    return data


@require_await
async def forget_downloads() -> None:
    """Remove the weight files that the browser keeps for this site.

    >>> import asyncio
    >>> asyncio.run(forget_downloads())

    Outside pages nothing is kept.
    """
    if sys.platform == "emscripten":
        from webnnm.backends import pyodide_host

        module: Any = await pyodide_host.load_module("page/downloads")
        await module.forget()
