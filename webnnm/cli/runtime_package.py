"""Finds what pages need besides this package: the npm package webnnm-runtime of this version."""

from __future__ import annotations

import argparse
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
from webnnm.core.atomic import write_atomically
from webnnm.core.errors import DataError
from webnnm.core.json_text import parse_json

NAME = "webnnm-runtime"
VERSION = version_of("webnnm")
SPECIFIER = f"{NAME}@{VERSION}"
ARCHIVE = f"{NAME}-{VERSION}.tgz"
RECORD = Path(__file__).parent / "runtime.json"
"""In wheels of a release: the hash of the package that was built with them."""
ELSEWHERE = f"on a machine that has both, `npm pack {SPECIFIER}` makes {ARCHIVE}: copy it here"

Wanted = Callable[[str], bool]
"""Says by its path whether a file of the package is needed."""


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that says where the package is."""
    parser.add_argument(
        "--runtime",
        metavar="PACKAGE",
        help=f"archive or folder of the npm package {NAME}; default: the cached one, else npm "
        "fetches it",
    )


def cache_folder() -> Path:
    """Return the cache folder of the user's programs."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        return Path(base, "webnnm", "Cache")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "webnnm"
    configured = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG Base Directory specification: relative paths are to be ignored.
    base = Path(configured) if Path(configured).is_absolute() else Path.home() / ".cache"
    return base / "webnnm"


def files(path: str | None, is_wanted: Wanted, say: Callable[[str], None]) -> dict[str, bytes]:
    """Return the requested files of the package, by their paths in it.

    `path` is the package: an archive as `npm pack` makes it, or its folder. Without it the package
    is taken from the cache, or else fetched by npm and cached.

    Raises `DataError` NNM715 for a package that cannot be obtained or read, or is of another
    version, NNM801 for one that is not the one with which this version of webnnm was released.
    """
    if path is None:
        archive = _find_released(say)
        result = _extract(str(cache_folder() / ARCHIVE), archive, is_wanted)
    elif Path(path).is_dir():
        result = _in_folder(Path(path), is_wanted)
    else:
        result = _extract(path, read_bytes(path), is_wanted)
    _check(path or ARCHIVE, result)
    return result


def _find_released(say: Callable[[str], None]) -> bytes:
    """Return the archive that belongs to this version, from the cache or from npm."""
    if not RECORD.exists():
        raise DataError(
            "NNM715",
            f"this webnnm {VERSION} was not installed from a release, so the {NAME} that "
            "belongs to it is unknown",
            hint=f"`make release` builds one: --runtime build/release/{ARCHIVE}",
        )
    integrity: str = json.loads(RECORD.read_text(encoding="utf-8"))["integrity"]
    cached = cache_folder() / ARCHIVE
    if cached.is_file():
        archive = cached.read_bytes()
        if integrity_of(archive) == integrity:
            return archive
        say(f"{cached} is damaged: it is fetched again")
    say(f"npm fetches {SPECIFIER}")
    archive = _fetch()
    if (received := integrity_of(archive)) != integrity:
        raise DataError(
            "NNM801",
            f"{SPECIFIER} has the hash {received}, not {integrity}",
            hint="try again; if that does not help, npm's registry has another file of this name: "
            "check `npm config get registry`",
        )
    try:
        cached.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(cached, [archive])
    except (OSError, DataError) as error:  # the page can be written all the same
        say(f"{ARCHIVE} cannot be cached for next time: {error}")
    return archive


def _fetch() -> bytes:
    """Have npm fetch the archive: it knows the user's registry, proxies and certificates."""
    npm = shutil.which("npm")
    if npm is None:
        raise DataError(
            "NNM715",
            f"{NAME} {VERSION} is not in the cache, and npm, which fetches it, is not installed",
            hint=f"install Node.js; or, {ELSEWHERE}, and give --runtime {ARCHIVE}",
        )
    with TemporaryDirectory() as folder:
        quiet = ["--json", "--loglevel", "silent"]
        command = [npm, "pack", SPECIFIER, "--pack-destination", folder, *quiet]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", cwd=folder)
        if done.returncode:
            raise DataError(
                "NNM715",
                f"npm cannot fetch {SPECIFIER}: {_reason(done.stdout)}",
                hint=f"check `npm config get registry`; or, {ELSEWHERE}, and give --runtime "
                f"{ARCHIVE}",
            )
        return Path(folder, ARCHIVE).read_bytes()


def _reason(output: str) -> str:
    """Return the error message in npm's JSON, or else all of it."""
    try:
        return json.loads(output)["error"]["summary"]
    except (ValueError, LookupError, TypeError):
        return output.strip() or "no reason given"


def integrity_of(archive: bytes) -> str:
    """Return the hash of an archive in the format of npm.

    >>> integrity_of(b"")[:20]
    'sha512-z4PhNX7vuL3xV'
    """
    digest = hashlib.sha512(archive).digest()
    return f"sha512-{base64.b64encode(digest).decode()}"


def _extract(path: str, archive: bytes, is_wanted: Wanted) -> dict[str, bytes]:
    """Return the files of an archive, whose paths begin with a folder of any name."""
    try:
        with tarfile.open(fileobj=BytesIO(archive), mode="r:gz") as packed:
            return dict(_members(packed, is_wanted))
    except (tarfile.TarError, OSError, EOFError) as error:
        raise _wrong_package_error(path, f"it is not an archive: {error}") from error


def _members(archive: tarfile.TarFile, is_wanted: Wanted) -> Iterator[tuple[str, bytes]]:
    for member in archive:
        path = PurePosixPath(*PurePosixPath(member.name).parts[1:])
        content = archive.extractfile(member) if member.isfile() else None
        escapes = ".." in path.parts or bool({"\\", ":"} & {*str(path)})
        if content is not None and not escapes and is_wanted(str(path)):
            yield str(path), content.read()


def _in_folder(folder: Path, is_wanted: Wanted) -> dict[str, bytes]:
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*")}
    return {
        name: read_bytes(str(path))
        for name, path in sorted(paths.items())
        if is_wanted(name) and path.is_file()
    }


def _check(path: str, files_by_path: dict[str, bytes]) -> None:
    """Reject anything that is not the package of this version."""
    try:
        facts: Any = parse_json(files_by_path.get("package.json", b"").decode())
        name, version = facts["name"], facts["version"]
    except (ValueError, LookupError, TypeError):
        raise _wrong_package_error(
            path, "it has no package.json with a name and a version"
        ) from None
    if (name, version) != (NAME, VERSION):
        raise _wrong_package_error(path, f"it is {name} {version}")


def _wrong_package_error(path: str, why: str) -> DataError:
    return DataError(
        "NNM715",
        f'"{path}" is not {NAME} {VERSION}: {why}',
        hint=f"`npm pack {SPECIFIER}` makes the archive",
    )
