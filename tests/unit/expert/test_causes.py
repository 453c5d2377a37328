"""Findings that another one explains are notes, and only causes advise."""

from __future__ import annotations

from graphlib import TopologicalSorter
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pytest

from webnnm import IrisDataset, NNModel
from webnnm.core.finding import Finding
from webnnm.expert.causes import attribute_symptoms
from webnnm.expert.review import drop_contradictions
from webnnm.expert.rules.registry import RULES

if TYPE_CHECKING:
    from webnnm.core.finding import Severity

TEXT = (
    "m:input shape=[4]; m:output shape=[3];"
    "m:layers matmul(w, shape=[8]), add(b), relu(), matmul(v), add(c), softmax();"
)


def find(id: str, severity: Severity = "warning", **more: Any) -> Finding:
    return Finding(id=id, severity=severity, message=id, **more)


def test_what_rules_explain_are_rules_and_no_rule_explains_itself() -> None:
    consequences = {id: rule.explains for id, rule in RULES.items()}
    assert set().union(*consequences.values()) <= RULES.keys()
    TopologicalSorter(consequences).prepare()  # raises CycleError


def test_a_cause_explains_what_its_consequences_explain() -> None:
    date, scale, chance = attribute_symptoms([find("E634"), find("E603"), find("E902")])
    assert date.explains == ("E603", "E902")
    assert (scale.explained_by, chance.explained_by) == (("E634",), ("E634",))
    assert [one.severity for one in (date, scale, chance)] == ["warning", "info", "info"]
    assert chance.advice == ["probably because of E634"]


def test_a_symptom_may_have_several_causes() -> None:
    *_, stuck = attribute_symptoms([find("E324"), find("E603"), find("E901")])
    assert stuck.explained_by == ("E324", "E603")


def test_a_cause_is_as_severe_as_its_worst_symptom() -> None:
    (few, *_) = attribute_symptoms([find("E608", "advice"), find("E906")])
    assert few.severity == "warning"


def test_information_is_no_cause_and_errors_are_no_symptoms() -> None:
    findings = [find("E324", "info"), find("E901")]
    assert attribute_symptoms(findings) == findings
    findings = [find("E634"), find("E603", "error")]
    assert attribute_symptoms(findings) == findings
    findings = [find("E324", failed=True), find("E901")]
    assert attribute_symptoms(findings) == findings


def test_earlier_causes_are_returned_if_they_explain_something_new() -> None:
    earlier = [find("E102"), find("E404"), find("E607", "advice")]
    assert [one.id for one in attribute_symptoms([find("E902")], earlier)] == [
        "E902",
        "E102",
        "E404",
    ]
    assert attribute_symptoms([find("E921")], earlier) == [find("E921")]


def test_attribution_is_idempotent() -> None:
    once = attribute_symptoms([find("E608", "advice"), find("E906"), find("E902")])
    assert attribute_symptoms(once) == once


def test_symptoms_contradict_no_cause() -> None:
    fast, slow = find("E305"), find("E904")  # lower lr, raise lr
    assert [one.id for one in drop_contradictions([fast, slow])] == ["E305"]
    both = drop_contradictions(attribute_symptoms([fast, slow]))
    assert [(one.id, one.explained_by) for one in both] == [("E305", ()), ("E904", ("E305",))]


def test_no_two_findings_advise_the_opposite() -> None:
    findings = [find(id) for id in RULES]
    advising = drop_contradictions(attribute_symptoms(findings))
    rules = [RULES[one.id] for one in advising if not one.explained_by]
    assert not [(a.id, b.id) for a, b in combinations(rules, 2) if a.contradicts(b)]


async def test_a_training_ends_with_what_to_change() -> None:
    pytest.importorskip("numpy")
    said: list[str] = []
    iris = await IrisDataset.create()
    model = await NNModel.create(source=TEXT, dataset=iris, backend="numpy", log=said.append)
    history = await model.train(lr=1e-6, epochs=30)
    lines = [line for line in said if "E901" in line]
    assert "3 notes: history.findings has them" in said
    assert "E324 explains E901, E902, E925 → Raise lr to near the optimizer's default." in lines
    assert str(history.findings).startswith("warning E324")
    (stuck,) = [one for one in model.review(history) if one.id == "E901"]
    assert stuck.explained_by == ("E324", "E603")
    model.close()
