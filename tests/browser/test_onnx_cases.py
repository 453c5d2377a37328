"""The operator cases of ONNX on WebNN and ONNX Runtime Web, imported and run in the browser."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser import jobs
from tests.browser.harness import open_pyodide
from tests.browser.in_page import Answer, Failure
from tests.conformance import counts, onnx_jobs
from tests.conformance.onnx_cases import problem
from tests.conformance.test_onnx_cases import CASES, found
from tests.conformance.verdict import as_numpy

LEAST_SHARE = 0.97
"""Of the cases that pass on NumPy, how many pass in the browser at least."""
ROUNDED = 1e-4
"""How far results may be at least: the browser's functions round more than NumPy's."""


def wrong(name: str, answer: Answer) -> str:
    """Return what is wrong with an answer, "" if nothing is."""
    if isinstance(answer, Failure):
        return answer.text
    return problem(CASES[name], [as_numpy(each.array) for each in answer.values()], ROUNDED)


BACKENDS = {"webnn": "webnn", "onnxruntime": "no-webnn"}
"""The project of whose browser each backend takes."""


@pytest.mark.parametrize("backend", BACKENDS)
async def test_counts_are_those_recorded(launch: Any, site_url: str, backend: str) -> None:
    passing = {name: case for name, case in CASES.items() if not found(name)}
    browser = await launch(BACKENDS[backend])
    page = await open_pyodide(browser, site_url)
    answers = await jobs.answers(page, passing, onnx_jobs, backend=backend)
    await page.page.context.close()
    problems = {name: wrong(name, answer) for name, answer in answers.items()}
    failing = {name: text for name, text in problems.items() if text}
    listed = "\n".join(f"{name}: {text[:300]}" for name, text in failing.items())
    print(f"{len(passing) - len(failing)} of {len(passing)} cases pass on {backend}\n{listed}")
    assert len(failing) <= (1 - LEAST_SHARE) * len(passing), listed
    every = {
        f"{case.operator}: {name}": problems.get(name, "refused") for name, case in CASES.items()
    }
    counts.check(backend, every, file=counts.ONNX)
