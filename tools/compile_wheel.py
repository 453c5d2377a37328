"""Compiles the first wheel of pages to bytecode for Pyodide's Python, as a release artefact.

Bytecode is for one version of Python, which must be Pyodide's own and seldom is a desktop's, so it
is made inside Pyodide, in Node.
"""

from __future__ import annotations

import json
from pathlib import Path

from tools import page_modules, page_wheel, pyodide
from tools.common import DISTRIBUTION, run

COMPILE = """
const [core, places, target, tag, first, made] = JSON.parse(process.argv[1]);
(async () => {
  const { loadPyodide } = await import(`${core}/pyodide.mjs`);
  const pyodide = await loadPyodide({ indexURL: core, args: [] });
  for (const [index, root] of places.folders.entries()) {
    const place = ["/dist", "/made"][index];
    pyodide.FS.mkdir(place);
    pyodide.FS.mount(pyodide.FS.filesystems.NODEFS, { root }, place);
  }
  const { source } = places;
  pyodide.globals.set("facts", pyodide.toPy({ source, target, first, made, tag }));
  pyodide.runPython(`
import marshal, site, zipfile

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
    left = [part for file in texts if file not in codes for part in (file, texts[file])]
    new = {facts["first"]: "\\\\0".join(left).encode(), facts["made"]: marshal.dumps(codes)}
    for name in page.namelist():
        if name.endswith("/RECORD"):
            continue
        content = page.read(name)
        if name.endswith("/WHEEL"):
            content = content.replace(b"py3-none-any", facts["tag"].encode())
        new.setdefault(name, content)
    for name, content in new.items():
        packed = zipfile.ZIP_LZMA if name == facts["made"] else zipfile.ZIP_DEFLATED
        compiled.writestr(zipfile.ZipInfo(name), content, packed, 9)
    record = "".join(f"{name},,\\\\n" for name in new)
    folder = next(name for name in new if name.endswith("/WHEEL")).removesuffix("WHEEL")
    compiled.writestr(zipfile.ZipInfo(folder + "RECORD"), record, zipfile.ZIP_DEFLATED, 9)
`);
})().catch((error) => { console.error(error); process.exit(1); });
"""


def write(folder: Path) -> Path:
    """Write webnnm-…-cp314-none-any.whl into a folder, and return its path."""
    source = page_wheel.current().first
    tag = f"cp{pyodide.python_version().replace('.', '')}"
    target = source.name.replace("-py3-", f"-{tag}-")
    files = [f"{page_wheel.PACKAGE}{name}" for name in (page_modules.FIRST, page_modules.CODE)]
    places = {"source": source.name, "folders": [str(source.parent), str(folder)]}
    arguments = json.dumps([str(DISTRIBUTION), places, target, f"{tag}-none-any", *files])
    run(["node", "-e", COMPILE, arguments], "compiling the wheel")
    return folder / target
