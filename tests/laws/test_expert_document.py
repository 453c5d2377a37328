"""docs/expert.md says what the rules say, and every rule says when it holds."""

from __future__ import annotations

import pytest

from tools import expert
from webnnm.expert.rules import RULES


def test_page_is_current() -> None:
    assert expert.PAGE.read_text() == expert.page(), "`python -m tools.expert` writes it anew"


@pytest.mark.parametrize("id", RULES)
def test_a_rule_says_when_it_holds(id: str) -> None:
    assert expert.condition(RULES[id]).endswith(".")
