"""docs/architecture.md shows the packages as they are, and names modules that exist."""

from __future__ import annotations

import re

from tools import architecture
from tools.common import ROOT


def test_packages_are_drawn() -> None:
    drawn = architecture.diagram()
    assert "graph --> ops" in drawn and "diagram --> model" in drawn
    assert "cli --> core" not in drawn, "what is reached by way of others is left out"


def test_modules_that_are_named_exist() -> None:
    names = set(re.findall(r"\b[a-z_]+/[a-z_/]+\.(?:py|js)\b", architecture.PAGE.read_text()))
    assert len(names) > 10
    assert [n for n in names if not ((ROOT / "webnnm" / n).exists() or (ROOT / n).exists())] == []
