"""Which findings come first, and that no two of them give contradictory advice."""

from __future__ import annotations

import re
from itertools import permutations
from typing import TYPE_CHECKING

import pytest

from tests.unit.expert.cases import (
    SETTINGS,
    TWO,
    ScoutingFacts,
    data,
    facts,
    find_long_numbers,
)
from tests.unit.expert.test_data_rules import CASES as DATA_CASES
from tests.unit.expert.test_structure_rules import CASES as STRUCTURE_CASES
from tests.unit.expert.test_structure_rules import Case
from tests.unit.expert.test_training_rules import CASES as TRAINING_CASES
from webnnm.core.finding import Finding
from webnnm.expert.review import drop_contradictions, review
from webnnm.expert.rules.registry import APPLIED_WHEN, RULES
from webnnm.trainer.review import MAX_SHOWN, Review, summarize_findings
from webnnm.training.settings import HYPERPARAMETERS, Settings

if TYPE_CHECKING:
    from webnnm.core.finding import Severity

CASES = [*STRUCTURE_CASES, *DATA_CASES, *TRAINING_CASES]
OPPOSED = [pair for pair in permutations(RULES, 2) if RULES[pair[0]].contradicts(RULES[pair[1]])]
DECIDES = " to decide yourself."
LAZY = [case for case in CASES if RULES[case.id].test.__module__.rpartition(".")[2] in APPLIED_WHEN]


def found(id: str, severity: Severity = "warning", confidence: float = 0.9) -> Finding:
    """Return a finding of a rule."""
    return Finding(id=id, severity=severity, message=id, confidence=confidence)


def test_the_most_serious_and_surest_findings_come_first() -> None:
    findings = [
        found("E301", "info"),
        found("E403", confidence=0.6),
        found("E303"),
        found("E103", "error"),
        found("E405", "advice"),
    ]
    ranked = Review(findings=findings, settings=Settings(), origins={}).ranked
    assert [one.id for one in ranked] == ["E103", "E303", "E403", "E405", "E301"]


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_numbers_have_as_many_digits_as_a_reader_needs(case: Case) -> None:
    hit = RULES[case.id].test(case.before)
    assert hit is not None
    assert find_long_numbers(f"{hit.message} {hit.remedy or RULES[case.id].remedy}") == []


def test_three_findings_are_shown_and_the_others_are_named() -> None:
    ids = ["E303", "E305", "E308", "E404", "E405"]
    lines = summarize_findings([*map(found, ids), found("E111", "info")])
    assert lines == [
        *(f"warning {id}: {id}" for id in ids[:MAX_SHOWN]),
        "more E404, E405; 1 note: history.findings has them",
    ]


def test_errors_are_shown_however_many_there_are() -> None:
    ids = ["E103", "E207", "E311", "E605", "E803"]
    assert summarize_findings(found(id, "error") for id in ids) == [
        f"error {id}: {id}" for id in ids
    ]


def test_a_finding_says_what_a_training_would_be_given() -> None:
    text = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), softmax();"
    known = facts(text, {"lr": 5.0, "optimizer": "sgdm"})
    (fast,) = [one for one in review(known).findings if one.id == "E305"]
    assert fast.fix == {"lr": Settings(optimizer="sgdm").resolve().lr}
    assert Finding.from_dict(fast.to_dict()) == fast


def test_some_remedies_would_contradict_each_other() -> None:
    assert ("E305", "E702") in OPPOSED


@pytest.mark.parametrize(("first", "second"), OPPOSED)
def test_the_more_important_of_two_contradictory_remedies_is_given(first: str, second: str) -> None:
    certain, unsure = found(first, confidence=0.8), found(second, confidence=0.4)
    assert (
        drop_contradictions([certain, unsure])
        == drop_contradictions([unsure, certain])
        == [certain]
    )


def test_a_rate_is_not_called_too_high_and_too_low_at_once() -> None:
    lion = {"optimizer": "rlion", "lr": 1.0, "epochs": 2}
    known = data({**SETTINGS, **lion}, sizes={"training": 40}, batch_size=20)
    assert RULES["E305"].test(known) and RULES["E702"].test(known)
    ids = [one.id for one in review(known).findings]
    assert "E305" in ids and "E702" not in ids


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_a_remedy_that_names_a_hyperparameter_sets_it_or_says_the_direction(case: Case) -> None:
    rule, hit = RULES[case.id], RULES[case.id].test(case.before)
    assert hit is not None
    remedy = hit.remedy or rule.remedy
    if remedy.endswith(DECIDES) or rule.severity == "info":
        return
    said = r"\b(?:[Ll]ower|[Rr]aise|[Ss]et|larger|smaller) {0}\b|\b{0}="
    words = {name for name in HYPERPARAMETERS if re.search(said.format(name), remedy)}
    assert words <= {*hit.fix, *hit.changes, *rule.lowers, *rule.raises}
    assert set(hit.fix) <= HYPERPARAMETERS.keys()


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_a_fix_moves_settings_in_the_direction_of_its_rule(case: Case) -> None:
    rule, hit = RULES[case.id], RULES[case.id].test(case.before)
    assert hit is not None
    for name, value in hit.fix.items():
        present = getattr(case.before.settings, name)
        if isinstance(present, (float, int)) and not isinstance(present, bool):
            assert name not in rule.lowers or value < present
            assert name not in rule.raises or value > present


def test_losses_that_differ_are_told_without_weights_as_with_fixed_ones() -> None:
    losses = ScoutingFacts(initial_losses={"a": 30.0, "b": 1.0})
    two = TWO.format(kind="")
    assert RULES["E502"].test(facts(two, {"loss_weights": "off"}, scouting=losses)) is not None
    assert RULES["E502"].test(facts(two, {"loss_weights": "uncertainty"}, scouting=losses)) is None


@pytest.mark.parametrize("case", LAZY, ids=[case.id for case in LAZY])
def test_a_rule_that_speaks_is_among_those_that_are_asked(case: Case) -> None:
    module = RULES[case.id].test.__module__.rpartition(".")[2]
    assert APPLIED_WHEN[module](case.before)
