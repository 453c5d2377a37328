"""Files of a browser: those that it stores for a site, and downloads (spec I)."""

from __future__ import annotations

from collections.abc import Awaitable, Generator, Iterable
from contextlib import contextmanager
from typing import Any, Protocol, cast

from webnnm.backends import pyodide_host
from webnnm.core.errors import BackendError, DataError

REFUSED = "private windows and browser settings may disable storage for this site"
REMEDIES = {
    "QuotaExceededError": "this site's storage quota is full: delete saved files that are not "
    "needed, or free disk space",
    "InUse": "files saved so far are unchanged; close it there, then try again here",
}
"""Hints by the name of a browser's error."""


class _Writer(Protocol):
    def write(self, part: bytes | memoryview[int], /) -> Awaitable[None]: ...
    def close(self) -> Awaitable[None]: ...
    def abort(self) -> Awaitable[None]: ...


class _Kept(Protocol):
    size: int

    def copy(self, target: bytearray, /) -> Awaitable[None]: ...


class _Files(Protocol):
    """The functions of js_bridge/page/files.js; files.d.ts describes them."""

    def writer(self, name: str, /) -> Awaitable[_Writer]: ...
    def read(self, name: str, /) -> Awaitable[_Kept | None]: ...
    def drop(self, name: str, /) -> Awaitable[None]: ...
    def claim(self, name: str, /) -> Awaitable[None]: ...
    def release(self, name: str, /) -> Awaitable[None]: ...
    def download(self, name: str, /) -> _Writer: ...
    def hidden(self) -> Awaitable[None]: ...


_loaded: list[_Files] = []


async def _files() -> _Files:
    if not _loaded:
        _loaded.append(cast(_Files, await pyodide_host.load_module("page/files")))
    return _loaded[0]


async def keep_file(name: str, parts: Iterable[bytes | memoryview[int]]) -> None:
    """Keep a file for this site, replacing an earlier one once all is written (else NNM807)."""
    with _failing(f'keeping "{name}" in the browser'):
        await _write(await (await _files()).writer(name), parts)


async def download_file(name: str, parts: Iterable[bytes | memoryview[int]]) -> None:
    """Let the browser save a file among the user's downloads (NNM807 if it cannot)."""
    with _failing(f'downloading "{name}"'):
        await _write((await _files()).download(name), parts)


async def read_kept_file(name: str) -> bytearray | None:
    """Return the contents of a file that is kept for this site, None if there is none."""
    with _failing(f'reading "{name}" from the browser', "NNM715"):
        file = await (await _files()).read(name)
        if file is None:
            return None
        data = bytearray(file.size)
        await file.copy(data)
        return data


async def drop_file(name: str) -> None:
    """Remove a file that is kept for this site."""
    with _failing(f'removing "{name}" from the browser'):
        await (await _files()).drop(name)


async def claim_file(name: str) -> None:
    """Keep other pages of this site from writing or removing a file (NNM807 if one has it)."""
    with _failing(f'claiming "{name}" in the browser'):
        await (await _files()).claim(name)


async def release_file(name: str) -> None:
    """Let other pages have a file that was claimed."""
    await (await _files()).release(name)


async def wait_until_hidden() -> None:
    """Wait until the page is hidden or left; in a worker, wait forever."""
    await (await _files()).hidden()


async def _write(writer: _Writer, parts: Iterable[bytes | memoryview[int]]) -> None:
    try:
        for part in parts:
            await writer.write(part)
    except BaseException:
        await writer.abort()
        raise
    await writer.close()


@contextmanager
def _failing(what: str, code: str = "NNM807") -> Generator[None]:
    """Turn the browser's errors into ours."""
    try:
        yield
    except BackendError as error:
        raise DataError(code, f"{what} failed: {error.message}", hint=error.hint) from error
    except pyodide_host.js_error() as error:
        details: Any = error
        kind, reason = str(details.name), str(details.message) or str(details.name)
        # That another page has the file says enough: the visitor did not request what failed.
        message = reason if kind == "InUse" else f"{what} failed: {reason}"
        raise DataError(code, message, hint=REMEDIES.get(kind, REFUSED)) from error
