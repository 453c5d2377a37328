"""The program of docs/foreign-weights.md runs, and gives what it says."""

from __future__ import annotations

import doctest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def test_examples_run() -> None:
    guide = ROOT / "docs" / "foreign-weights.md"
    result = doctest.testfile(str(guide), module_relative=False)
    assert result.attempted > 15
    assert result.failed == 0
