"""A rule cannot end a program, and what a review finds depends on its facts alone."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.expert.cases import Case, facts
from tests.unit.expert.test_data_rules import CASES as DATA_CASES
from tests.unit.expert.test_layer_rules import CASES as LAYER_CASES
from tests.unit.expert.test_number_rules import CASES as NUMBER_CASES
from tests.unit.expert.test_setting_rules import CASES as SETTING_CASES
from tests.unit.expert.test_structure_rules import CASES as STRUCTURE_CASES
from tests.unit.expert.test_training_rules import CASES as TRAINING_CASES
from webnnm import DataError, Dataset, NNModel
from webnnm import review as review_text
from webnnm.core.finding import Finding
from webnnm.expert.examination import examination
from webnnm.expert.review import drop_contradictions, review
from webnnm.expert.rules.failing import STRICT_VARIABLE
from webnnm.expert.rules.registry import APPLIED_WHEN, RULES, TRAINING_MODULES
from webnnm.expert.rules.rule import DECLARED
from webnnm.trainer import outcome

CASES: list[Case] = [
    *(*DATA_CASES, *LAYER_CASES, *NUMBER_CASES),
    *(*SETTING_CASES, *STRUCTURE_CASES, *TRAINING_CASES),
]
TEXT = "m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), add(b), softmax();"
ROWS = [[i % 3, i % 5, i / 7, 1.0] for i in range(40)]
POOL = (
    "m:input shape={channels:2, height:6, width:6}; m:output shape=[2]; m:layers "
    "conv2d(f, filters=4, kernel=3), relu(), maxPool2d(), flatten(), matmul(w), softmax();"
)


def fail(*_: Any, **__: Any) -> Any:
    """Stand for any part of the package that has a fault."""
    raise IndexError("tuple index out of range")


@pytest.fixture
def lenient(monkeypatch: pytest.MonkeyPatch) -> None:
    """As for users: failures of the expert system are findings."""
    monkeypatch.delenv(STRICT_VARIABLE, raising=False)


def broken(monkeypatch: pytest.MonkeyPatch, *ids: str) -> None:
    """Give rules the fault."""
    for id in ids:
        test = RULES[id].test

        def raising(*arguments: Any) -> Any:
            return fail(*arguments)

        raising.__module__ = test.__module__
        monkeypatch.setitem(DECLARED, id, replace(RULES[id], test=raising))


@pytest.mark.usefixtures("lenient")
def test_a_rule_that_fails_is_a_finding_that_asks_for_a_report(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sound = review_text(POOL, epochs=100)
    broken(monkeypatch, "E321")
    found = review_text(POOL, epochs=100)
    failed = found.finding("E321")
    assert failed.failed and failed.severity == "warning"
    assert "rule E321 of webnnm failed: IndexError: tuple index out of range" in failed.message
    assert "Report this" in failed.remedy and 'silence="E321"' in failed.remedy
    assert failed.evidence["error"] == "IndexError"
    assert Finding.from_dict(json.loads(json.dumps(failed.to_dict()))) == failed
    assert [one for one in found.findings if one != failed] == list(sound.findings)
    assert found.settings.to_dict() == sound.settings.to_dict() and "E321" in str(found)
    assert not [one for one in review_text(POOL, silence="E321").findings if one.failed]


@pytest.mark.usefixtures("lenient")
def test_rules_that_fail_alike_are_one_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, "E301", "E302", "E303")
    (failed,) = [one for one in review_text(POOL).findings if one.failed]
    assert failed.id == "E301" and failed.message.endswith("so did E302, E303")


@pytest.mark.usefixtures("lenient")
def test_a_failure_contradicts_no_advice() -> None:
    failed = Finding(id="E305", severity="warning", message="failed", failed=True)
    few = Finding(id="E702", severity="advice", message="60 steps")
    assert drop_contradictions([failed, few]) == [failed, few]


def test_in_tests_a_rule_that_fails_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, "E321")
    with pytest.raises(IndexError):
        review_text(POOL)


@pytest.mark.usefixtures("lenient")
def test_a_condition_that_fails_is_told_by_the_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(APPLIED_WHEN, "layers", fail)  # pyrefly: ignore[bad-argument-type]
    assert review_text(POOL).findings == review_text(POOL).findings


@pytest.mark.usefixtures("lenient")
@pytest.mark.parametrize("id", ["E616", "E615", "E627", "E922"])
def test_an_examination_that_fails_is_a_finding(id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    checks = examination.MEASURES if id in examination.MEASURES else examination.CHECKS
    if id == "E627":
        monkeypatch.setattr(examination, "find_unrelated_labels", fail)
    else:
        monkeypatch.setitem(checks, id, fail)
    found = review_text(TEXT, Dataset(ROWS, [row % 3 for row in range(40)]))
    assert found.finding(id).failed and f"rule {id}" in found.finding(id).message
    assert len(found.findings) > 1


@pytest.mark.usefixtures("lenient")
def test_data_that_cannot_be_measured_are_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webnnm.data.preparation.quality.measure_quality", fail)
    found = review_text(TEXT, Dataset(ROWS, [row % 3 for row in range(40)]))
    assert "measuring the data failed: IndexError" in found.finding("E600").message
    assert found.finding("E600").area == "Data" and "E101" in {one.id for one in found.findings}


@pytest.mark.usefixtures("lenient")
def test_errors_about_the_data_are_still_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise DataError("NNM701", "no rows")

    monkeypatch.setattr("webnnm.data.preparation.quality.measure_quality", refuse)
    with pytest.raises(DataError):
        review_text(TEXT, Dataset(ROWS, [row % 3 for row in range(40)]))


@pytest.mark.usefixtures("lenient")
async def test_a_training_whose_outcome_cannot_be_measured_ends_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("numpy")
    monkeypatch.setattr(outcome, "measure_outcome", fail)
    broken(monkeypatch, "E901", "E904")
    said: list[str] = []
    data = Dataset(ROWS, [row % 3 for row in range(40)])
    model = await NNModel.create(source=TEXT, dataset=data, backend="numpy", log=said.append)
    history = await model.train(epochs=3, seeds=0)
    assert len(history.epochs) == 3
    failed = {one.id: one for one in history.findings if one.failed}
    assert failed.keys() >= {"E900"} and "E901" in failed
    assert any("measuring the training failed: IndexError" in line for line in said)
    model.close()


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_rules_that_are_not_asked_would_find_nothing(case: Case) -> None:
    for known in (case.before, case.after):
        asked = {rule.id for rule in RULES.select(known)}
        told = [rule.id for rule in RULES.values() if rule.id not in asked and rule.test(known)]
        assert not told


def test_rules_imported_for_another_model_are_not_asked() -> None:
    plain = facts("matmul(w), softmax()")
    first = [rule.id for rule in RULES.select(plain)]
    RULES.load([*APPLIED_WHEN, *TRAINING_MODULES])
    assert [rule.id for rule in RULES.select(plain)] == first
    assert review(plain).findings == review(plain).findings


PROGRAM = """
import json, sys
from webnnm import Dataset, review
texts, order = json.loads(sys.stdin.read())
found = {}
rows = [[i % 3, i % 5, i / 7, 1.0] for i in range(40)]
for number in order:
    data = Dataset(rows, [n % 3 for n in range(40)]) if "shape=[4]" in texts[number] else None
    found[number] = review(texts[number], data, epochs=100).to_dict()
print(json.dumps([found[number] for number in sorted(found)]))
"""


@pytest.mark.desktop
def test_findings_do_not_depend_on_earlier_reviews() -> None:
    texts = [
        TEXT,
        POOL,
        TEXT.replace("softmax", "relu") + "m:loss MSE;",
        "m:input int32 shape=[] sequence=true; m:output shape=[2]; m:layers "
        "embedding(t, size=50, shape=[8]), gru(u, r, hiddenSize=8), matmul(w), softmax();",
        "m:input float16 shape=[4]; m:output shape=[3]; m:layers matmul(w), exp(), softmax();",
        TEXT.replace("add(b)", "dropout(0.9), sigmoid(), sigmoid(), sigmoid()"),
    ]
    orders = [[*range(len(texts))], [*range(len(texts))][::-1], [3, 0, 5, 1, 4, 2]]
    answers = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            input=json.dumps([texts, order]),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for order in orders
    }
    assert len(answers) == 1
    alone = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            input=json.dumps([texts, [number]]),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for number in (0, 2)
    ]
    together = json.loads(answers.pop())
    assert [json.loads(text)[0] for text in alone] == [together[0], together[2]]
