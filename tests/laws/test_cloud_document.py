"""The programs of docs/cloud.md run, and give what they say."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


def test_examples_run(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jax", reason="docs/cloud.md needs JAX")
    monkeypatch.chdir(ROOT)
    result = doctest.testfile(str(ROOT / "docs" / "cloud.md"), module_relative=False)
    assert result.attempted > 10
    assert result.failed == 0
