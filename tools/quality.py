"""Runs a measurement of bench/ beside scikit-learn and PyTorch, in a virtual environment."""

from __future__ import annotations

import os
import subprocess
import sys

from tools.common import CACHE, ROOT, fingerprint, run, step

REQUIREMENTS = ("scikit-learn>=1.6,<2", "torch==2.13.0", "numpy>=2.1,<3")
"""On Linux, PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu offers smaller builds."""
VENV = CACHE / "quality" / "venv"
PYTHON = VENV / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
USAGE = "usage: python3 -m tools.quality [quality | learning_rates] [arguments]"


def install() -> None:
    """Install both unless they are there; nothing else of the checkout needs scikit-learn."""
    key = fingerprint([], *REQUIREMENTS, sys.version, str(ROOT))
    with step("quality", key, PYTHON) as needed:
        if needed:
            run([sys.executable, "-m", "venv", "--clear", VENV], "creating .cache/quality/venv")
            pip = [PYTHON, "-m", "pip"]
            run([*pip, "install", "--quiet", *REQUIREMENTS], "installing scikit-learn and PyTorch")


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
