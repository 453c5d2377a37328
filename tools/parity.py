"""Runs a module of tests/parity with the packages it compares with, in a separate environment."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tools.common import ROOT
from tools.environment import python_with

REQUIREMENTS = (
    *("torch==2.13.0", "transformers==5.23.0", "peft==0.21.0", "diffusers==0.42.1"),
    *("jax==0.10.2", "jaxlib==0.10.2", "numpy>=2.1,<3", "pytest>=8"),
    "pillow>=11,<13",  # newer ones resize pictures in another order, and round differently
)
"""On Linux, PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu offers smaller builds."""

USAGE = (
    "usage: python3 -m tools.parity [live | xla.live | arrays.live | write_fixtures] [arguments]"
)


def install() -> Path:
    """Return the Python that has the packages to compare with."""
    return python_with("parity", REQUIREMENTS)


def main() -> None:
    """Install what is needed, then run the module."""
    name, *arguments = sys.argv[1:] or [""]
    if name not in ("live", "xla.live", "arrays.live", "write_fixtures"):
        raise SystemExit(USAGE)
    command = [install(), "-m", f"tests.parity.{name}", *arguments]
    raise SystemExit(subprocess.run(command, cwd=ROOT, check=False).returncode)


if __name__ == "__main__":
    main()
