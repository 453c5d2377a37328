"""Every optimizer is compared with its formula, and with a training of another implementation."""

from __future__ import annotations

from pathlib import Path

import pytest

from webnnm.training.optimizers import OPTIMIZERS

FORMULAS = "tests/unit/training/test_optimizers.py"
TRAININGS = "tests/parity/training/runs.py"


@pytest.mark.parametrize("path", [FORMULAS, TRAININGS])
def test_every_optimizer_is_in_the_tests(root: Path, path: str) -> None:
    text = (root / path).read_text(encoding="utf-8")
    names = {optimizer.name for optimizer in OPTIMIZERS.values()}
    missing = sorted(name for name in names if f'"{name}"' not in text)
    assert not missing, f"compare these in {path}"
