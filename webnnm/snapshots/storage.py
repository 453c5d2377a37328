"""The storage of snapshots: files, memory, and the storage of a browser (spec I)."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from webnnm.core.errors import DataError

BROWSER, DOWNLOAD = "browser:", "download:"
"""The prefixes of names in the storage of the browser, for this site only, and in the user's
downloads."""


async def store(
    path: str | os.PathLike[str] | None, parts: Iterable[bytes | memoryview[int]]
) -> Any:
    """Write a file atomically and return its path; without a path, return its bytes.

    >>> import asyncio, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     asyncio.run(store(f"{folder}/a.bin", [b"one ", b"two"])).name
    'a.bin'

    An existing file is kept until everything is written. Raises `DataError` NNM807 if that
    fails.
    """
    if path is None:
        return b"".join(parts)
    if (name := _strip_prefix(path, BROWSER, "NNM807")) is not None:
        from webnnm.backends.browser_files import keep_file

        await keep_file(name, parts)
    elif (name := _strip_prefix(path, DOWNLOAD, "NNM807")) is not None:
        from webnnm.backends.browser_files import download_file

        await download_file(name, parts)
    else:
        from webnnm.core.atomic import write_atomically

        return write_atomically(path, parts)
    return path


async def fetch(path: str | os.PathLike[str]) -> Any:
    """Return the bytes of a file. Raises `DataError` NNM715 if there is none."""
    if (name := _strip_prefix(path, BROWSER, "NNM715")) is not None:
        from webnnm.backends.browser_files import read_kept_file

        data = await read_kept_file(name)
        if data is None:
            raise DataError("NNM715", f'the browser has no "{name}" stored for this site')
        return data
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise DataError(
            "NNM715", _describe_failure(path, "read", error), hint="check the path"
        ) from error


async def discard(path: str | os.PathLike[str]) -> None:
    """Remove a file; do nothing if it does not exist.

    Raises `DataError` NNM807 if it cannot be removed; it is then unchanged.
    """
    if (name := _strip_prefix(path, BROWSER, "NNM807")) is None:
        try:
            Path(path).unlink(missing_ok=True)
        except (OSError, ValueError) as error:
            hint = "check that it is a file, and that you may write to its folder"
            raise DataError(
                "NNM807", _describe_failure(path, "removed", error), hint=hint
            ) from error
        return
    from webnnm.backends.browser_files import drop_file

    await drop_file(name)


async def claim(path: str | os.PathLike[str]) -> None:
    """Keep other pages of a site from writing or removing a stored file until `release`.

    Any number of programs can claim a path. Raises `DataError` NNM807 if another page has claimed
    it.
    """
    if (name := _strip_prefix(path, BROWSER, "NNM807")) is not None:
        from webnnm.backends.browser_files import claim_file

        await claim_file(name)


async def release(path: str | os.PathLike[str]) -> None:
    """Release a claim."""
    if (name := _strip_prefix(path, BROWSER, "NNM807")) is not None:
        from webnnm.backends.browser_files import release_file

        await release_file(name)


def _describe_failure(path: Any, what: str, error: OSError | ValueError) -> str:
    """Return the system's message about a path, or Python's for one with a null character."""
    return f"{os.fspath(path)} cannot be {what}: {getattr(error, 'strerror', None) or error}"


def _strip_prefix(path: Any, prefix: str, code: str) -> str | None:
    """Return the name after a prefix, None for a path."""
    if not isinstance(path, str) or not path.startswith(prefix):
        return None
    name = path.removeprefix(prefix)
    if sys.platform != "emscripten":
        raise DataError(code, f'"{path}" needs a browser', hint="give a path")
    if not name or "/" in name:
        raise DataError(
            code, f'"{name}" is not a valid name in a browser', hint="give one without slashes"
        )
    return name
