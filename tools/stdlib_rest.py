"""Fetches the rest of Python's standard library when a page first imports one of its modules.

This file becomes `sitecustomize.py` in the archive with which pages start, so that Python runs it
first; the build fills in which modules the other archive has.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType

REST = "python_stdlib_rest.zip"
"""The other archive, beside the first one."""
NAMES: frozenset[str] = frozenset()
ARCHIVE = __file__.rpartition("/")[0]


class RestOfLibrary:
    """The last finder of modules, which removes itself once the other archive is here."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where a module of the other archive is; None for other modules."""
        if name not in NAMES:
            return None
        import importlib
        from importlib.machinery import PathFinder

        add_to_archive(fetch_at_once(name))
        sys.meta_path.remove(RestOfLibrary)
        importlib.invalidate_caches()
        return PathFinder.find_spec(name, path)


def fetch_at_once(name: str) -> bytes:
    """Return the other archive; the page waits."""
    import js  # pyrefly: ignore[missing-import]
    from pyodide.ffi import JsException  # pyrefly: ignore[missing-import]

    try:
        import pyodide_js  # pyrefly: ignore[missing-import]

        if not hasattr(js, "XMLHttpRequest"):  # Node.js
            file = f"{pyodide_js._api.config.indexURL}{REST}"
            return js.process.getBuiltinModule("fs").readFileSync(file, "latin1").encode("latin-1")
        request: Any = js.XMLHttpRequest.new()
        request.open("GET", f"{pyodide_js._api.config.indexURL}{REST}", False)
        # Bytes as characters: the only way for a page that must wait synchronously.
        request.overrideMimeType("text/plain; charset=x-user-defined")
        request.send()
    except (ImportError, JsException) as error:
        status, cause = str(error), error
    else:
        status, cause = f"status {request.status}", None
        if request.status == 200:
            # Two bytes for each character, of which the lower one counts: no loop of Python.
            return request.responseText.encode("utf-16-le")[::2]
    raise ModuleNotFoundError(
        f"{name} is a module of {REST}, which cannot be fetched now: {status}", name=name
    ) from cause


def add_to_archive(content: bytes) -> None:
    """Add the files of the other archive to the one from which Python imports modules."""
    from io import BytesIO
    from zipfile import ZipFile, ZipInfo

    with ZipFile(BytesIO(content)) as rest, ZipFile(ARCHIVE, "a") as whole:
        for name in rest.namelist():
            whole.writestr(ZipInfo(name), rest.read(name))


sys.meta_path.append(RestOfLibrary)
