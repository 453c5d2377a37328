"""What notebooks show of findings, reviews and results: the same as is printed, as HTML."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest

from webnnm import review
from webnnm.core.finding import Finding, Findings
from webnnm.evaluation.classification_report import ClassificationReport
from webnnm.evaluation.cross_validation import CrossValidation
from webnnm.evaluation.importance import PermutationImportance
from webnnm.evaluation.multilabel_report import MultilabelReport
from webnnm.evaluation.regression_report import Deviation, RegressionReport
from webnnm.evaluation.result import TestResult as Result

CLASSES = ClassificationReport(((3, 1), (0, 4)), ("<no>", "yes"))
NUMBERS = RegressionReport((Deviation(0.5, 0.5, 0.9), Deviation(1.0, 2.0, 0.5)), ("a & b", "c"))
WORTH = PermutationImportance(("width", "<b>"), ((0.25,), (0.5,)), "accuracy", 0.875, 8, "testing")
WARNING = Finding(id="E404", severity="warning", message="a < b", remedy="Drop", places=((1, 4),))
INFO = Finding(id="E111", severity="info", message="softmax", action="m:loss='CCE'", remedy="none")


class Words(HTMLParser):
    """Notes the texts of a document, and that its tags are closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.open: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.found += data.split()


@pytest.mark.parametrize("shown", [CLASSES, NUMBERS, WORTH], ids=lambda shown: type(shown).__name__)
def test_reports_show_what_they_print(shown: Any) -> None:
    assert Words(shown._repr_html_()).found == str(shown).split()


def test_a_result_shows_the_report_of_each_output() -> None:
    labels = MultilabelReport
    assert labels._repr_html_ is CLASSES.__class__._repr_html_
    found = Words(Result(0.25, {"m": 0.25}, 8, "testing", {"m": CLASSES}).to_html()).found
    assert found[:5] == ["testing", "samples", "8", "loss", "0.25"]
    assert found[5:] == str(CLASSES).split()
    both = Result(0.5, {"m": 0.25, "n": 0.25}, 8, "testing", {"m": CLASSES, "n": NUMBERS})
    assert [word for word in Words(both.to_html()).found if word.endswith(":")] == ["m:", "n:"]


def test_folds_stand_side_by_side() -> None:
    folds = [Result(loss, {"m": loss}, 10, "testing", {}) for loss in (0.25, 0.75)]
    found = Words(CrossValidation(tuple(folds)).to_html()).found
    assert " ".join(found) == "score mean fold 1 fold 2 loss 0.5000 ± 0.2500 0.2500 0.7500"


def test_findings_begin_with_the_most_important_one() -> None:
    found = Findings([INFO, WARNING])
    assert str(found) == f"{WARNING}\nand 1 note: .notes"
    assert str(found.notes) == str(INFO)
    shown = Words(found.to_html()).found
    assert " ".join(shown[:7]) == "finding place what what to do warning"
    assert shown.index("E404") < shown.index("E111")
    assert " ".join(shown[7:16]) == "E404 line 1, column 4 a < b Drop"
    head = "1 note finding place what what to do"
    assert " ".join(shown[16:]) == f"{head} info E111 softmax done: m:loss='CCE'"
    assert str(Findings([INFO, INFO])) == "nothing to change; 2 notes: .notes"
    assert Words(WARNING._repr_html_()).found == shown[:16]
    assert str(Findings()) == "nothing was found"
    assert Findings().to_html() == "<p>nothing was found</p>"


def test_a_review_shows_findings_and_folds_its_settings() -> None:
    text = "m:input shape=[4]; m:output shape=[3]; m:layers dropout(0.8), matmul(w), softmax();"
    found = review(text, lr=0.01)
    html = found._repr_html_()
    assert html.startswith(Findings(found.findings).to_html())
    shown = Words(html).found
    place = shown.index("lr")
    assert shown[place : place + 3] == ["lr", "0.01", "given"]
    assert html.count("<details>") == 2
