"""Step that compiles the part of Python's standard library that pages start with.

Pyodide's archive holds sources, which are compiled again on every visit; that takes longer than
everything else at its start. Here, the modules that every page imports are compiled once; all
others remain sources, since bytecode is larger.
"""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

from tools.common import CACHE, NODE_MODULES, ROOT, fingerprint, run, step
from tools.slim import outside_functions

PACKAGE = NODE_MODULES / "pyodide"
NAME = "python_stdlib.zip"
FOLDER = CACHE / "stdlib"
LOADER = ("importlib.metadata", "tarfile", "zipfile")
"""What else Pyodide imports when it loads packages."""

COMPILE = """
const [core, names, folder] = JSON.parse(process.argv[1]);
(async () => {
  const { loadPyodide } = await import(`${core}/pyodide.mjs`);
  const pyodide = await loadPyodide({ indexURL: core, args: [] });
  for (const [place, root] of [["/core", core], ["/made", folder]]) {
    pyodide.FS.mkdir(place);
    pyodide.FS.mount(pyodide.FS.filesystems.NODEFS, { root }, place);
  }
  pyodide.globals.set("names", pyodide.toPy(names));
  pyodide.runPython(`
import contextlib, importlib, importlib.util, marshal, sys, zipfile

for name in names:
    with contextlib.suppress(ImportError):  # most are names in modules
        importlib.import_module(name)
origins = [getattr(module.__spec__, "origin", None) for module in [*sys.modules.values()]]
PLACE = "/lib/python314.zip/"
with zipfile.ZipFile("/core/python_stdlib.zip") as whole:
    with zipfile.ZipFile("/made/python_stdlib.zip", "w", zipfile.ZIP_DEFLATED) as made:
        for entry in whole.namelist():
            content = whole.read(entry)
            if entry.endswith(".py") and PLACE + entry in origins:
                code = compile(content, PLACE + entry, "exec", dont_inherit=True, optimize=0)
                # Flag 1 says: with the hash of the source, which is not to be compared.
                head = importlib.util.MAGIC_NUMBER + b"\\\\1\\\\0\\\\0\\\\0" + bytes(8)
                entry, content = entry + "c", head + marshal.dumps(code)
            made.writestr(zipfile.ZipInfo(entry), content, zipfile.ZIP_DEFLATED, 9)
`);
})().catch((error) => { console.error(error); process.exit(1); });
"""


def build() -> Path:
    """Build the archive and return its path."""
    names = find_stdlib_imports()
    key = fingerprint([PACKAGE / "package.json", Path(__file__)], *names)
    with step("standard library", key, FOLDER / NAME) as needed:
        if needed:
            FOLDER.mkdir(parents=True, exist_ok=True)
            arguments = json.dumps([str(PACKAGE), names, str(FOLDER)])
            run(["node", "-e", COMPILE, arguments], "compiling the standard library")
    return FOLDER / NAME


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
