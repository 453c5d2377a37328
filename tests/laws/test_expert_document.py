"""docs/expert.md says what the rules say."""

from __future__ import annotations

import doctest

from tools import expert


def test_page_is_current() -> None:
    assert expert.PAGE.read_text() == expert.page(), "`python -m tools.expert` writes it anew"


def test_examples_of_the_tool_run() -> None:
    assert doctest.testmod(expert).failed == 0
