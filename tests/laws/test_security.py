"""SECURITY.md lists promises, each with the name of a test that exists."""

from __future__ import annotations

import ast
import re

import pytest

from tools.common import ROOT

ROWS = re.findall(r"^\| (?!Promise|-)(.+?) \| (.+?) \|$", (ROOT / "SECURITY.md").read_text(), re.M)


def test_there_are_promises() -> None:
    assert len(ROWS) > 15
    assert len({promise for promise, _ in ROWS}) == len(ROWS)


@pytest.mark.parametrize(("promise", "tests"), ROWS)
def test_promises_have_tests(promise: str, tests: str) -> None:
    names = re.findall(r"`(\S+?)::(\w+)`", tests)
    assert names, promise
    for file, name in names:
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        functions = (ast.FunctionDef, ast.AsyncFunctionDef)
        assert name in {node.name for node in ast.walk(tree) if isinstance(node, functions)}, file
