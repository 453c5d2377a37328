"""Step that builds the static site: pages, vendored runtimes and the wheel."""

from __future__ import annotations

import shutil

from tools import page_wheel, pyodide, wheel
from tools.common import DISTRIBUTION, NODE_MODULES, ROOT, SITE, fingerprint, step

PAGES = ROOT / "site"
VENDOR = SITE / "vendor"
BRIDGE = ROOT / "js_bridge"
DIGITS = ROOT / "tests" / "data" / "digits.csv.gz"


def vendor_pyscript() -> None:
    """Copy PyScript without source maps and the large parts that only its editor loads."""
    unused = shutil.ignore_patterns("*.map", "codemirror*", "xterm*")
    shutil.copytree(NODE_MODULES / "@pyscript/core/dist", VENDOR / "pyscript", ignore=unused)


def vendor_bridge() -> None:
    """Copy the modules that pages register where their policy forbids to make them from texts."""
    shutil.copytree(BRIDGE, VENDOR / "webnnm", ignore=shutil.ignore_patterns("*.d.ts"))


def vendor_chart() -> None:
    """Copy the chart library as one ES module with its style sheet."""
    target = VENDOR / "uplot"
    target.mkdir(parents=True)
    source = NODE_MODULES / "uplot"
    shutil.copy2(source / "dist" / "uPlot.esm.js", target / "uPlot.esm.js")
    shutil.copy2(source / "dist" / "uPlot.min.css", target / "uPlot.min.css")
    shutil.copy2(source / "LICENSE", target / "LICENSE")


def build() -> None:
    """Build build/site from scratch when anything in it has changed."""
    built = page_wheel.current()
    inputs = [path for path in (PAGES, BRIDGE, *built, ROOT / "package-lock.json") if path.exists()]
    inputs += [DISTRIBUTION / "pyodide-lock.json", DIGITS, ROOT / "tools" / "build_site.py"]
    with step("site", fingerprint(inputs), VENDOR / "pyodide") as needed:
        if needed:
            shutil.rmtree(SITE, ignore_errors=True)
            if PAGES.exists():
                shutil.copytree(PAGES, SITE)
            else:
                SITE.mkdir(parents=True)
            shutil.copy2(DIGITS, SITE / DIGITS.name)
            vendor_pyscript()
            vendor_chart()
            vendor_bridge()
            pyodide.write_distribution(VENDOR / "pyodide", pyodide.page_wheels(built))
            whole = wheel.current()
            shutil.copy2(whole, SITE / whole.name)
