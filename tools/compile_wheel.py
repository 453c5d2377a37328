"""Step that compiles the first wheel of pages to bytecode, for the site's own Pyodide.

Compiling its modules takes a fifth of a page's start-up, on every visit. Bytecode is for one
version of Python, which must be Pyodide's own and is seldom a desktop's, so it is made inside
Pyodide, in Node. It has the lines of tracebacks but no columns, which would add over a third.
"""

from __future__ import annotations

import json
from pathlib import Path

from tools import page_modules, page_wheel, pyodide
from tools.common import ROOT, fail, fingerprint, run, step, without

FOLDER = ROOT / "dist" / "compiled"
COMPILE = """
const [core, places, facts] = JSON.parse(process.argv[1]);
(async () => {
  const { loadPyodide } = await import(`${core}/pyodide.mjs`);
  const env = { HOME: "/home/pyodide", PYTHONNODEBUGRANGES: "1" };
  const pyodide = await loadPyodide({ indexURL: core, args: [], env });
  for (const [index, root] of places.entries()) {
    const place = ["/dist", "/made"][index];
    pyodide.FS.mkdir(place);
    pyodide.FS.mount(pyodide.FS.filesystems.NODEFS, { root }, place);
  }
  pyodide.globals.set("facts", pyodide.toPy(facts));
  pyodide.runPython(`
import bz2, marshal, site, zipfile
from importlib.util import MAGIC_NUMBER

place = f"{site.getsitepackages()[0]}/webnnm/"
with (
    zipfile.ZipFile(f"/dist/{facts['source']}") as page,
    zipfile.ZipFile(f"/made/{facts['target']}", "w") as compiled,
):
    parts = page.read(facts["first"]).decode().split("\\\\0")
    texts = dict(zip(parts[::2], parts[1::2], strict=True))
    codes = {
        file: marshal.dumps(compile(text, place + file, "exec", dont_inherit=True))
        for file, text in texts.items()
        if file.endswith(".py")
    }

    def joined(names):
        return "\\\\0".join(part for file in sorted(names) for part in (file, texts[file])).encode()

    new = {
        facts["first"]: joined(texts.keys() - codes),
        facts["sources"]: bz2.compress(joined(codes)),
        facts["code"]: MAGIC_NUMBER + marshal.dumps(codes),
    }
    for name in page.namelist():
        if name.endswith("/RECORD"):
            continue
        content = page.read(name)
        if name.endswith("/WHEEL"):
            content = content.replace(b"py3-none-any", facts["tag"].encode())
        new.setdefault(name, content)
    for name, content in new.items():
        compiled.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED, 9)
    record = "".join(f"{name},,\\\\n" for name in new)
    folder = next(name for name in new if name.endswith("/WHEEL")).removesuffix("WHEEL")
    compiled.writestr(zipfile.ZipInfo(folder + "RECORD"), record, zipfile.ZIP_DEFLATED, 9)
`);
})().catch((error) => { console.error(error); process.exit(1); });
"""


def build() -> Path:
    """Compile the first page wheel, and return the path of webnnm-…-py314-none-any.whl."""
    source = page_wheel.current().first
    key = fingerprint([source, Path(__file__)], pyodide.version())
    with step("compiled wheel", key, FOLDER) as needed:
        if needed:
            write(source, without(FOLDER, "*.whl"))
    return current()


def current() -> Path:
    """Return the path of the most recently compiled wheel."""
    found = sorted(FOLDER.glob("*.whl"))
    if not found:
        fail("there is no wheel in dist/compiled/: run `make setup`.")
    return found[-1]


def write(source: Path, folder: Path) -> None:
    """Compile a page wheel into a folder."""
    tag = f"py{pyodide.python_version().replace('.', '')}"  # lock files take no cp with "none"
    files = {
        "first": page_modules.FIRST,
        "sources": page_modules.SOURCES,
        "code": page_modules.CODE,
    }
    facts = {
        "source": source.name,
        "target": source.name.replace("-py3-", f"-{tag}-"),
        "tag": f"{tag}-none-any",
        **{name: f"{page_wheel.PACKAGE}{file}" for name, file in files.items()},
    }
    places = [str(source.parent), str(folder)]
    arguments = json.dumps([str(pyodide.PACKAGE), places, facts])
    run(["node", "-e", COMPILE, arguments], "compiling the wheel")
