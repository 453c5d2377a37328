"""Step that makes the wheel that pages load: the same modules without what only readers need.

Docstrings, comments and the annotations of functions go, and local names become short; the names
of modules, classes, functions and arguments stay, so that a traceback still tells what failed.
The modules then lie in one archive inside the wheel, where Python imports them from: packed as one
stream, by bzip2, they take well over a third less than packed one by one. The wheel on the package
index keeps everything.
"""

from __future__ import annotations

import base64
import hashlib
import io
from pathlib import Path
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from tools.common import ROOT, fail, fingerprint, step

FOLDER = ROOT / "dist" / "page"
INIT = "webnnm/__init__.py"
ARCHIVE = "webnnm/modules.zip"
DESKTOP = ("webnnm/__main__.py", "webnnm/cli.py")
"""The command line, which no page has."""
SEARCH = '\n__path__.append(__path__[0]+"/modules.zip/webnnm")\n'


def current() -> Path:
    """Return the path of the page wheel that was built last."""
    wheels = sorted(FOLDER.glob("webnnm-*-py3-none-any.whl"))
    if not wheels:
        fail("there is no wheel in dist/page/: run `make wheel`.")
    return wheels[-1]


def build(source: Path) -> Path:
    """Build dist/page/webnnm-…-py3-none-any.whl from a wheel and return its path."""
    with step("page wheel", fingerprint([source, Path(__file__)]), FOLDER) as needed:
        if needed:
            FOLDER.mkdir(parents=True, exist_ok=True)
            for stale in FOLDER.glob("webnnm-*.whl"):
                stale.unlink()
            _write(source, FOLDER / source.name)
    return current()


def _write(source: Path, target: Path) -> None:
    with ZipFile(source) as whole, ZipFile(target, "w") as slim:
        record: list[str] = []

        def add(entry: ZipInfo, data: bytes, method: int = ZIP_DEFLATED) -> None:
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{entry.filename},sha256={digest},{len(data)}")
            slim.writestr(entry, data, method)

        add(ZipInfo(ARCHIVE), _archive(whole), ZIP_BZIP2)
        for entry in whole.infolist():
            if entry.filename.endswith(".dist-info/RECORD"):
                lines = "".join(f"{line}\n" for line in [*record, f"{entry.filename},,"])
                slim.writestr(entry, lines, ZIP_DEFLATED)
            elif entry.filename == INIT:
                add(entry, (slimmed(whole.read(entry).decode()) + SEARCH).encode())
            elif not _is_archived(entry.filename) and entry.filename not in DESKTOP:
                add(entry, whole.read(entry))


def _is_archived(name: str) -> bool:
    """Tell whether a file goes into the archive; the bridge stays out, for the browser loads it."""
    own = name.startswith("webnnm/") and name not in (INIT, *DESKTOP)
    return own and "/_bridge/" not in name


def _archive(whole: ZipFile) -> bytes:
    """Return the modules and their data, slimmed, as an archive that is not packed itself."""
    buffer = io.BytesIO()
    with ZipFile(buffer, "w", ZIP_STORED) as archive:
        for entry in whole.infolist():
            if _is_archived(entry.filename):
                data = whole.read(entry)
                if entry.filename.endswith(".py"):
                    data = slimmed(data.decode()).encode()
                archive.writestr(ZipInfo(entry.filename), data)
    return buffer.getvalue()


def slimmed(source: str) -> str:
    """Return Python source without docstrings, comments and annotations of functions."""
    import python_minifier

    return python_minifier.minify(
        source,
        remove_annotations=python_minifier.RemoveAnnotationsOptions(
            remove_variable_annotations=True,
            remove_return_annotations=True,
            remove_argument_annotations=True,
            # Dataclasses and named tuples are made from these.
            remove_class_attribute_annotations=False,
        ),
        remove_literal_statements=True,
        combine_imports=False,
        hoist_literals=False,
        rename_locals=True,
        rename_globals=False,
        remove_pass=False,
        remove_asserts=False,
    )
