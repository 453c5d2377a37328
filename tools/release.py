"""Step that builds the published files: the wheel, and the npm package that runs it in pages."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile

from tools import build_site, wheel
from tools.common import (
    NPM_INSIDE,
    ROOT,
    SITE,
    fail,
    fingerprint,
    run,
    say,
    step,
)
from tools.new_pages import SCRIPTS, SOURCES, licenses
from webnnm.cli import runtime_package

FOLDER = ROOT / "build" / "release"
RECORD = "webnnm/cli/runtime.json"


class Release(NamedTuple):
    """The files that are published."""

    wheel: Path
    runtime: Path


def build() -> Release:
    """Build both from the wheel and the site, which must exist."""
    desktop_wheel = wheel.current()
    release = Release(FOLDER / desktop_wheel.name, FOLDER / runtime_package.ARCHIVE)
    vendor = SITE / "vendor"
    if not vendor.exists():
        fail("build/site does not exist: run `make release`, which builds it.")
    recipe = ROOT / "tools" / "release.py"
    with step(
        "release", fingerprint([desktop_wheel, vendor, SOURCES, *SCRIPTS, recipe]), *release
    ) as needed:
        if needed:
            shutil.rmtree(FOLDER, ignore_errors=True)
            assemble(FOLDER / "package")
            command = ["npm", "pack", FOLDER / "package", "--pack-destination", FOLDER]
            run([*command, "--ignore-scripts", *NPM_INSIDE], "npm pack")
            shutil.rmtree(FOLDER / "package")
            integrity = runtime_package.integrity_of(release.runtime.read_bytes())
            write_wheel(desktop_wheel, release.wheel, integrity)
    return release


def assemble(target: Path) -> None:
    """Write the folder of the npm package."""
    version = runtime_package.VERSION
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        fail(f"npm does not accept version {version}: give webnnm a version of three numbers.")
    shutil.copytree(SOURCES, target, ignore=shutil.ignore_patterns("__pycache__"))
    # Smaller copies for servers; a copy for old clients would only make the package larger.
    shutil.copytree(build_site.VENDOR, target / "vendor", ignore=shutil.ignore_patterns("*.gz"))
    for script in SCRIPTS:
        shutil.copy2(script, target / script.name)
    shutil.copy2(ROOT / "LICENSE", target / "LICENSE")
    for name, text in licenses().items():
        (target / "licenses" / name).write_text(text, encoding="utf-8")
    facts = json.loads((SOURCES / "package.json").read_text())
    (target / "package.json").write_text(json.dumps({**facts, "version": version}, indent=2))
    if not list(target.glob("vendor/pyodide/numpy-*.whl")):
        say("  the release has no NumPy: pages without WebNN need ONNX Runtime (CONTRIBUTING.md)")


def write_wheel(source: Path, target: Path, integrity: str) -> None:
    """Write a wheel that contains the hash of the npm package, so that pip's users can trust it."""
    text = json.dumps({"integrity": integrity})
    with ZipFile(source) as archive, ZipFile(target, "w", ZIP_DEFLATED) as written:
        for entry in archive.infolist():
            content = archive.read(entry)
            if entry.filename.endswith(".dist-info/RECORD"):
                content = wheel.record_line(RECORD, text.encode()).encode() + content
            written.writestr(entry, content)
        written.writestr(RECORD, text)


def main() -> None:
    """Build the release, and list its files."""
    for path in build():
        say(f"{path.stat().st_size / 1e6:8.1f} MB  {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
