"""docs/expert.md says what the rules say, and every rule says when it holds."""

from __future__ import annotations

from tools import expert
from webnnm.cli.explain import explanation
from webnnm.expert.rules.registry import RULES


def test_rules_say_when_they_hold() -> None:
    assert [id for id in RULES if not expert.condition(RULES[id]).endswith(".")] == []


def test_rules_say_what_they_look_at_and_when_to_ignore_them() -> None:
    explanations = {id: explanation(RULES[id]) for id in RULES}
    assert [id for id, told in explanations.items() if not told.reasons] == []
    assert [id for id, told in explanations.items() if not told.ignore.endswith(".")] == []


def test_rules_have_examples_of_which_they_speak() -> None:
    """Those of docstrings, which tests/documents runs."""
    code = {id: "NNM708" if id == "E311" else id for id in RULES}  # E311 ends the training
    assert [id for id in RULES if code[id] not in explanation(RULES[id]).example] == []
