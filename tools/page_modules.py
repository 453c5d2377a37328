"""Finds the package's modules in a page, where one file holds the sources of all of them.

This file becomes a part of the wheel for pages. One text compresses much better than many, and a
module is found in it by its name, without asking a file system for each place where it could be.

What a first visit does not need is in a second wheel. It is fetched when the page has had time to
start, so that it is available even if the network goes away; importing one of its modules earlier
waits for it. What only pretrained models need is in a third one, which is fetched on import.
"""

from __future__ import annotations

import asyncio
import dataclasses
import marshal
import sys
from collections.abc import Sequence
from hashlib import blake2b
from importlib.abc import ExecutionLoader
from importlib.machinery import ModuleSpec
from importlib.util import MAGIC_NUMBER, spec_from_file_location
from io import BytesIO
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple
from zipfile import ZipFile

PACKAGE = "webnnm"
PATIENCE = 2
"""Seconds until the second wheel is fetched."""


class Wheel(NamedTuple):
    """A wheel: its name in Pyodide's lock file, and its file of sources."""

    package: str
    texts: str

    @property
    def codes(self) -> str:
        """The file of a wheel of tools/compile_wheel.py: bytecode by file, after the magic number.

        That of what `dataclasses` generates is found by the hash of the text.
        """
        return self.texts.replace(".txt", ".code")


FIRST = Wheel("webnnm", "first.txt")
REST = Wheel("webnnm-rest", "rest.txt")
MODELS = Wheel("webnnm-models", "models.txt")
MODELS_PACKAGES = ("tasks", "transformers")
"""What is in the third wheel."""
SOURCES = Wheel("webnnm-sources", "sources.txt")
"""The sources of the bytecode: for tracebacks, and for another Python."""


