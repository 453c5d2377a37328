"""Every operator's samples on WebNN, results and gradients, against the reference backend."""

from __future__ import annotations

from tests.browser.harness import PyodidePage
from tests.browser.jobs import compare
from tests.unit.ops.cases import CASES, build


async def test_results_of_samples(pyodide_page: PyodidePage) -> None:
    await compare(pyodide_page, {str(case): case for case in CASES})


async def test_gradients_of_samples(pyodide_page: PyodidePage) -> None:
    cases = {str(case): case for case in CASES if build(case).differentiable}
    await compare(pyodide_page, cases, gradients=True)
