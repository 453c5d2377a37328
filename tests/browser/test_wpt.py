"""The vectors of the web platform tests on WebNN, by way of the package, in the browser."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from tests.browser import jobs
from tests.browser.harness import open_pyodide
from tests.browser.in_page import Answer, Failure
from tests.conformance import counts, vectors
from tests.conformance.verdict import CANNOT_PASS, as_numpy, problem
from tests.places import WPT

VECTORS = {str(vector): vector for vector in vectors.vectors(WPT)}
BASELINE = json.loads((WPT / "_baseline_chromium147.json").read_text())

REQUIRED = frozenset({"pass", "browser-wrong-result", "browser-rejects-build"})
"""What the raw browser does with a vector, where the package has to pass it."""
BEYOND_LIMITS = "unsupported-by-limits"

NO_UINT64 = "no type of min and max holds all of uint64"
REFUSED: dict[str, str] = {
    "clamp: clamp uint64 1D tensor": NO_UINT64,
    "clamp: clamp uint64 1D tensor with Number min and max": NO_UINT64,
}
"""Vectors beyond the browser's limits that nothing stands in for, with the reason."""


def baseline(key: str) -> str:
    """Return what the raw browser does with a vector."""
    file, _, name = key.partition(": ")
    return BASELINE[file][name]


def wrong(key: str, answer: Answer) -> str:
    """Return what is wrong with an answer, "" if nothing is."""
    if isinstance(answer, Failure):
        return answer.text
    vector = VECTORS[key]
    found = {name: as_numpy(packed.array) for name, packed in answer.items()}
    return problem(vector, vector.graph()[0], found)


class Answers:
    """What the browser answered to every vector, and what is wrong with it."""

    def __init__(self, browser: str, answers: dict[str, Answer]) -> None:
        self.browser = browser
        self.answers = answers
        self.problems = {key: wrong(key, answer) for key, answer in answers.items()}

    def failing(self, *classes: str) -> dict[str, str]:
        """Return the problems of the vectors of these classes, exceptions left out."""
        return {
            key: text
            for key, text in self.problems.items()
            if text and baseline(key) in classes and key not in CANNOT_PASS
        }


@pytest.fixture(scope="module")
async def answers(launch: Any, site_url: str) -> Answers:
    """All vectors, run in a few calls of a page of their own: some take very much memory."""
    browser = await launch("webnn")
    page = await open_pyodide(browser, site_url)
    found = await jobs.answers(page, VECTORS, vectors)
    await page.page.context.close()
    page.log.check()
    return Answers(f"Chromium {browser.version}", found)


def list_items(problems: dict[str, str]) -> str:
    return "\n".join(f"{key}: {text}" for key, text in problems.items())


async def test_what_the_browser_can_do_is_done_right(answers: Answers) -> None:
    passed = Counter(baseline(key) for key, text in answers.problems.items() if not text)
    print("vectors passed, by what the raw browser does with them:", dict(passed))
    failing = answers.failing(*REQUIRED)
    assert not failing, list_items(failing)


async def test_two_thirds_of_what_is_beyond_its_limits_pass(answers: Answers) -> None:
    beyond = [key for key in VECTORS if baseline(key) == BEYOND_LIMITS]
    passed = [key for key in beyond if not answers.problems[key]]
    assert len(passed) >= 2 / 3 * len(beyond), list_items(answers.failing(BEYOND_LIMITS))


async def test_the_others_are_refused_by_name(answers: Answers) -> None:
    failing = answers.failing(BEYOND_LIMITS)
    assert failing.keys() == REFUSED.keys(), list_items(failing)
    for key in failing:
        answer = answers.answers[key]
        assert isinstance(answer, Failure), f"{key}: a wrong number without an error"
        assert answer.clear, f"{key}: {answer.text}"


async def test_exceptions_are_exceptions(answers: Answers) -> None:
    passing = [key for key in CANNOT_PASS if key in VECTORS and not answers.problems[key]]
    assert not passing, "they are not exceptions any more"


async def test_counts_are_those_recorded(answers: Answers) -> None:
    counts.check("webnn", answers.problems, browser=answers.browser)
