"""Each module says in one sentence what it is for."""

from __future__ import annotations

import ast

from tools.imports import MODULES, name_of, parsed


def test_modules_say_what_they_are_for() -> None:
    assert len(MODULES) > 500
    first = {path: (ast.get_docstring(parsed(path)) or "").split("\n")[0] for path in MODULES}
    wrong = [name_of(path) for path, line in first.items() if not line.endswith(".")]
    assert wrong == [], "the first line of their docstrings is not a sentence"
