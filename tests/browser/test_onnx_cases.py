"""The operator cases of ONNX on WebNN and ONNX Runtime Web, imported and run in the browser."""

from __future__ import annotations

from typing import Any

import pytest

from tests import records
from tests.browser import jobs
from tests.browser.harness import open_pyodide
from tests.browser.in_page import Answer, Failure
from tests.conformance import onnx_jobs
from tests.conformance.onnx_cases import problem
from tests.conformance.test_onnx_cases import CASES, found
from tests.conformance.verdict import as_numpy

pytestmark = pytest.mark.webnn
LEAST_SHARE = 0.97
"""Of the cases that pass on NumPy, how many pass in the browser at least."""
ROUNDED = 1e-4
"""How far results may be at least: the browser's functions round more than NumPy's."""


def wrong(name: str, answer: Answer) -> str:
    """Return what is wrong with an answer, "" if nothing is."""
    if isinstance(answer, Failure):
        return answer.text
    return problem(CASES[name], [as_numpy(each.array) for each in answer.values()], ROUNDED)


BACKENDS = ("webnn", "onnxruntime")


@pytest.fixture(scope="module")
async def browser(launch: Any) -> Any:
    """A browser with WebNN."""
    return await launch("webnn")


@pytest.fixture(scope="module")
async def answers(browser: Any, site_url: str) -> dict[str, dict[str, Answer]]:
    """All cases, each imported once, run on both backends in a page of their own."""
    page = await open_pyodide(browser, site_url)
    passing = {name: case for name, case in CASES.items() if not found(name)}
    given = await jobs.answers_of_each(page, passing, onnx_jobs, backends=BACKENDS)
    await page.page.context.close()
    return given


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_cases_that_fail_are_those_recorded(
    browser: Any, answers: dict[str, dict[str, Answer]], backend: str
) -> None:
    problems = {name: wrong(name, answer) for name, answer in answers[backend].items()}
    failing = {name: text for name, text in problems.items() if text}
    listed = "\n".join(f"{name}: {text[:300]}" for name, text in failing.items())
    print(f"{len(problems) - len(failing)} of {len(problems)} cases pass on {backend}\n{listed}")
    assert len(failing) <= (1 - LEAST_SHARE) * len(problems), listed
    kinds = {
        f"{CASES[name].operator}: {name}": jobs.kind_of_failure(answers[backend][name])
        for name in sorted(failing)
    }
    records.compare(browser.version, **{f"onnx_{backend}": kinds})
