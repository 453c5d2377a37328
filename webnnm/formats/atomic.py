"""Files that are replaced as a whole: after any failure the old one is still there."""

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
"""A file that nobody wrote to for so long, and that nobody holds, was left by a process that was
killed."""

KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
"""What may be in the place of a file."""

REMEDIES = {
    errno.ENOENT: "make the folder first, or give another place",
    errno.ENOTDIR: "give a place in a folder",
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "give a place that you may write to"),
    **dict.fromkeys(
        (errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "free some space, or give another place"
    ),
    errno.ENAMETOOLONG: "give a shorter name",
}
"""What to do by the number of a system's error."""

_KEPT = "the previous file is unchanged"
_under_way: set[Path] = set()


def write_atomically(
    path: str | os.PathLike[str], parts: Iterable[bytes | memoryview[int]]
) -> Path:
    """Write a file beside its place, then rename it over the old one; return its path.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(f"{folder}/a.txt", [b"one ", b"two"]).read_bytes()
    b'one two'

    The data are on the disk before the name is. Of a symbolic link the file is written that it
    leads to; a file that was there passes its rights on. What processes that were killed left of
    the same file is removed, once it is a minute old. Raises `DataError` NNM807 where writing
    fails, or where something is in the place that is not a file.
    """
    with _told(path):
        target = _target(path)
        before = _mode(target)
        with _working(target, before) as (working, file):
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
            if sys.platform == "win32":  # where a file that is open cannot be renamed
                file.close()
            if before is not None:  # the mask of the process may have taken some of it
                working.chmod(before)
            working.replace(target)
        _sync_folder(target.parent)
        # The file is there; others of no use that cannot be removed do not undo that.
        with suppress(OSError):
            _remove_left_over(target)
    return Path(path)


def check_place(path: str | os.PathLike[str]) -> None:
    """Raise what `write_atomically` would raise, before there is anything to write.

    >>> check_place("nowhere/a.txt")
    Traceback (most recent call last):
    webnnm.core.errors.DataError: NNM807: nowhere/a.txt cannot be written: No such file or directory
    hint: make the folder first, or give another place
    """
    with _told(path):
        target = _target(path)
        with _working(target, _mode(target)):
            pass


@contextmanager
def _told(path: str | os.PathLike[str]) -> Generator[None]:
    """Tell the errors of the system as ours."""
    try:
        yield
    except (OSError, ValueError) as error:  # the latter for a zero in the name
        remedy = REMEDIES.get(getattr(error, "errno", 0))
        there = _KEPT if os.path.isfile(path) else ""  # noqa: PTH113 - it is False for any name
        reason = getattr(error, "strerror", None) or error
        raise DataError(
            "NNM807",
            f"{os.fspath(path)} cannot be written: {reason}",
            hint="; ".join(filter(None, (remedy, there))),
        ) from error


def _target(path: str | os.PathLike[str]) -> Path:
    """Return the file that a path leads to."""
    found = Path(path)
    return Path(os.path.realpath(found, strict=False)) if found.is_symlink() else found


def _mode(target: Path) -> int | None:
    """Return the rights of the file that is to be replaced, None where there is none."""
    try:
        found = target.stat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found):
        raise OSError(errno.EINVAL, f"it is {KINDS.get(stat.S_IFMT(found), 'not a file')}")
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "the file there is read-only")
    return stat.S_IMODE(found)


@contextmanager
def _working(target: Path, mode: int | None) -> Generator[tuple[Path, BinaryIO]]:
    """Make a file beside a target, which others leave alone meanwhile; it does not stay."""
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
    """Lock a file until it is closed; tell whether nobody else has locked it."""
    # A page has one process, and Windows does not let a file go that is open.
    if sys.platform not in ("win32", "emscripten"):
        from fcntl import LOCK_EX, LOCK_NB, flock

        try:
            flock(file.fileno(), LOCK_EX | LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks: files there grow old alone
            pass
    return True


def _remove_left_over(target: Path) -> None:
    """Remove the working files of processes that are gone."""
    named = re.compile(re.escape(target.name) + r"\.tmp-[0-9a-f-]+")
    for path in target.parent.iterdir():
        if not named.fullmatch(path.name) or path in _under_way:
            continue
        with suppress(FileNotFoundError, PermissionError):  # gone, or another one's
            if time.time() - path.stat().st_mtime > ABANDONED_SECONDS and _abandoned(path):
                path.unlink()


def _abandoned(path: Path) -> bool:
    # Who writes it holds it, whatever its process is called here: numbers of processes are used
    # again, and those of another container or machine say nothing.
    with path.open("rb") as file:
        return _hold(file)


def _sync_folder(folder: Path) -> None:
    """Bring the new name to the disk; systems that cannot open a folder do it by themselves."""
    with suppress(PermissionError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
