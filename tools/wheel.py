"""Step that builds the wheel of this checkout if its sources have changed."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from tools.common import ROOT, VENV_PYTHON, fail, fingerprint, run, step, without

FOLDER = ROOT / "dist"
BRIDGE = ROOT / "js_bridge" / "webnn" / "bridge.js"
SOURCES = (ROOT / "webnnm", ROOT / "js_bridge", ROOT / "pyproject.toml")


def current() -> Path:
    """Return the path of the most recently built wheel."""
    wheels = sorted(FOLDER.glob("webnnm-*-py3-none-any.whl"), key=lambda path: path.stat().st_mtime)
    if not wheels:
        fail("there is no wheel in dist/: run `make wheel`.")
    return wheels[-1]


def record_line(name: str, content: bytes) -> str:
    """Return the entry of a file in a wheel's RECORD."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}\n"


def build() -> Path:
    """Build dist/webnnm-…-py3-none-any.whl and return its path."""
    if not BRIDGE.exists():
        fail("js_bridge/webnn/bridge.js is missing, so the wheel would not run in a browser.")
    key = fingerprint([path for path in SOURCES if path.exists()])
    with step("wheel", key, FOLDER) as needed:
        if needed or not list(FOLDER.glob("webnnm-*-py3-none-any.whl")):
            folder = without(FOLDER, "webnnm-*.whl")
            # hatchling is in .venv already: an isolated build would download it once more.
            command = [VENV_PYTHON, "-m", "build", "--wheel", "--no-isolation"]
            run([*command, "--outdir", folder, ROOT], "building the wheel")
    return current()
