"""Values have the types that the sources give them: Python's and those of the bridge."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest


@pytest.mark.slow
def test_types_are_those_of_the_sources(root: Path) -> None:
    # What `make test` tells its own processes is not for this one.
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL")}
    command = ["make", "--no-print-directory", "types"]
    found = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr
