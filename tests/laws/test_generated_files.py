"""The generated files say what the source says."""

from __future__ import annotations

from tools import generated
from tools.common import ROOT


def test_generated_files_are_up_to_date() -> None:
    old = [path.relative_to(ROOT).as_posix() for path in generated.stale()]
    assert old == [], f"run `make documents`, which writes {', '.join(old)}"


def test_documents_and_grammars_are_generated() -> None:
    names = {path.name for path in generated.files()}
    assert {"api.md", "rules.md", "webnnm.tmLanguage.json"} <= names
