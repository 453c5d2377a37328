"""The program of docs/transfer-learning.md runs, and gives what it says."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


def test_examples_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    guide = ROOT / "docs" / "transfer-learning.md"
    result = doctest.testfile(str(guide), module_relative=False)
    assert result.attempted > 20
    assert result.failed == 0
