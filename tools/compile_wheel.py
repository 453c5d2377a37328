"""Step that compiles the wheels of pages to bytecode, for the site's own Pyodide.

Compiling modules, and the methods that `dataclasses` writes, takes a quarter of a page's start-up,
on every visit, and a fifth of a first training. Bytecode is for one version of Python, which must
be Pyodide's own and is seldom a desktop's, so it is made inside Pyodide, in Node. It has the lines
of tracebacks but no columns, which would add over a third.
"""

from __future__ import annotations

import json
from pathlib import Path

from tools import page_wheel, pyodide
from tools.common import ROOT, fingerprint, run, step, without
from tools.page_wheel import PageWheels

FOLDER = ROOT / "dist" / "compiled"
PROGRAM = ROOT / "tools" / "bytecode.py"
SOON = (
    *("charts/", "compiler/infinite.py", "core/lru_cache.py", "diagram/", "evaluation/"),
    *("data/pictures/pixel_scale.py", "data/tables/encoding.py", "model/report.py"),
    "data/preparation/",
    *(f"expert/facts/{name}.py" for name in ("chains", "course", "hindsight", "learning", "paths")),
    "expert/rules/",
    *("language/", "notation/", "runtime/", "snapshots/", "trainer/", "training/"),
)
"""What pages with an editor import of the second wheel, and their trainings, tests and saving."""
COMPILE = """
const [core, program, wheels, made, call] = JSON.parse(process.argv[1]);
(async () => {
  const { loadPyodide } = await import(`${core}/pyodide.mjs`);
  const env = { HOME: "/home/pyodide", PYTHONNODEBUGRANGES: "1" };
  const pyodide = await loadPyodide({ indexURL: core, args: [], env });
  for (const [place, root] of Object.entries({ "/wheels": wheels, "/made": made })) {
    pyodide.FS.mkdir(place);
    pyodide.FS.mount(pyodide.FS.filesystems.NODEFS, { root }, place);
  }
  pyodide.runPython(require("fs").readFileSync(program, "utf8"));
  pyodide.globals.get("compile_wheels").callKwargs(call);
})().catch((error) => { console.error(error); process.exit(1); });
"""


def build() -> PageWheels:
    """Compile the page wheels, and return the paths of webnnm…-py314-none-any.whl."""
    wheels = page_wheel.current()
    key = fingerprint([*wheels, Path(__file__), PROGRAM], pyodide.version())
    with step("compiled wheels", key, FOLDER) as needed:
        if needed:
            write(wheels, without(FOLDER, "*.whl"))
    return current()


def current() -> PageWheels:
    """Return the paths of the most recently compiled wheels."""
    return page_wheel.newest(FOLDER, "run `make setup`")


def write(wheels: PageWheels, folder: Path) -> None:
    """Compile page wheels into a folder."""
    tag = f"py{pyodide.python_version().replace('.', '')}"  # lock files take no cp with "none"
    call = {"first": wheels.first.name, "rest": wheels.rest.name, "soon": SOON, "tag": tag}
    places = [str(wheels.first.parent), str(folder)]
    arguments = json.dumps([str(pyodide.PACKAGE), str(PROGRAM), *places, call])
    run(["node", "-e", COMPILE, arguments], "compiling the wheels")
