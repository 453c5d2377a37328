"""Compiles the wheels of pages to bytecode. It runs inside Pyodide, for whose Python that is.

tools/compile_wheel.py sends this file there and calls `compile_wheels`. The wheels are in /wheels,
what is made of them comes into /made.
"""

from __future__ import annotations

import bz2
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


def compile_wheels(first: str, rest: str, soon: Sequence[str], tag: str) -> None:
    """Compile all of the first wheel, and of the second one the modules that begin with `soon`."""
    for name in (first, rest):
        with ZipFile(f"/wheels/{name}") as wheel:
            wheel.extractall(FOLDER.parent)
    # As page_modules.py does it.
    vars(dataclasses)["exec"] = execute
    page_modules = importlib.import_module("webnnm.page_modules")

    texts = page_modules.texts_of(FOLDER / page_modules.FIRST)
    codes = compile_modules(texts, texts)
    sources = join_files({file: texts[file] for file in texts if file.endswith(".py")})
    new = {
        page_modules.FIRST: join_files({file: texts[file] for file in texts.keys() - codes}),
        page_modules.SOURCES: bz2.compress(sources),
        page_modules.CODE: MAGIC_NUMBER + marshal.dumps(codes),
    }
    write(first, tag, new)

    texts = page_modules.texts_of(FOLDER / page_modules.REST)
    codes = compile_modules(texts, [file for file in texts if file.startswith(tuple(soon))])
    write(rest, tag, {page_modules.REST_CODE: MAGIC_NUMBER + marshal.dumps(codes)})


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


def write(name: str, tag: str, new: Mapping[str, bytes]) -> None:
    """Write a wheel for one version of Python, with files of the package that are new in it."""
    with (
        ZipFile(f"/wheels/{name}") as wheel,
        ZipFile(f"/made/{name.replace('-py3-', f'-{tag}-')}", "w") as target,
    ):
        kept = {entry: wheel.read(entry) for entry in wheel.namelist()}
        (facts,) = (entry for entry in kept if entry.endswith("/WHEEL"))
        kept[facts] = kept[facts].replace(b"-py3-", f"-{tag}-".encode())
        files = kept | {f"webnnm/{file}": content for file, content in new.items()}
        record = facts.replace("/WHEEL", "/RECORD")
        files[record] = "".join(f"{entry},,\n" for entry in files).encode()
        for entry, content in files.items():
            # Other programs read the metadata; Python alone reads what is large.
            method, level = (ZIP_ZSTANDARD, 19) if len(content) > LARGE_BYTES else (ZIP_DEFLATED, 9)
            target.writestr(ZipInfo(entry), content, method, level)
