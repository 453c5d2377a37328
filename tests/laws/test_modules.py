"""Each module says in one sentence what it is for."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent.parent / "webnnm"

every_module = pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE))
)


@every_module
def test_module_says_what_it_is_for(path: Path) -> None:
    documentation = ast.get_docstring(ast.parse(path.read_text()))
    assert documentation, "a module begins with a docstring"
    assert documentation.splitlines()[0].endswith("."), "its first line is a sentence"
