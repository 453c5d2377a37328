"""The example of docs/stablehlo.md runs, and gives the module that it shows."""

from __future__ import annotations

import doctest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def test_examples_run() -> None:
    result = doctest.testfile(str(ROOT / "docs" / "stablehlo.md"), module_relative=False)
    assert result.attempted > 3
    assert result.failed == 0
