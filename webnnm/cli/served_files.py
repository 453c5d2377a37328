"""Opens the files below a folder that may be served, without following a link out of it."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

REFUSED = re.compile(r"^\.|[\\:\x00-\x1f]")
"""Forbidden in parts of a path: hidden files, and path syntax of other systems."""


def resolve(root: Path, parts: Sequence[str]) -> Path | None:
    """Return where a path below a folder leads, None if that is hidden or outside.

    >>> resolve(Path.cwd(), ["..", "secret"]) is None
    True

    Links within the folder are followed, unless they lead to something hidden.
    """
    if any(REFUSED.search(part) for part in parts):
        return None
    folder = Path(os.path.realpath(root))
    try:
        path = Path(os.path.realpath(folder.joinpath(*parts)))
        path.exists()  # raises an error for names that are too long
        inside = path.relative_to(folder).parts
    except (OSError, ValueError):
        return None
    return None if any(REFUSED.search(part) for part in inside) else path


def open_below(root: Path, path: Path) -> BinaryIO | None:
    """Open a resolved file below a folder, None if there is none that can be served.

    No step follows a link, so that replacing a folder or file by one after `resolve` does not lead
    out. Devices and pipes, which may never end, are not opened.
    """
    folder = Path(os.path.realpath(root))
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    no_link = getattr(os, "O_NOFOLLOW", 0)
    try:
        if os.open in os.supports_dir_fd and no_link:
            descriptor = _walk(folder, path.relative_to(folder).parts, flags | no_link)
        else:
            descriptor = os.open(path, flags)
    except OSError:
        return None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None
    return os.fdopen(descriptor, "rb")


def _walk(root: Path, parts: Sequence[str], flags: int) -> int:
    """Open a file folder by folder, none of which may be a link."""
    folder_flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    for number, part in enumerate(parts, 1):
        parent = descriptor
        try:
            last = number == len(parts)
            descriptor = os.open(part, flags if last else folder_flags, dir_fd=parent)
        finally:
            os.close(parent)
    return descriptor
