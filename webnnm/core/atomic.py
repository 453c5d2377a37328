"""Files that are replaced atomically: after any failure the old one is still there."""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from webnnm.core.errors import DataError

ABANDONED_SECONDS = 60.0
"""A working file that nobody has written to for this long, and that nobody has locked, was left by
a killed process."""

KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
"""What may be at the path of a file."""

REMEDIES = {
    errno.ENOENT: "create the folder first, or give another path",
    errno.ENOTDIR: "give a path inside a folder",
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "give a path that you may write to"),
    **dict.fromkeys(
        (errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "free some space, or give another path"
    ),
    errno.ENAMETOOLONG: "give a shorter name",
}
"""What to do, by `errno`."""

_UNCHANGED = "the previous file is unchanged"
_under_way: set[Path] = set()


def write_atomically(
    path: str | os.PathLike[str], parts: Iterable[bytes | memoryview[int]]
) -> Path:
    """Write a file next to its path, then rename it over the old one; return its path.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(f"{folder}/a.txt", [b"one ", b"two"]).read_bytes()
    b'one two'

    The data are on the disk before the name is. If the path is a symbolic link, its target is
    written; permissions of an existing file are kept. Working files of the same file that killed
    processes left behind are removed once they are a minute old. Raises `DataError` NNM807 if
    writing fails, or if something other than a file is at the path.
    """
    with _convert_errors(path):
        target = _target(path)
        before = _mode(target)
        with _working(target, before) as (working, file):
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
            if sys.platform == "win32":  # on systems where an open file cannot be renamed
                file.close()
            if before is not None:  # the umask of the process may have removed some of it
                working.chmod(before)
            working.replace(target)
        _sync_folder(target.parent)
        # The file is there; leftovers that cannot be removed do not undo that.
        with suppress(OSError):
            _remove_left_over(target)
    return Path(path)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise the error that `write_atomically` would raise, before there is anything to write.

    >>> check_writable("nowhere/a.txt")
    Traceback (most recent call last):
    webnnm.core.errors.DataError: NNM807: nowhere/a.txt cannot be written: No such file or directory
    hint: create the folder first, or give another path
    """
    with _convert_errors(path):
        target = _target(path)
        with _working(target, _mode(target)):
            pass


@contextmanager
def _convert_errors(path: str | os.PathLike[str]) -> Generator[None]:
    """Convert errors of the system into ours."""
    try:
        yield
    except (OSError, ValueError) as error:  # the latter for a zero in the name
        remedy = REMEDIES.get(getattr(error, "errno", 0))
        consequence = _UNCHANGED if os.path.isfile(path) else ""  # noqa: PTH113 - it is False for any name
        reason = getattr(error, "strerror", None) or error
        raise DataError(
            "NNM807",
            f"{os.fspath(path)} cannot be written: {reason}",
            hint="; ".join(filter(None, (remedy, consequence))),
        ) from error


def _target(path: str | os.PathLike[str]) -> Path:
    """Return the file that a path leads to."""
    target = Path(path)
    return Path(os.path.realpath(target, strict=False)) if target.is_symlink() else target


def _mode(target: Path) -> int | None:
    """Return the permissions of the file that is to be replaced, None if there is none."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, f"it is {KINDS.get(stat.S_IFMT(mode), 'not a file')}")
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "the file there is read-only")
    return stat.S_IMODE(mode)


@contextmanager
def _working(target: Path, mode: int | None) -> Generator[tuple[Path, BinaryIO]]:
    """Create a temporary file next to a target, which other processes leave alone meanwhile."""
    path = target.with_name(f"{target.name}.tmp-{os.urandom(8).hex()}")
    rights = 0o666 if mode is None else mode

    def private(name: str, flags: int) -> int:
        return os.open(name, flags, rights)

    _under_way.add(path)
    try:
        with open(path, "xb", opener=private) as file:
            _hold(file)
            yield path, file
    finally:
        _under_way.discard(path)
        with suppress(OSError):
            path.unlink()


def _hold(file: BinaryIO) -> bool:
    """Lock a file until it is closed; return whether nobody else has locked it."""
    # A page has one process, and Windows does not delete a file that is open.
    if sys.platform not in ("win32", "emscripten"):
        from fcntl import LOCK_EX, LOCK_NB, flock

        try:
            flock(file.fileno(), LOCK_EX | LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks: there, only the age of files counts
            pass
    return True


def _remove_left_over(target: Path) -> None:
    """Remove the working files of processes that are gone."""
    named = re.compile(re.escape(target.name) + r"\.tmp-[0-9a-f-]+")
    for path in target.parent.iterdir():
        if not named.fullmatch(path.name) or path in _under_way:
            continue
        with suppress(FileNotFoundError, PermissionError):  # gone, or another process's
            if time.time() - path.stat().st_mtime > ABANDONED_SECONDS and _is_abandoned(path):
                path.unlink()


def _is_abandoned(path: Path) -> bool:
    # Its writer holds the lock, whatever its process id: process ids are reused, and those of
    # another container or machine say nothing.
    with path.open("rb") as file:
        return _hold(file)


def _sync_folder(folder: Path) -> None:
    """Flush the new name to the disk; systems that cannot open a folder do so by themselves."""
    with suppress(PermissionError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
