"""Step that unpacks the bundled Chromium with the libraries a bare machine lacks."""

from __future__ import annotations

import json
import os
import platform
import shutil
import tarfile
from pathlib import Path

from tools.common import CACHE, NODE_MODULES, fail, run, step

FOLDER = CACHE / "chromium"
PACKAGE = NODE_MODULES / "@sparticuz" / "chromium"
ARCHIVES = ("chromium.br", "al2023.tar.br", "swiftshader.tar.br", "fonts.tar.br")

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

# The package's own file names folders of the service for which it was made.
FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir prefix="relative">fonts</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir>{cache}</cachedir>
</fontconfig>
"""


def executable() -> Path:
    """Return the Chromium to drive: WEBNNM_CHROMIUM, else the bundled one."""
    return Path(os.environ.get("WEBNNM_CHROMIUM") or FOLDER / "chromium")


def environment() -> dict[str, str]:
    """Return environment variables for the Chromium process only."""
    if os.environ.get("WEBNNM_CHROMIUM"):
        return dict(os.environ)
    paths = [str(FOLDER / "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
    return {
        **os.environ,
        "LD_LIBRARY_PATH": ":".join(path for path in paths if path),
        "FONTCONFIG_PATH": str(FOLDER),
    }


def unpack() -> None:
    """Unpack Chromium, its libraries, software renderer and fonts into the cache."""
    if os.environ.get("WEBNNM_CHROMIUM"):
        if not executable().exists():
            fail(f"WEBNNM_CHROMIUM names {executable()}, which does not exist.")
        return
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        fail(
            "the bundled Chromium is for Linux on x86-64: set WEBNNM_CHROMIUM to the path "
            "of a Chromium, version 147 or newer."
        )
    version = json.loads((PACKAGE / "package.json").read_text())["version"]
    with step("chromium", version, FOLDER / "chromium", FOLDER / "lib") as needed:
        if needed:
            shutil.rmtree(FOLDER, ignore_errors=True)
            FOLDER.mkdir(parents=True)
            source = PACKAGE / "bin"
            run(["node", "-e", DECOMPRESS, source, FOLDER, *ARCHIVES], "unpacking Chromium")
            for archive in FOLDER.glob("*.tar"):
                with tarfile.open(archive) as opened:
                    # Extraction filters came with Python 3.11.4, Debian 12 has 3.11.2.
                    if hasattr(tarfile, "data_filter"):
                        opened.extraction_filter = tarfile.data_filter
                    opened.extractall(FOLDER)
                archive.unlink()
            fonts = FONTS.format(cache=FOLDER / "font-cache")
            (FOLDER / "fonts.conf").write_text(fonts)
            (FOLDER / "chromium").chmod(0o755)
