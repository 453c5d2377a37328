"""What a file may refer to: the other files that it names, below its own folder and nowhere else.

Weights next to an ONNX model, the files that a model text names, the shards of an index: whatever
is opened because a file says so is located and read here. The name is relative, and leads below the
folder of the file, also after links are resolved. At addresses the origin stays the same.
"""

from __future__ import annotations

import mmap
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from webnnm.core.errors import DataError

ANYWHERE = "anywhere"
"""What users pass to let a file refer to any other."""
Roots = str | Path | None
"""What users allow: `ANYWHERE`, a folder or an address below which files may be; None for the
folder of the file that refers to them."""
_ODD = re.compile(r"[\x00-\x1f\x7f\\:]")
"""Control characters, backslashes, and colons: of drive letters, schemes and streams."""
_TRUSTED = (
    'references="anywhere" lets a file that you trust refer to any other, references="FOLDER" to '
    "those below a folder"
)


class Reference(NamedTuple):
    """Where a file is: a path without links, or an address that must not redirect elsewhere.

    Attributes: `location`; `guarded`, whether redirects to other origins are refused, but from
    https to https.
    """

    location: str | Path
    guarded: bool = True


def refer(owner: str | Path, name: Any, references: Roots = None) -> Reference:
    """Return where a file is that another one names.

    >>> refer("https://example.org/models/net.onnx?v=2", "weights/a b.bin").location
    'https://example.org/models/weights/a%20b.bin'
    >>> refer("net.onnx", "/etc/passwd")
    Traceback (most recent call last):
    webnnm.core.errors.DataError: NNM809: "net.onnx" refers to "/etc/passwd", outside its folder
    hint: references="anywhere" lets a file that you trust refer to any other, references="FOLDER" \
to those below a folder

    - `owner`: the path or address of the file that names it; "" for the current folder or page.
    - `references`: what users allow besides files below the folder of the owner.

    Raises `DataError` NNM809 for any other file.
    """
    if not isinstance(name, str) or not name or "\0" in name:
        raise _make_refusal(owner, name, "which is no name of a file")
    if str(owner).startswith("file://"):
        from urllib.request import url2pathname

        owner = Path(url2pathname(urlsplit(str(owner)).path))
    remote = isinstance(owner, str) and "://" in owner
    if references is None:
        return _locate_inside(owner, name, remote=remote)
    if str(references) != ANYWHERE:
        with suppress(DataError):  # it may be below what users allow besides
            return _locate_inside(owner, name, remote=remote)
    return _locate_allowed(owner, name, references, remote=remote)


async def read_reference(reference: Reference) -> memoryview[int]:
    """Return the bytes of a file; one on disk is memory-mapped.

    Raises `DataError` NNM715 if it cannot be read, or redirects elsewhere.
    """
    location = reference.location
    if isinstance(location, Path):
        return read_path(location)
    from webnnm.data.files.source_bytes import read_bytes

    return memoryview(await read_bytes(location, guarded=reference.guarded)).cast("B")


def read_path(path: Path) -> memoryview[int]:
    """Return the bytes of a regular file. Raises `DataError` NNM715 for anything else."""
    try:
        if not path.is_file():
            raise OSError("there is no such file")
        if not path.stat().st_size:
            return memoryview(b"")
        with path.open("rb") as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError("NNM715", f'"{path}" cannot be read: {reason}') from error


def _locate_inside(owner: str | Path, name: str, *, remote: bool) -> Reference:
    """Return where a file below the folder of its owner is."""
    if not _is_inside(name):
        raise _make_refusal(owner, name, "outside its folder")
    if remote:
        return Reference(f"{_get_folder_address(str(owner))}{quote(name)}")
    folder = Path(owner).parent
    path = folder / name
    if sys.platform == "emscripten" and not path.exists():  # it is fetched, relative to the page
        return Reference(f"{folder.as_posix()}/{quote(name)}")
    target = _resolve_links(owner, name, path)
    # The files of a cache may be links to files of one other folder, the owner among them.
    if not any(target.is_relative_to(root) for root in (folder.resolve(), _get_real_folder(owner))):
        raise _make_refusal(owner, name, f"a link to {target}, outside its folder")
    return Reference(target)


def _is_inside(name: str) -> bool:
    """Return whether a name, and what servers may take it for, stays below its folder."""
    for spelling in (name, unquote(name), unquote(unquote(name))):
        parts = spelling.split("/")
        if _ODD.search(spelling) or ".." in parts or "" in parts or not {*parts} - {"."}:
            return False
        if any(part != part.rstrip(". ") and part != "." for part in parts):
            return False  # Windows opens another file
    return True


def _locate_allowed(
    owner: str | Path, name: str, references: str | Path, *, remote: bool
) -> Reference:
    """Return where a file is that users allow: anywhere, or below a folder or an address."""
    if "://" in name:
        location: str | Path = name
    elif remote:
        location = f"{_get_folder_address(str(owner))}{quote(name)}"
        if name.startswith("/"):
            parts = urlsplit(str(owner))
            location = f"{parts.scheme}://{parts.netloc}{quote(name)}"
    else:
        location = Path(owner).parent / name
    if str(references) == ANYWHERE:
        return Reference(location, guarded=False)
    if isinstance(location, str) != ("://" in str(references)):
        raise _make_refusal(owner, name, f"which is not below {references}")
    if isinstance(location, str):
        root = f"{str(references).rstrip('/')}/"
        if not location.startswith(root) or not _is_inside(location.removeprefix(root)):
            raise _make_refusal(owner, name, f"which is not below {references}")
        return Reference(location)
    target = _resolve_links(owner, name, location)
    if not target.is_relative_to(Path(references).resolve()):
        raise _make_refusal(owner, name, f"which is not below {references}")
    return Reference(target)


def _resolve_links(owner: str | Path, name: str, path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:  # links in a circle
        raise _make_refusal(owner, name, "which leads nowhere") from error


def _get_real_folder(owner: str | Path) -> Path:
    """Return the folder in which a file is after links are resolved."""
    return Path(owner).resolve().parent if str(owner) else Path.cwd()


def _get_folder_address(address: str) -> str:
    """Return the address of the folder of a file."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}{parts.path.rpartition('/')[0]}/"


def _make_refusal(owner: str | Path, name: Any, why: str) -> DataError:
    who = f'"{Path(owner).name}"' if str(owner) else "the text"
    shown = str(name)[:200].encode("unicode_escape").decode()
    return DataError("NNM809", f'{who} refers to "{shown}", {why}', hint=_TRUSTED)
