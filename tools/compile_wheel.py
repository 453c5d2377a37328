"""Compiles the wheel to bytecode for Pyodide's Python with pyodide-build, as a release artefact.

`pyodide py-compile` writes bytecode for the Python that it runs on, which must be Pyodide's own
version and seldom is a desktop's. So it is run inside Pyodide, in Node.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tools import pyodide, wheel
from tools.common import CACHE, DISTRIBUTION, ROOT, VENV_PYTHON, run, say, step

FOLDER = CACHE / "compiler"
WHEELS = (
    "pyodide-build==0.39.0",
    "click==8.3.1",
    "markdown-it-py==4.0.0",
    "mdurl==0.1.2",
    "packaging==26.3",
    "platformdirs==4.5.1",
    "pygments==2.21.0",
    "rich==14.2.0",
)

COMPILE = """
const [core, wheels, folder, name] = JSON.parse(process.argv[1]);
const { readdirSync, readFileSync } = require("fs");
(async () => {
  const { loadPyodide } = await import(`${core}/pyodide.mjs`);
  const pyodide = await loadPyodide({ indexURL: core, args: [] });
  for (const file of readdirSync(wheels)) {
    pyodide.unpackArchive(new Uint8Array(readFileSync(`${wheels}/${file}`)), "wheel");
  }
  pyodide.FS.mkdir("/work");
  pyodide.FS.mount(pyodide.FS.filesystems.NODEFS, { root: folder }, "/work");
  pyodide.globals.set("target", `/work/${name}`);
  pyodide.runPython(`
from pyodide_build.cli.py_compile import main
main([target, "--keep", "--compression-level", "9"], standalone_mode=False)
`);
})().catch((error) => { console.error(error); process.exit(1); });
"""


def download() -> Path:
    """Fetch pyodide-build with the few packages that its compiler needs."""
    with step("compiler", " ".join(WHEELS), FOLDER) as needed:
        if needed:
            shutil.rmtree(FOLDER, ignore_errors=True)
            command = [VENV_PYTHON, "-m", "pip", "--disable-pip-version-check", "download"]
            flags = ["--quiet", "--no-deps", "--only-binary=:all:", "--platform", "any"]
            place = ["--python-version", pyodide.python_version(), "--dest", FOLDER]
            run([*command, *flags, *place, *WHEELS], "downloading pyodide-build")
    return FOLDER


def main() -> None:
    """Write dist/webnnm-…-cp314-none-any.whl beside the wheel with sources."""
    source = wheel.current()
    arguments = [str(DISTRIBUTION), str(download()), str(source.parent), source.name]
    run(["node", "-e", COMPILE, json.dumps(arguments)], "compiling the wheel")
    for built in sorted(source.parent.glob("webnnm-*.whl")):
        say(f"{built.stat().st_size / 1000:8.1f} kB  {built.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
