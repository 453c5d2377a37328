"""SECURITY.md lists promises, each with the name of a test that exists."""

from __future__ import annotations

import re

from tools.common import ROOT

ROWS = re.findall(r"^\| (?!Promise|-)(.+?) \| (.+?) \|$", (ROOT / "SECURITY.md").read_text(), re.M)


def test_there_are_promises() -> None:
    assert len(ROWS) > 15
    assert len({promise for promise, _ in ROWS}) == len(ROWS)


def test_promises_have_tests() -> None:
    missing: list[str] = []
    for promise, tests in ROWS:
        names = re.findall(r"`(\S+?)::(\w+)`", tests)
        if not names:
            missing.append(promise)
        for file, name in names:
            text = (ROOT / file).read_text(encoding="utf-8") if (ROOT / file).exists() else ""
            if not re.search(rf"^(?:async )?def {name}\(", text, re.M):
                missing.append(f"{file}::{name}")
    assert missing == []
