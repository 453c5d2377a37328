"""What files refer to is opened by one module: everything else opens what users name."""

from __future__ import annotations

import ast
from pathlib import Path

from tools.imports import MODULES, PACKAGE, parse

OPENING = frozenset(
    (
        "read_bytes",
        "read_text",
        "read_path",
        "read_reference",
        "open_url",
        "urlopen",
        "build_opener",
        "fetch_url",
    )
)
"""Functions and methods that read files or addresses, besides `open`."""
READERS = {
    "backends/pyodide_host.py": "the scripts of the package",
    "cli/common.py": "arguments of commands",
    "cli/convert.py": "arguments of commands",
    "cli/describe.py": "an argument of the command",
    "cli/headers.py": "the folder of a site, an argument",
    "cli/new.py": "arguments of commands",
    "cli/predict.py": "arguments of commands",
    "cli/runtime_package.py": "the package of the command's own version",
    "cli/served_files.py": "files below the served folder, an argument",
    "cli/show.py": "arguments of commands",
    "cli/test.py": "arguments of commands",
    "cli/train.py": "arguments of commands",
    "data/files/addresses.py": "addresses of its callers",
    "data/tables/csv_dataset.py": "an argument",
    "data/texts/labeled.py": "a folder, or the path of a tokenizer, arguments",
    "data/tables/csv_table.py": "an argument",
    "data/files/downloads.py": "addresses and paths of its callers",
    "data/examples/iris.py": "the table of the package, or an argument",
    "data/files/references.py": "what files refer to",
    "data/files/labelled_files.py": "arguments, files below a folder, and what `refer` located",
    "data/sounds/sound.py": "an argument",
    "data/files/source.py": "addresses and paths of its callers",
    "data/files/source_bytes.py": "addresses and paths of its callers",
    "core/atomic.py": "files that are written",
    "transformers/adapting.py": "files of fixed names in a folder, an argument",
    "model/creation.py": "arguments",
    "expert/suggesting/suggest.py": "an argument",
    "formats/page/folders.py": "files of fixed names in a folder, an argument, and those it holds",
    "formats/onnx/files.py": "an argument, and what `refer` located",
    "snapshots/storage.py": "arguments",
    "transformers/chat_template.py": "a file beside Pyodide",
    "transformers/pretrained.py": "files of fixed names in a folder, an argument",
}
"""Modules that read → what they read. A module that reads what a file names calls `refer`."""
REFERRING = {
    "data/files/labelled_files.py",
    "formats/onnx/files.py",
    "formats/onnx/text_files.py",
    "transformers/onnx_files.py",
    "transformers/pretrained.py",
}
"""Modules that read what files name."""


def calls(path: Path) -> set[str]:
    """Return the names of functions and methods that a module calls."""
    found: set[str] = set()
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                found.add(node.func.id)
            elif isinstance(node.func, ast.Attribute) and _reads(node.func):
                found.add(node.func.attr)
    return found


def _reads(method: ast.Attribute) -> bool:
    """Return whether a method is not one of the same name of other objects."""
    if method.attr not in ("open", "fetch_url"):
        return True
    owner = ast.unparse(method.value)
    if method.attr == "fetch_url":
        return owner == "pyodide_host"
    return "path" in owner.lower() or owner in ("os", "place", "file")


def test_modules_that_read_files_are_known() -> None:
    modules = {path.relative_to(PACKAGE).as_posix(): calls(path) for path in MODULES}
    reading = {name for name, called in modules.items() if called & (OPENING | {"open"})}
    assert sorted(reading) == sorted(READERS)
    assert {name for name, called in modules.items() if "refer" in called} == REFERRING
