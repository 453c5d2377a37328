"""Step that bundles the components of the pages with the npm packages they need."""

from __future__ import annotations

from pathlib import Path

from tools.common import NODE_MODULES, ROOT, run

SOURCES = ROOT / "site" / "components"
ESBUILD = NODE_MODULES / "esbuild" / "bin" / "esbuild"


def entries() -> list[Path]:
    """Return the modules that pages import, one per component; folders hold their parts."""
    return sorted(SOURCES.glob("*.js"))


def bundle(target: Path) -> None:
    """Write every component as one minified ES module, with shared code in further modules.

    The licences of the packages inside are next to each file, as `*.LEGAL.txt`.
    """
    if not (modules := entries()):
        return
    options = ["--bundle", "--splitting", "--format=esm", "--minify", "--target=es2022"]
    names = ["--chunk-names=shared-[hash]", "--legal-comments=linked", "--charset=utf8"]
    command = ["node", ESBUILD, *modules, *options, *names, f"--outdir={target}"]
    run([*command, "--log-level=warning"], "bundling site/components")