class Modules(ExecutionLoader):
    """A finder and loader of modules, whose sources are in one file, each after its name."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.texts = texts_of(Path(folder, FIRST.texts))
        self.codes = self._read_codes(FIRST)
        self._fetching: dict[Wheel, asyncio.Future[None]] = {}
        if not self.codes and Path(folder, FIRST.codes).exists():
            self._read(SOURCES, "the sources of its modules are")

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where a module of the package is; None if it is not here."""
        file = self._file_of(name)
        if not file:
            return None
        inside = [f"{self.folder}/{file.removesuffix('/__init__.py')}"]
        return spec_from_file_location(
            name,
            f"{self.folder}/{file}",
            loader=self,
            submodule_search_locations=inside if self.is_package(name) else None,
        )

    def is_package(self, fullname: str) -> bool:
        """Return whether a module is a package."""
        return self._file_of(fullname).endswith("/__init__.py")

    def get_filename(self, fullname: str) -> str:
        """Return the path that tracebacks show."""
        return f"{self.folder}/{self._file_of(fullname)}"

    def get_source(self, fullname: str) -> str | None:
        """Return the text of a module."""
        return self._text(self._file_of(fullname))

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the bytecode of a module."""
        code = self.codes.get(self._file_of(fullname))
        return marshal.loads(code) if code else super().get_code(fullname)

    def execute(self, text: str, names: dict[str, Any], made: dict[str, Any]) -> None:
        """Execute a text that `dataclasses` generated, for which compiling it takes longest."""
        code = self.codes.get(key_of(text))
        exec(marshal.loads(code) if code else text, names, made)

    def get_data(self, path: str) -> bytes:
        """Return the content of a data file of the package."""
        return self._text(path.removeprefix(f"{self.folder}/")).encode()

    def fetch_soon(self) -> None:
        """Fetch the second wheel once the page has had time to start."""

        async def later() -> None:
            await asyncio.sleep(PATIENCE)
            await self.fetch(REST)

        self._soon = asyncio.ensure_future(later())

    def has(self, wheel: Wheel) -> bool:
        """Return whether a wheel is here."""
        return Path(self.folder, wheel.texts).exists()

    async def fetch(self, wheel: Wheel) -> None:
        """Wait until a wheel is here, which is requested once."""
        if not self.has(wheel):
            if wheel not in self._fetching:
                self._fetching[wheel] = asyncio.ensure_future(self._fetch(wheel))
            # Who no longer waits does not stop it for the others.
            await asyncio.shield(self._fetching[wheel])

    async def _fetch(self, wheel: Wheel) -> None:
        from js import fetch  # pyrefly: ignore[missing-import]
        from pyodide.ffi import JsException  # pyrefly: ignore[missing-import]

        try:
            answer = await fetch(_address(wheel.package))
            if answer.ok and not self.has(wheel):
                self._unpack((await answer.arrayBuffer()).to_bytes())
        except (LookupError, JsException):
            pass  # the wheel is requested again when it is needed
        finally:
            del self._fetching[wheel]

    def _read_codes(self, wheel: Wheel) -> dict[str, bytes]:
        path = Path(self.folder, wheel.codes)
        data = path.read_bytes() if path.exists() else b""
        if not data.startswith(MAGIC_NUMBER):
            return {}
        return marshal.loads(data.removeprefix(MAGIC_NUMBER))

    def _text(self, file: str) -> str:
        if file in self.codes and file not in self.texts:
            self._read(SOURCES, "the sources of its modules are")
        if file not in self.texts:
            self._read_wheel_of(file)
        return self.texts[file]

    def _read_wheel_of(self, file: str) -> None:
        wheel = wheel_of(file)
        self._read(wheel, f"{PACKAGE}/{file} is")
        self.codes |= self._read_codes(wheel)

    def _read(self, wheel: Wheel, what: str) -> None:
        if not self.has(wheel):
            self._fetch_at_once(wheel.package, what)
        self.texts |= texts_of(Path(self.folder, wheel.texts))

    def _fetch_at_once(self, package: str, what: str) -> None:
        from pyodide.ffi import JsException  # pyrefly: ignore[missing-import]

        try:
            from js import XMLHttpRequest  # pyrefly: ignore[missing-import]

            request: Any = XMLHttpRequest.new()
            request.open("GET", _address(package), False)
            # Bytes as characters: the only way for a page that must wait synchronously.
            request.overrideMimeType("text/plain; charset=x-user-defined")
            request.send()
            content = request.responseText.encode("utf-16-le")[::2]
            is_found = request.status == 200
        except (ImportError, LookupError, JsException) as error:
            is_found, content, cause = False, b"", error
        else:
            cause = None
        if not is_found:
            raise ImportError(
                f"{what} in another wheel, which cannot be fetched now: load it "
                f'with the first one, `await pyodide.loadPackage("{package}")`'
            ) from cause
        self._unpack(content)

    def _unpack(self, wheel: bytes) -> None:
        with ZipFile(BytesIO(wheel)) as archive:
            archive.extractall(Path(self.folder).parent)

    def _file_of(self, name: str) -> str:
        package, _, module = name.partition(".")
        if package != PACKAGE or not module:
            return ""
        path = module.replace(".", "/")
        files = f"{path}.py", f"{path}/__init__.py"
        # What is not here is assumed to be in another wheel, which lists all its names.
        if not any(file in self.texts or file in self.codes for file in files):
            self._read_wheel_of(files[0])
        return next((file for file in files if file in self.texts or file in self.codes), "")


def wheel_of(file: str) -> Wheel:
    """Return the wheel of a file that the first one lacks."""
    return MODELS if file.startswith(MODELS_PACKAGES) else REST


def key_of(text: str) -> str:
    """Return the name of a generated text's bytecode."""
    return blake2b(text.encode(), digest_size=16).hexdigest()


def texts_of(path: Path) -> dict[str, str]:
    """Return the files that are in one file."""
    return _parts(path.read_text(encoding="utf-8"))


def _parts(text: str) -> dict[str, str]:
    parts = text.split("\0")
    return dict(zip(parts[::2], parts[1::2], strict=True))


def _address(package: str) -> str:
    """Return the address of a wheel from Pyodide's lock file."""
    import pyodide_js  # pyrefly: ignore[missing-import]

    packages: dict[str, Any] = pyodide_js.lockfile.packages.to_py()
    file = packages[package]["file_name"]
    base = pyodide_js.lockfileBaseUrl or ""
    return file if "://" in file else f"{base.rstrip('/')}/{file}"


def install(folder: str) -> None:
    """Let Python find the modules whose sources are in a folder, and soon fetch all others."""
    modules = Modules(folder)
    sys.meta_path.insert(0, modules)
    if modules.codes:
        # The module looks for `exec` among its own names before it takes the built-in function.
        vars(dataclasses)["exec"] = modules.execute
    modules.fetch_soon()


async def load_rest() -> None:
    """Wait for the second wheel: importing one of its modules earlier would block the page."""
    await _load(REST)


async def load_models() -> None:
    """Wait for the wheel of pretrained models, and for the second one, which they need."""
    await asyncio.gather(_load(REST), _load(MODELS))


async def _load(wheel: Wheel) -> None:
    for finder in sys.meta_path:
        if isinstance(finder, Modules):
            await finder.fetch(wheel)
