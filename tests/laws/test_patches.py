"""Tests hand in what they vary: none of them replaces a constant of the package."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent.parent
METHODS = ("setattr", "delattr", "setitem", "delitem")
SUSPECT = re.compile(r"\b(?:set|del)(?:attr|item)\(|\.[A-Z][A-Z_\d]+ = ")
ALLOWED = {
    ("tests/tools/test_locks.py", "NEIGHBOUR"): "where the machine may have wheels of Pyodide",
    ("tests/tools/test_locks.py", "NUMPY_BUILDS"): "a wheel that the test makes",
    ("tests/unit/cli/test_new.py", "RECORD"): "the file that only wheels of a release contain",
    ("tests/unit/expert/test_failing.py", "DECLARED"): "a rule of the package that fails",
    ("tests/unit/expert/test_failing.py", "APPLIED_WHEN"): "a group of facts that fails",
}
"""File and constant → what of its environment, or which failure, the test stands in for."""


def find_replaced_constants(source: str) -> Iterator[str]:
    """Yield the names of the constants that a test replaces or changes in place."""
    if not SUSPECT.search(source):  # parsing all tests would take seconds
        return
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(attr=attr), args=[target, *more]) if attr in METHODS:
                yield from filter(_is_constant, _names(attr, target, more))
            case ast.Call(func=ast.Name("setattr"), args=[_, ast.Constant(str(name)), _]):
                yield from filter(_is_constant, [name])
            case ast.Assign(targets=[ast.Attribute(ast.Name(), name)]):
                yield from filter(_is_constant, [name])
            case _:
                pass


def _names(method: str, target: ast.expr, more: list[ast.expr]) -> Iterator[str]:
    """Yield what a call of `monkeypatch` may replace."""
    if method in ("setitem", "delitem"):
        yield ast.unparse(target).rpartition(".")[2]
    elif isinstance(target, ast.Constant):
        yield str(target.value).rpartition(".")[2]
    elif more and isinstance(more[0], ast.Constant):
        yield str(more[0].value)


def _is_constant(name: str) -> bool:
    return name.isupper() and len(name) > 1


def test_no_test_replaces_a_constant() -> None:
    """Give the code an argument with the constant as its default, or the test the real situation.

    `webnnm/backends/budget.py` has what a device is given at a time. What the environment of a
    program decides can be replaced: variables, the working directory, `sys.platform`, packages.
    """
    found = {
        (path.relative_to(TESTS.parent).as_posix(), name)
        for path in sorted(TESTS.rglob("*.py"))
        for name in find_replaced_constants(path.read_text(encoding="utf-8"))
    }
    assert sorted(found - ALLOWED.keys()) == []
    assert sorted(ALLOWED.keys() - found) == [], "these are replaced no more"


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ('monkeypatch.setattr("webnnm.trainer.feed.MOST_ROWS", 3)', ["MOST_ROWS"]),
        ('patch.setattr(module, "MOST_ROWS", 3)', ["MOST_ROWS"]),
        ('monkeypatch.setitem(rules.RULES, "E101", None)', ["RULES"]),
        ('monkeypatch.setitem(sys.modules, "jax", None)', []),
        ('setattr(module, "MOST_ROWS", 3)', ["MOST_ROWS"]),
        ("module.MOST_ROWS = 3", ["MOST_ROWS"]),
        ('monkeypatch.setattr(sys, "platform", "emscripten")', []),
        ('monkeypatch.setenv("PATH", "")', []),
    ],
)
def test_replaced_constants_are_found(source: str, names: list[str]) -> None:
    assert list(find_replaced_constants(source)) == names
