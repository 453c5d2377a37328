"""Step that splits Python's standard library into what pages start with, as bytecode, and the rest.

Pyodide's archive holds all sources, which are compiled again on every visit; that takes longer than
everything else at its start. Here, the modules that every page imports are compiled once. Those
that they import later lie beside them as sources, since bytecode is larger. All others are in a
second archive, which a page fetches when it imports one of them (tools/stdlib_rest.py).
"""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from typing import NamedTuple

from tools import stdlib_rest
from tools.common import CACHE, NODE_MODULES, ROOT, fingerprint, run, step
from tools.slim import outside_functions

PACKAGE = NODE_MODULES / "pyodide"
NAME = "python_stdlib.zip"
FOLDER = CACHE / "stdlib"
LOADER = ("importlib.metadata", "tarfile", "zipfile")
"""What else Pyodide imports when it loads packages."""
CODECS = (
    "ascii",
    "cp1252",
    "cp437",
    "latin_1",
    "unicode_escape",
    "utf_16",
    "utf_16_le",
    "utf_8_sig",
)
LATER = (
    *("_compat_pickle", "ctypes", "hmac", "numbers", "pickle", "platform", "secrets"),  # NumPy
    *("gzip", "pkgutil"),
    *(f"encodings.{name}" for name in CODECS),
)
"""What pages import later without waiting for the other archive."""

COMPILE = """
const { core, folder, call } = JSON.parse(require("fs").readFileSync(process.argv[1], "utf8"));
(async () => {
  const { loadPyodide } = await import(`${core}/pyodide.mjs`);
  // Tracebacks have the lines of these modules, without columns, which would add a third.
  const env = { HOME: "/home/pyodide", PYTHONNODEBUGRANGES: "1" };
  const pyodide = await loadPyodide({ indexURL: core, args: [], env });
  for (const [place, root] of [["/core", core], ["/made", folder]]) {
    pyodide.FS.mkdir(place);
    pyodide.FS.mount(pyodide.FS.filesystems.NODEFS, { root }, place);
  }
  pyodide.globals.set("call", pyodide.toPy(call));
  pyodide.runPython(`
import contextlib, importlib, importlib.util, marshal, sys, zipfile

PLACE = "/lib/python314.zip/"

def import_all(names):
    for name in names:
        with contextlib.suppress(ImportError):  # most are names in modules
            importlib.import_module(name)
    origins = [getattr(module.__spec__, "origin", None) for module in [*sys.modules.values()]]
    return {origin.removeprefix(PLACE) for origin in origins if origin}

def module_of(entry):
    return entry.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

compiled = import_all(call["compiled"])
sources = import_all(call["sources"]) - compiled
with zipfile.ZipFile("/core/python_stdlib.zip") as whole:
    names = [name for name in whole.namelist() if not name.endswith("/")]
    first = zipfile.ZipFile("/made/" + call["first"], "w", zipfile.ZIP_DEFLATED, compresslevel=9)
    rest = zipfile.ZipFile("/made/" + call["rest"], "w", zipfile.ZIP_DEFLATED, compresslevel=9)
    with first, rest:
        missing = []
        for name in names:
            content = whole.read(name)
            if name in compiled:
                code = compile(content, PLACE + name, "exec", dont_inherit=True, optimize=0)
                # Flag 1 says: with the hash of the source, which is not to be compared.
                head = importlib.util.MAGIC_NUMBER + b"\\\\1\\\\0\\\\0\\\\0" + bytes(8)
                first.writestr(zipfile.ZipInfo(name + "c"), head + marshal.dumps(code), 8, 9)
            elif name in sources:
                first.writestr(zipfile.ZipInfo(name), content, 8, 9)
            else:
                rest.writestr(zipfile.ZipInfo(name), content, 8, 9)
                if name.endswith(".py"):
                    missing.append(module_of(name))
        text = call["finder"].replace(call["unfilled"], f"NAMES = frozenset({missing!r})")
        first.writestr(zipfile.ZipInfo("sitecustomize.py"), text, 8, 9)
`);
})().catch((error) => { console.error(error); process.exit(1); });
"""


class Archives(NamedTuple):
    """What pages start with, and the rest."""

    first: Path
    rest: Path


def build() -> Archives:
    """Build both archives and return their paths."""
    archives = Archives(FOLDER / NAME, FOLDER / stdlib_rest.REST)
    finder = Path(stdlib_rest.__file__)
    names = find_stdlib_imports()
    key = fingerprint([PACKAGE / "package.json", Path(__file__), finder], *names)
    with step("standard library", key, *archives) as needed:
        if needed:
            FOLDER.mkdir(parents=True, exist_ok=True)
            call = {
                "compiled": names,
                "sources": LATER,
                "first": NAME,
                "rest": stdlib_rest.REST,
                "finder": finder.read_text(),
                "unfilled": "NAMES: frozenset[str] = frozenset()",
            }
            job = FOLDER / "job.json"
            job.write_text(json.dumps({"core": str(PACKAGE), "folder": str(FOLDER), "call": call}))
            run(["node", "-e", COMPILE, job], "compiling the standard library")
    return archives


def find_stdlib_imports() -> list[str]:
    """Return the modules of the standard library that the package or Pyodide's loader imports."""
    names: set[str] = {*LOADER}
    package = ROOT / "webnnm"
    # Pages do not have the command line.
    for file in {*package.rglob("*.py")} - {*package.glob("cli/*.py")}:
        for node in outside_functions(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return sorted(
        name
        for name in names
        if name in LOADER or name.partition(".")[0] in sys.stdlib_module_names
    )
