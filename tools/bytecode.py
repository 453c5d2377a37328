"""Compiles the wheels of pages to bytecode. It runs inside Pyodide, for whose Python that is.

tools/compile_wheel.py sends this file there and calls `compile_wheels`. The wheels are in /wheels,
what is made of them comes into /made.
"""

from __future__ import annotations

import dataclasses
import importlib
import marshal
import site
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from typing import Any
from zipfile import (
    ZIP_DEFLATED,
    ZIP_ZSTANDARD,  # pyrefly: ignore[missing-module-attribute]
    ZipFile,
    ZipInfo,
)

FOLDER = Path(site.getsitepackages()[0], "webnnm")
GENERATED: defaultdict[str, list[str]] = defaultdict(list)
"""What `dataclasses` generated, by module."""

LARGE_BYTES = 100_000
"""Zstandard makes larger files smaller by a fifth than deflate does, and unpacks them as fast."""


def execute(text: str, names: dict[str, Any], made: dict[str, Any]) -> None:
    """Execute what `dataclasses` generated for a module, and note it."""
    GENERATED[names["__name__"]].append(text)
    exec(text, names, made)


def compile_wheels(wheels: Sequence[str], soon: Sequence[str], tag: str) -> None:
    """Compile all of the first wheel, and of the others the modules that begin with `soon`."""
    for name in wheels:
        with ZipFile(f"/wheels/{name}") as wheel:
            wheel.extractall(FOLDER.parent)
    # As page_modules.py does it.
    vars(dataclasses)["exec"] = execute
    page_modules = importlib.import_module("webnnm.page_modules")

    sources: dict[str, str] = {}
    kinds = page_modules.FIRST, page_modules.REST, page_modules.MODELS
    for name, wheel in zip(wheels, kinds, strict=True):
        starts = ("",) if wheel is page_modules.FIRST else tuple(soon)
        texts = page_modules.texts_of(FOLDER / wheel.texts)
        codes = compile_modules(texts, [module for module in texts if module.startswith(starts)])
        sources |= {module: texts.pop(module) for module in [*texts] if module in codes}
        content = {
            wheel.texts: join_files(texts),
            wheel.codes: MAGIC_NUMBER + marshal.dumps(codes),
        }
        write(name, tag, content)
    kind = page_modules.SOURCES
    write(wheels[-1], tag, {kind.texts: join_files(sources)}, kind.package)


def join_files(texts: Mapping[str, str]) -> bytes:
    """Return files as one."""
    return "\0".join(part for file in sorted(texts) for part in (file, texts[file])).encode()


def compile_modules(texts: Mapping[str, str], files: Iterable[str]) -> dict[str, bytes]:
    """Return the bytecode of modules, and of what `dataclasses` generates for them."""
    key_of = importlib.import_module("webnnm.page_modules").key_of
    codes: dict[str, bytes] = {}
    generated: dict[str, bytes] = {}
    for file in files:
        if file.endswith(".py"):
            codes[file] = code_of(texts[file], str(FOLDER / file))
            name = f"webnnm/{file}".removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            importlib.import_module(name)
            generated |= {key_of(text): code_of(text, "<string>") for text in GENERATED[name]}
    # Side by side, they compress better.
    return codes | generated


def code_of(text: str, place: str) -> bytes:
    """Return the bytecode of a text."""
    return marshal.dumps(compile(text, place, "exec", dont_inherit=True))


def write(name: str, tag: str, new: Mapping[str, bytes], package: str = "") -> None:
    """Write a wheel for one version of Python, with files of the package that are new in it.

    `package` is the name of another one, which has these files alone.
    """
    with ZipFile(f"/wheels/{name}") as wheel:
        kept = {entry: wheel.read(entry) for entry in wheel.namelist()}
    if package:
        before, project = name.partition("-")[0], package.replace("-", "_")
        kept = {
            entry.replace(before, project, 1): content.replace(before.encode(), project.encode(), 1)
            for entry, content in kept.items()
            if ".dist-info/" in entry
        }
        # Pyodide's lock file requires a module in every wheel.
        kept[f"{project}.py"] = b""
        name = name.replace(before, project, 1)
    (facts,) = (entry for entry in kept if entry.endswith("/WHEEL"))
    kept[facts] = kept[facts].replace(b"-py3-", f"-{tag}-".encode())
    files = kept | {f"webnnm/{file}": content for file, content in new.items()}
    record = facts.replace("/WHEEL", "/RECORD")
    files[record] = "".join(f"{entry},,\n" for entry in files).encode()
    with ZipFile(f"/made/{name.replace('-py3-', f'-{tag}-')}", "w") as target:
        for entry, content in files.items():
            # Other programs read the metadata; Python alone reads what is large.
            method, level = (ZIP_ZSTANDARD, 19) if len(content) > LARGE_BYTES else (ZIP_DEFLATED, 9)
            target.writestr(ZipInfo(entry), content, method, level)
