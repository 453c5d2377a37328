"""docs/errors.md says what codes mean: those that are raised, and no others."""

from __future__ import annotations

import doctest

from tools import errors
from webnnm.cli.error_meanings import GROUPS, MEANINGS


def raise_error() -> set[str]:
    return {place.code for place in errors.find_raises()}


def test_every_code_that_is_raised_has_a_meaning() -> None:
    assert sorted(raise_error() - MEANINGS.keys()) == []


def test_every_meaning_is_that_of_a_code_that_is_raised() -> None:
    assert sorted(MEANINGS.keys() - raise_error()) == []


def test_every_code_that_the_source_mentions_has_a_meaning() -> None:
    found = {
        code
        for path in errors.PACKAGE.rglob("*.py")
        for code in errors.CODE.findall(path.read_text())
    }
    assert sorted(found - MEANINGS.keys()) == []


def test_every_code_stands_in_a_group_and_in_order() -> None:
    assert list(MEANINGS) == sorted(MEANINGS)
    assert {code[3] for code in MEANINGS} == set(GROUPS)


def test_examples_of_the_tool_run() -> None:
    assert doctest.testmod(errors).failed == 0
