"""Finds what pages need besides this package: the npm package webnnm-runtime of this version."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from importlib.metadata import version as version_of
from io import BytesIO
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from webnnm.cli.common import read_bytes
from webnnm.core.errors import DataError
from webnnm.formats.atomic import write_atomically
from webnnm.formats.safetensors import parse_json

NAME = "webnnm-runtime"
VERSION = version_of("webnnm")
SPECIFIER = f"{NAME}@{VERSION}"
ARCHIVE = f"{NAME}-{VERSION}.tgz"
RECORD = Path(__file__).parent / "runtime.json"
"""In wheels of a release: the hash of the package that was built with them."""
ELSEWHERE = f"on a machine that has both, `npm pack {SPECIFIER}` makes {ARCHIVE}: copy it here"

Wanted = Callable[[str], bool]
"""Says by its path whether a file of the package is needed."""


def cache_folder() -> Path:
    """Return the cache folder of the user's programs."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        return Path(base, "webnnm", "Cache")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "webnnm"
    given = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG Base Directory specification: relative paths are to be ignored.
    base = Path(given) if Path(given).is_absolute() else Path.home() / ".cache"
    return base / "webnnm"


def files(place: str | None, wanted: Wanted, say: Callable[[str], None]) -> dict[str, bytes]:
    """Return the requested files of the package, by their paths in it.

    `place` is the package: an archive as `npm pack` makes it, or its folder. Without it the package
    is taken from the cache, or else fetched by npm and cached.

    Raises `DataError` NNM715 for a package that cannot be obtained or read, or is of another
    version, NNM801 for one that is not the one with which this version of webnnm was released.
    """
    if place is None:
        archive = _recorded(say)
        found = _unpacked(str(cache_folder() / ARCHIVE), archive, wanted)
    elif Path(place).is_dir():
        found = _in_folder(Path(place), wanted)
    else:
        found = _unpacked(place, read_bytes(place), wanted)
    _check(place or ARCHIVE, found)
    return found


def _recorded(say: Callable[[str], None]) -> bytes:
    """Return the archive that belongs to this version, from the cache or from npm."""
    if not RECORD.exists():
        raise DataError(
            "NNM715",
            f"this webnnm {VERSION} was not installed from a release, so the {NAME} that "
            "belongs to it is unknown",
            hint=f"`make release` builds one: --runtime build/release/{ARCHIVE}",
        )
    integrity: str = json.loads(RECORD.read_text(encoding="utf-8"))["integrity"]
    kept = cache_folder() / ARCHIVE
    if kept.is_file():
        archive = kept.read_bytes()
        if integrity_of(archive) == integrity:
            return archive
        say(f"{kept} is damaged: it is fetched again")
    say(f"npm fetches {SPECIFIER}")
    archive = _fetched()
    if (received := integrity_of(archive)) != integrity:
        raise DataError(
            "NNM801",
            f"{SPECIFIER} has the hash {received}, not {integrity}",
            hint="try again; if that does not help, npm's registry has another file of this name: "
            "check `npm config get registry`",
        )
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(kept, [archive])
    except (OSError, DataError) as error:  # the page can be written all the same
        say(f"{ARCHIVE} cannot be cached for next time: {error}")
    return archive


def _fetched() -> bytes:
    """Have npm fetch the archive: it knows the user's registry, proxies and certificates."""
    npm = shutil.which("npm")
    if npm is None:
        raise DataError(
            "NNM715",
            f"{NAME} {VERSION} is not in the cache, and npm, which fetches it, is not installed",
            hint=f"install Node.js; or, {ELSEWHERE}, and give --runtime {ARCHIVE}",
        )
    with TemporaryDirectory() as folder:
        told = ["--json", "--loglevel", "silent"]
        command = [npm, "pack", SPECIFIER, "--pack-destination", folder, *told]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", cwd=folder)
        if done.returncode:
            raise DataError(
                "NNM715",
                f"npm cannot fetch {SPECIFIER}: {_reason(done.stdout)}",
                hint=f"check `npm config get registry`; or, {ELSEWHERE}, and give --runtime "
                f"{ARCHIVE}",
            )
        return Path(folder, ARCHIVE).read_bytes()


def _reason(told: str) -> str:
    """Return the error message in npm's JSON, or else all of it."""
    try:
        return json.loads(told)["error"]["summary"]
    except (ValueError, LookupError, TypeError):
        return told.strip() or "no reason given"


def integrity_of(archive: bytes) -> str:
    """Return the hash of an archive in the format of npm.

    >>> integrity_of(b"")[:20]
    'sha512-z4PhNX7vuL3xV'
    """
    digest = hashlib.sha512(archive).digest()
    return f"sha512-{base64.b64encode(digest).decode()}"


def _unpacked(place: str, archive: bytes, wanted: Wanted) -> dict[str, bytes]:
    """Return the files of an archive, whose paths begin with a folder of any name."""
    try:
        with tarfile.open(fileobj=BytesIO(archive), mode="r:gz") as packed:
            return dict(_members(packed, wanted))
    except (tarfile.TarError, OSError, EOFError) as error:
        raise _no_package(place, f"it is not an archive: {error}") from error


def _members(packed: tarfile.TarFile, wanted: Wanted) -> Iterator[tuple[str, bytes]]:
    for member in packed:
        path = PurePosixPath(*PurePosixPath(member.name).parts[1:])
        content = packed.extractfile(member) if member.isfile() else None
        leaves = ".." in path.parts or bool({"\\", ":"} & {*str(path)})
        if content is not None and not leaves and wanted(str(path)):
            yield str(path), content.read()


def _in_folder(folder: Path, wanted: Wanted) -> dict[str, bytes]:
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*")}
    return {
        name: read_bytes(str(path))
        for name, path in sorted(paths.items())
        if wanted(name) and path.is_file()
    }


def _check(place: str, found: dict[str, bytes]) -> None:
    """Reject anything that is not the package of this version."""
    try:
        facts: Any = parse_json(found.get("package.json", b"").decode())
        name, version = facts["name"], facts["version"]
    except (ValueError, LookupError, TypeError):
        raise _no_package(place, "it has no package.json with a name and a version") from None
    if (name, version) != (NAME, VERSION):
        raise _no_package(place, f"it is {name} {version}")


def _no_package(place: str, why: str) -> DataError:
    return DataError(
        "NNM715",
        f'"{place}" is not {NAME} {VERSION}: {why}',
        hint=f"`npm pack {SPECIFIER}` makes the archive",
    )
