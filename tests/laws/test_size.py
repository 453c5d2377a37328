"""Modules stay small, and each says in one sentence what it is for."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent.parent / "webnnm"
MOST_LINES = 400

every_module = pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE))
)


@every_module
def test_module_is_short(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MOST_LINES


@every_module
def test_module_says_what_it_is_for(path: Path) -> None:
    documentation = ast.get_docstring(ast.parse(path.read_text()))
    assert documentation, "a module begins with a docstring"
    assert documentation.splitlines()[0].endswith("."), "its first line is a sentence"
