"""Files that are replaced as a whole: after any failure the old one is still there."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from webnnm.errors import DataError

_numbers = itertools.count()


def write_atomically(
    path: str | os.PathLike[str], parts: Iterable[bytes | memoryview[int]]
) -> Path:
    """Write a file beside its place, then rename it over the old one; return its path.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(f"{folder}/a.txt", [b"one ", b"two"]).read_bytes()
    b'one two'

    The data are on the disk before the name is. Raises `DataError` NNM807 where that fails.
    """
    target = Path(path)
    working = target.with_name(f"{target.name}.tmp-{os.getpid()}-{next(_numbers)}")
    try:
        try:
            with working.open("wb") as file:
                for part in parts:
                    file.write(part)
                file.flush()
                os.fsync(file.fileno())
            working.replace(target)
        except BaseException:
            with suppress(OSError):
                working.unlink()
            raise
        _sync_folder(target.parent)
    except OSError as error:
        raise DataError(
            "NNM807",
            f"writing {target} failed: {error.strerror or error}",
            hint="the file that was there before is as it was",
        ) from error
    return target


def _sync_folder(folder: Path) -> None:
    """Bring the new name to the disk; systems that cannot open a folder do it by themselves."""
    with suppress(PermissionError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
