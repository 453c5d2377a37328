"""Whether a path leads to a file or a folder; what cannot be a path leads to neither."""

from __future__ import annotations

from pathlib import Path


def is_folder(path: str | Path) -> bool:
    """Return whether a path is that of a folder.

    >>> is_folder("."), is_folder("a" * 5000)
    (True, False)
    """
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):  # the name is too long, or has characters that no name has
        return False


def is_file(path: str | Path) -> bool:
    """Return whether a path is that of a file.

    >>> is_file("."), is_file("a" * 5000)
    (False, False)
    """
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False
