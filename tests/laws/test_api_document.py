"""docs/api.md says what the docstrings of the public names say."""

from __future__ import annotations

import doctest

import webnnm
from tools import api, citations


def test_every_public_name_stands_on_the_page_once() -> None:
    listed = [name for names in api.GROUPS.values() for name in names]
    assert sorted(listed) == sorted(webnnm.__all__)


def test_examples_of_the_tool_run() -> None:
    assert doctest.testmod(api).failed == 0
    assert doctest.testmod(citations).failed == 0
