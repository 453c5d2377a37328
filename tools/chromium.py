"""Step that unpacks the bundled Chromiums with the libraries a bare machine lacks."""

from __future__ import annotations

import json
import os
import platform
import shutil
import tarfile
from dataclasses import dataclass
from pathlib import Path

from tools.common import CACHE, NODE_MODULES, ROOT, fail, fingerprint, run, step

PACKAGES = ("@sparticuz/chromium", "chromium-second")
"""The names of the bundled Chromiums in package.json, which has their versions."""
ARCHIVES = ("chromium.br", "al2023.tar.br", "swiftshader.tar.br", "fonts.tar.br")


# With a zygote, a page with a character that no font has ends the browser.
ARGUMENTS = ("--no-zygote",)
"""What a bundled Chromium needs on its command line."""


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """An npm package with a Chromium, and the folder where it is unpacked."""

    package: Path
    folder: Path


def bundles(package_file: Path = ROOT / "package.json") -> dict[str, Bundle]:
    """Return the bundled Chromiums by major version, first the one that is driven by default."""
    packages = json.loads(package_file.read_text())["devDependencies"]
    versions = {packages[name].rpartition("@")[2].partition(".")[0]: name for name in PACKAGES}
    if len(versions) < len(PACKAGES):
        named = " and ".join(f"{name} {packages[name]}" for name in PACKAGES)
        fail(f"package.json needs Chromiums of different major versions, not {named}.")
    return {
        version: Bundle(package=NODE_MODULES / name, folder=CACHE / f"chromium-{version}")
        for version, name in versions.items()
    }


BUNDLES = bundles()
DEFAULT, SECOND = BUNDLES
"""The major versions of the Chromium that is driven by default, and of the other one."""

# Python's standard library has no brotli decoder, but Node's has.
DECOMPRESS = """
const { createReadStream, createWriteStream } = require("fs");
const { createBrotliDecompress } = require("zlib");
const { pipeline } = require("stream/promises");
const [source, target, ...names] = process.argv.slice(1);
Promise.all(names.map((name) => pipeline(
  createReadStream(`${source}/${name}`), createBrotliDecompress(),
  createWriteStream(`${target}/${name.slice(0, -3)}`),
))).catch((error) => { console.error(error); process.exit(1); });
"""

# The package's own file names folders of the service for which it was made. Without preferences,
# the machine's font whose weight is nearest is taken for "sans-serif", whatever it looks like.
FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir prefix="relative">fonts</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir>{cache}</cachedir>
  <alias><family>sans</family><prefer><family>Open Sans</family></prefer></alias>
  <alias><family>sans-serif</family><prefer><family>Open Sans</family></prefer></alias>
  <alias><family>serif</family><prefer><family>DejaVu Serif</family></prefer></alias>
  <alias><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
</fontconfig>
"""


def custom_path() -> Path | None:
    """Return the path in WEBNNM_CHROMIUM, None if it names a bundled version or nothing."""
    name = os.environ.get("WEBNNM_CHROMIUM")
    return Path(name) if name and name not in BUNDLES else None


def bundle(version: str | None = None) -> Bundle:
    """Return a bundled Chromium, by default the one that WEBNNM_CHROMIUM names."""
    return BUNDLES[version or os.environ.get("WEBNNM_CHROMIUM") or DEFAULT]


def executable(version: str | None = None) -> Path:
    """Return the Chromium to drive: the user's own, else a bundled one."""
    return custom_path() or bundle(version).folder / "chromium"


def arguments() -> tuple[str, ...]:
    """Return the arguments that a Chromium needs to start at all."""
    return () if custom_path() else ARGUMENTS


def environment(version: str | None = None) -> dict[str, str]:
    """Return environment variables for the Chromium process only."""
    if custom_path():
        return dict(os.environ)
    folder = bundle(version).folder
    paths = [str(folder / "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
    return {
        **os.environ,
        "LD_LIBRARY_PATH": ":".join(path for path in paths if path),
        "FONTCONFIG_PATH": str(folder),
    }


def unpack(version: str) -> None:
    """Unpack a Chromium, its libraries, software renderer and fonts into the cache."""
    if path := custom_path():
        if not path.exists():
            fail(f"WEBNNM_CHROMIUM names {path}, which does not exist.")
        return
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        fail(
            "the bundled Chromium is for Linux on x86-64: set WEBNNM_CHROMIUM to the path "
            "of a Chromium, version 147 or newer."
        )
    source, folder = BUNDLES[version].package, BUNDLES[version].folder
    key = fingerprint([], json.loads((source / "package.json").read_text())["version"], FONTS)
    with step(folder.name, key, folder / "chromium", folder / "lib") as needed:
        if needed:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            command = ["node", "-e", DECOMPRESS, source / "bin", folder, *ARCHIVES]
            run(command, f"unpacking Chromium {version}")
            for archive in folder.glob("*.tar"):
                with tarfile.open(archive) as opened:
                    # Extraction filters came with Python 3.11.4, Debian 12 has 3.11.2.
                    if hasattr(tarfile, "data_filter"):
                        opened.extraction_filter = tarfile.data_filter
                    opened.extractall(folder)
                archive.unlink()
            fonts = FONTS.format(cache=folder / "font-cache")
            (folder / "fonts.conf").write_text(fonts)
            (folder / "chromium").chmod(0o755)
