"""Large files of the network: with progress, checked, and kept by browsers."""

from __future__ import annotations

import asyncio
import hashlib
import mmap
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from webnnm.core.errors import DataError

Progress = Callable[[str, int, int], object]
"""Told of the name of a file, the bytes of it that are there, and all; 0 where that is unknown."""
Tell = Callable[[int, int], object]
CHUNK = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Downloads:
    """How files are fetched.

    - `progress`: told of the bytes of each file as they come.
    - `keep`: in pages, whether the browser keeps files for the next visit; one that did not come
      whole goes on from where it ended.
    - `hashes`: name of a file → the SHA-256 that it has to have, in hexadecimal digits.
    """

    progress: Progress | None = None
    keep: bool = False
    hashes: Mapping[str, str] = field(default_factory=dict[str, str])

    async def bytes(self, place: str | Path) -> Any:
        """Return the bytes of a file.

        Raises `DataError` NNM715 for what cannot be read, NNM801 for another hash.
        """
        address = str(place)
        name = address.rpartition("/")[2].partition("?")[0]
        wanted = self.hashes.get(name, "").lower()

        def tell(done: int, total: int) -> None:
            if self.progress is not None:
                self.progress(name, done, total)

        if sys.platform == "emscripten" and not Path(address).is_file():
            data, found = await _in_page(address, tell, wanted, keep=self.keep)
        else:
            data = await _on_desktop(address, tell)
            found = hashlib.sha256(data).hexdigest() if wanted else ""
        if found != wanted:
            message = f'"{address}" has the SHA-256 {found}, not {wanted}'
            raise DataError("NNM801", message, hint="the file is damaged, or of another version")
        return data


async def _in_page(address: str, tell: Tell, wanted: str, *, keep: bool) -> tuple[bytearray, str]:
    """Return the bytes of a file, relative to the page, and its hash if one is wanted."""
    from webnnm.backends import pyodide_host

    module: Any = await pyodide_host.load_module("downloads")
    told = pyodide_host.callback(tell)
    try:
        found = await module.download(address, keep, bool(wanted), told)
        digest, data = str(found.sha256), bytearray()
        if digest == wanted:
            data = bytearray(found.size)
            await found.copy(data)
        else:
            await found.drop()
    except pyodide_host.js_error() as error:
        words: Any = error
        raise DataError(
            "NNM715",
            f'"{address}" cannot be fetched: {words.message}',
            hint="what has come is kept: load it once more to go on" if keep else "",
        ) from error
    finally:
        told.destroy()
    return data, digest


async def _on_desktop(address: str, tell: Tell) -> Any:
    """Return the bytes of a file; the pages of one on a disk are read when they are needed."""
    try:
        if "://" in address:
            return await open_url(address, tell)
        with Path(address).open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:  # an empty file cannot be mapped
        raise DataError("NNM715", f'"{address}" cannot be read: {error}') from error
    tell(len(data), len(data))
    return data


async def open_url(address: str, tell: Tell | None = None) -> bytearray:
    """Return what an address answers with, on a desktop.

    Raises `OSError` where it does not answer, `ValueError` where the answer is not whole.
    """
    from urllib.request import urlopen

    def load() -> bytearray:
        with urlopen(address, timeout=30) as answer:
            total = int(answer.headers.get("content-length") or 0)
            data = bytearray()
            while part := answer.read(CHUNK):
                data += part
                if tell is not None:
                    tell(len(data), max(total, len(data)))
        if len(data) < total:
            raise ValueError(f"the connection ended after {len(data)} of {total} bytes")
        return data

    # In a thread: other tasks go on while the answer is on its way.
    return await asyncio.to_thread(load)


async def forget_downloads() -> None:
    """Remove the files of weights that the browser keeps for this site.

    >>> import asyncio
    >>> asyncio.run(forget_downloads())

    Outside of pages nothing is kept.
    """
    if sys.platform == "emscripten":
        from webnnm.backends import pyodide_host

        module: Any = await pyodide_host.load_module("downloads")
        await module.forget()
