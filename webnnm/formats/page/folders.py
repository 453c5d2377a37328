"""Writes the files of a page to a folder without losing what its owner changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webnnm.core.errors import DataError

FORMAT = "webnnm-page"
"""The format that the manifest of every page names; `js_bridge/inference/model.js` reads it."""
MANIFEST, FILES = "model.json", "webnnm/files.json"
"""The manifest; and the digests of all other files as they were exported, by their paths."""
PAGE = "index.html"
OWN = (PAGE, "style.css", "_headers")
"""The files that are made to be changed."""
WEIGHTS = ".bin"


def digest(content: bytes) -> str:
    """Return a short text that differs for different contents.

    >>> digest(b"one"), digest(b"two")
    ('7692c3ad3540', '3fc4ccfe7458')
    """
    return hashlib.sha256(content).hexdigest()[:12]


def describe_files(files: Mapping[str, bytes]) -> bytes:
    """Return what a later export to the same folder has to know of the files."""
    return json.dumps({name: digest(content) for name, content in files.items()}).encode()


def write_folder(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Write the files of a page; a folder that is not empty must be that of an earlier export.

    Of that, files of `OWN` that were changed are kept, and those that the page no longer has are
    removed. The manifest is written when all else is there.
    """
    try:
        earlier = _read_earlier(folder)
        written = {**files}
        for name in OWN:
            if (folder / name).is_file():
                content = (folder / name).read_bytes()
                if digest(content) != earlier.get(name):
                    written[name] = content
        old, new = (
            next((n for n in names if n.endswith(WEIGHTS)), "") for names in (earlier, files)
        )
        if old and old != new:
            written[PAGE] = written[PAGE].replace(old.encode(), new.encode())
        for name in sorted(written, key=MANIFEST.__eq__):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(written[name])
        for path in [*folder.rglob("*")]:
            name = path.relative_to(folder).as_posix()
            stale = name in earlier and name not in files and path.is_file()
            if stale and digest(path.read_bytes()) == earlier[name]:
                path.unlink()
    except OSError as error:
        reason = error.strerror or str(error)
        raise DataError("NNM807", f'"{folder}" cannot be written: {reason}') from error
    return folder


def find_obstacle(folder: Path) -> str | None:
    """Return why nothing new can be written to a folder, None for a new or an empty one."""
    if folder.is_dir():
        return "is not empty" if any(folder.iterdir()) else None
    return "is a file" if folder.exists() or folder.is_symlink() else None


def _read_earlier(folder: Path) -> dict[str, str]:
    """Return the digests of the files of an earlier export by their paths, {} for a new folder."""
    obstacle = find_obstacle(folder)
    if obstacle is None:
        return {}
    if not folder.is_dir() or _read_object(folder / MANIFEST).get("format") != FORMAT:
        hint = "give a new folder, an empty one, or that of an earlier export"
        raise DataError("NNM807", f'"{folder}" {obstacle}', hint=hint)
    return _read_object(folder / FILES)


def _read_object(path: Path) -> dict[str, Any]:
    """Return the object in a file of JSON, {} if there is none."""
    try:
        content = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
