"""docs/architecture.md shows the packages as they are, and names modules that exist."""

from __future__ import annotations

import re

import pytest

from tools import architecture
from tools.common import ROOT

NAMED = sorted(set(re.findall(r"\b[a-z_]+/[a-z_/]+\.(?:py|js)\b", architecture.PAGE.read_text())))


def test_packages_are_drawn() -> None:
    drawn = architecture.diagram()
    assert "graph --> ops" in drawn and "diagram --> model" in drawn
    assert "cli --> core" not in drawn, "what is reached by way of others is left out"


@pytest.mark.parametrize("name", NAMED)
def test_a_module_that_is_named_exists(name: str) -> None:
    assert (ROOT / "webnnm" / name).exists() or (ROOT / name).exists()
