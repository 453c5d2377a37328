"""Runs the test suite of the array API standard, from a checkout of yours, on `webnnm.xp`.

git clone --recursive https://github.com/data-apis/array-api-tests
make array-api SUITE=array-api-tests
make array-api SUITE=array-api-tests ARGS="--on webnn"

Without `--on` it runs on NumPy, otherwise on a backend of a page in Chromium.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tools.common import ROOT, VENV_PYTHON, fail
from tools.environment import python_with

LACKING = ("fft",)
"""Extensions of the standard that take complex numbers."""


def main() -> None:
    """Run the suite in the folder given by the first argument."""
    suite = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else Path()
    if not (suite / "array_api_tests").is_dir():
        fail("make array-api SUITE=path: a checkout of github.com/data-apis/array-api-tests")
    python = python_with("array-api")
    given = sys.argv[2:]
    options = ["array_api_tests", "--disable-deadline", "--disable-extension", *LACKING]
    if "--on" in given:
        at = given.index("--on")
        backend, rest = given[at + 1], given[:at] + given[at + 2 :]
        (packages,) = python.parents[1].glob("lib/python*/site-packages")
        page = [VENV_PYTHON, "-m", "tests.array_api.in_page", suite, packages, backend]
        raise SystemExit(subprocess.run([*page, *options, *rest], cwd=ROOT, check=False).returncode)
    command = [python, "-m", "pytest", "-p", "tests.array_api.plugin", *options]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(suite)])}
    ran = subprocess.run(
        [*command, "--disable-warnings", "-q", *given], cwd=suite, check=False, env=environment
    )
    raise SystemExit(ran.returncode)


if __name__ == "__main__":
    main()
