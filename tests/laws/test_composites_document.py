"""The examples of docs/composites.md run, and give what it says."""

from __future__ import annotations

import doctest
from pathlib import Path

from webnnm import ops

GUIDE = Path(__file__).resolve().parent.parent.parent / "docs" / "composites.md"


def test_examples_run() -> None:
    before = set(ops.registry())
    try:
        result = doctest.testfile(str(GUIDE), module_relative=False)
    finally:
        for name in set(ops.registry()) - before:
            ops.unregister(name)
    assert result.attempted > 20
    assert result.failed == 0
