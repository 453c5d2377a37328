"""docs/expert.md says what the rules say, and every rule says when it holds."""

from __future__ import annotations

import pytest

from tools import expert
from webnnm.cli.explain import explanation
from webnnm.expert.rules import RULES


def test_page_is_current() -> None:
    assert expert.PAGE.read_text() == expert.page(), "`python -m tools.expert` writes it anew"
    assert expert.RULES_PAGE.read_text() == expert.rules_page()


@pytest.mark.parametrize("id", RULES)
def test_a_rule_says_when_it_holds(id: str) -> None:
    assert expert.condition(RULES[id]).endswith(".")


@pytest.mark.parametrize("id", RULES)
def test_a_rule_is_explained(id: str) -> None:
    found = explanation(RULES[id])
    assert found.reasons, "what it looks at, and why its threshold is what it is"
    assert found.ignore.endswith(".")
    speaks = "NNM708" if id == "E311" else id  # it ends the training
    assert speaks in found.example, "an example of which it speaks, which test_docstrings runs"
