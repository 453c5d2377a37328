"""Each module says in one sentence what it is for, and is used."""

from __future__ import annotations

import ast
import re

from tools.common import ROOT
from tools.imports import MODULES, imports, name_of, parse


def test_modules_say_what_they_are_for() -> None:
    assert len(MODULES) > 500
    first = {path: (ast.get_docstring(parse(path)) or "").split("\n")[0] for path in MODULES}
    wrong = [name_of(path) for path, line in first.items() if not line.endswith(".")]
    assert wrong == [], "the first line of their docstrings is not a sentence"


def test_every_module_is_used() -> None:
    """A module that is in no list, and that no other and no page imports, is forgotten."""
    imported = {each.name for path in MODULES for each in imports(path)}
    modules = [path for path in MODULES if path.name not in ("__init__.py", "__main__.py")]
    unused = [path for path in modules if f"webnnm.{name_of(path)}" not in imported]
    package = "\n".join(path.read_text(encoding="utf-8") for path in MODULES)
    names = set(re.findall(r"[\"'](?:\w+\.)*(\w+)[\"']", package))  # modules in a list
    pages = [*(ROOT / "site").glob("*.py"), *(ROOT / "js_bridge" / "page").glob("*.js")]
    for path in pages:
        names |= set(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    forgotten = sorted(name_of(path) for path in unused if path.stem not in names)
    todo = "import it, or add it to the list of its package (CONTRIBUTING.md says where things go)"
    assert "".join(f"webnnm.{name} is not used: {todo}\n" for name in forgotten) == ""
