"""Runs unit tests with the Python of `pyodide venv`; the arguments are pytest's."""

from __future__ import annotations

import os
import sys

import pytest

from tests.browser.unit_runner import Report


def main(arguments: list[str]) -> int:
    """Run unit tests outside the checkout's configuration, whose plugins are not made for Pyodide.

    The package is the one that is installed if the checkout's is out of the way.
    """
    from pyodide.ffi import can_run_sync

    report = Report(blocking=can_run_sync(), numpy=True)
    options = ["-c", os.devnull, "--rootdir", ".", "--import-mode=importlib", "-pno:cacheprovider"]
    code = pytest.main([*options, "-m", "not slow and not desktop", *arguments], plugins=[report])
    print(report.counts)
    return int(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
