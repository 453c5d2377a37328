"""Step that bundles the components of the pages with the npm packages they need."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.common import NODE_MODULES, ROOT, fail, run

SOURCES = ROOT / "site" / "components"
ESBUILD = NODE_MODULES / "esbuild" / "bin" / "esbuild"
LICENCES = "licences.txt"
PACKAGE = re.compile(r".*node_modules/((?:@[^/]+/)?[^/]+)/")


def entries() -> list[Path]:
    """Return the modules that pages import, one per component; folders hold their parts."""
    return sorted(SOURCES.glob("*.js"))


def bundle(target: Path) -> None:
    """Write every component as one minified ES module, with shared code in further modules.

    The licences of the packages inside are next to them, in `licences.txt`.
    """
    if not (modules := entries()):
        return
    options = ["--bundle", "--splitting", "--format=esm", "--minify", "--target=es2022"]
    names = ["--chunk-names=shared-[hash]", "--legal-comments=linked", "--charset=utf8"]
    with TemporaryDirectory() as folder:
        facts = Path(folder, "facts.json")
        command = ["node", ESBUILD, *modules, *options, *names, f"--outdir={target}"]
        run([*command, f"--metafile={facts}", "--log-level=warning"], "bundling site/components")
        inputs = json.loads(facts.read_text(encoding="utf-8"))["inputs"]
    (target / LICENCES).write_text(collect_licences(find_packages(inputs)), encoding="utf-8")


def find_packages(inputs: Iterable[str]) -> list[str]:
    """Return the names of the npm packages that modules come from.

    >>> find_packages(["site/a.js", "node_modules/d3-array/src/a.js", "node_modules/@a/b/c.js"])
    ['@a/b', 'd3-array']
    """
    matches = (PACKAGE.search(path) for path in inputs)
    return sorted({match[1] for match in matches if match})


def collect_licences(packages: Iterable[str]) -> str:
    """Return the licence of each package; the build ends if one has none."""
    texts: list[str] = []
    for name in packages:
        files = sorted(NODE_MODULES.joinpath(name).glob("LICEN[CS]E*"))
        if not files:
            fail(f"node_modules/{name} has no licence file, but site/components contains it.")
        texts.append(f"{name}\n\n{files[0].read_text(encoding='utf-8').strip()}\n")
    return "\n---\n\n".join(texts)
