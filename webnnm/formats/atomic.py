"""Files that are replaced as a whole: after any failure the old one is still there."""

from __future__ import annotations

import itertools
import os
import re
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from webnnm.errors import DataError

ABANDONED_SECONDS = 60.0
"""A file that nobody wrote to for so long was left by a process that was killed."""

_numbers = itertools.count()
_under_way: set[Path] = set()


def write_atomically(
    path: str | os.PathLike[str], parts: Iterable[bytes | memoryview[int]]
) -> Path:
    """Write a file beside its place, then rename it over the old one; return its path.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(f"{folder}/a.txt", [b"one ", b"two"]).read_bytes()
    b'one two'

    The data are on the disk before the name is. What processes that were killed left of the same
    file is removed, once it is a minute old. Raises `DataError` NNM807 where writing fails.
    """
    target = Path(path)
    working = target.with_name(f"{target.name}.tmp-{os.getpid()}-{next(_numbers)}")
    _under_way.add(working)
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
        # The file is there; others of no use that cannot be removed do not undo that.
        with suppress(OSError):
            _remove_left_over(target)
    except OSError as error:
        raise DataError(
            "NNM807",
            f"writing {target} failed: {error.strerror or error}",
            hint="the file that was there before is as it was",
        ) from error
    finally:
        _under_way.discard(working)
    return target


def _remove_left_over(target: Path) -> None:
    """Remove the working files of processes that are gone."""
    named = re.compile(re.escape(target.name) + r"\.tmp-(\d+)-\d+")
    for path in target.parent.iterdir():
        matched = named.fullmatch(path.name)
        if matched is None or path in _under_way or _runs(int(matched[1])):
            continue
        with suppress(FileNotFoundError):  # another process was faster
            # A process of another machine that shares the folder is not seen here.
            if time.time() - path.stat().st_mtime > ABANDONED_SECONDS:
                path.unlink()


def _runs(process: int) -> bool:
    """Tell whether another process runs; where nobody can tell, its files grow old alone."""
    if process == os.getpid() or sys.platform in ("emscripten", "win32"):
        return False
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _sync_folder(folder: Path) -> None:
    """Bring the new name to the disk; systems that cannot open a folder do it by themselves."""
    with suppress(PermissionError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
