"""Runs a measurement of bench/ that needs scikit-learn, in a virtual environment of its own."""

from __future__ import annotations

import os
import subprocess
import sys

from tools.common import CACHE, ROOT, fingerprint, run, step

REQUIREMENTS = ("scikit-learn>=1.6,<2", "numpy>=2.1,<3")
VENV = CACHE / "quality" / "venv"
PYTHON = VENV / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
USAGE = "usage: python3 -m tools.quality [quality | learning_rates] [arguments]"


def install() -> None:
    """Install scikit-learn unless it is there; nothing else of the checkout needs it."""
    key = fingerprint([], *REQUIREMENTS, sys.version, str(ROOT))
    with step("quality", key, PYTHON) as needed:
        if needed:
            run([sys.executable, "-m", "venv", "--clear", VENV], "creating .cache/quality/venv")
            pip = [PYTHON, "-m", "pip"]
            run([*pip, "install", "--quiet", *REQUIREMENTS], "installing scikit-learn")


def main() -> None:
    """Install what is needed, then run the measurement."""
    name, *arguments = sys.argv[1:] or [""]
    if name not in ("quality", "learning_rates"):
        raise SystemExit(USAGE)
    install()
    command = [str(PYTHON), "-m", f"bench.{name}", *arguments]
    found = os.environ | {"PYTHONPATH": str(ROOT)}
    raise SystemExit(subprocess.run(command, cwd=ROOT, env=found, check=False).returncode)


if __name__ == "__main__":
    main()
