"""The vectors of the web platform tests on WebNN, by way of the package, in the browser."""

from __future__ import annotations

from typing import Any

import pytest

from tests import records
from tests.browser import jobs
from tests.browser.harness import open_pyodide
from tests.browser.in_page import Answer, Failure
from tests.conformance import vectors
from tests.conformance.verdict import CANNOT_PASS, as_numpy, problem
from tests.places import WPT

pytestmark = pytest.mark.webnn
VECTORS = {str(vector): vector for vector in vectors.vectors(WPT)}
LEAST_SHARE = 0.99
"""How many of the vectors pass at least."""


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
        problems = {key: wrong(key, answer) for key, answer in answers.items()}
        self.passing = {key for key, text in problems.items() if not text}
        self.failing = {
            key: text for key, text in problems.items() if text and key not in CANNOT_PASS
        }


@pytest.fixture(scope="module")
async def answers(launch: Any, site_url: str) -> Answers:
    """All vectors, run in a few calls of a page of their own: some take very much memory."""
    browser = await launch("webnn")
    page = await open_pyodide(browser, site_url)
    found = await jobs.answers(page, VECTORS, vectors)
    await page.page.context.close()
    page.log.check()
    return Answers(browser.version, found)


def list_items(problems: dict[str, str]) -> str:
    return "\n".join(f"{key}: {text}" for key, text in problems.items())


async def test_what_fails_is_refused_by_name(answers: Answers) -> None:
    for key in answers.failing:
        answer = answers.answers[key]
        assert isinstance(answer, Failure), f"{key}: a wrong number without an error"
        assert answer.clear, f"{key}: {answer.text}"
    assert len(answers.failing) <= (1 - LEAST_SHARE) * len(VECTORS), list_items(answers.failing)


async def test_exceptions_are_exceptions(answers: Answers) -> None:
    assert not CANNOT_PASS.keys() & answers.passing, "they are not exceptions any more"


async def test_the_vectors_that_fail_are_those_recorded(answers: Answers) -> None:
    print(f"{len(answers.passing)} of {len(VECTORS)} vectors pass\n{list_items(answers.failing)}")
    failing = {key: jobs.kind_of_failure(answers.answers[key]) for key in sorted(answers.failing)}
    records.compare(answers.browser, vectors=failing)
