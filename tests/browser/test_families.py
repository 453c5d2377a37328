"""Random cases of every family on WebNN, results and gradients, against the reference backend."""

from __future__ import annotations

import pytest

from tests.browser.harness import PyodidePage
from tests.browser.jobs import compare
from tests.unit.ops.cases import Case, build
from tests.unit.ops.families import families, some

COUNT = 40
"""Cases of each family; always the same ones."""

every_family = pytest.mark.parametrize("name", families())


def draw(name: str) -> dict[str, Case]:
    return {f"{i} {one}": one.case for i, one in enumerate(some(families()[name], COUNT))}


@every_family
async def test_results_of_random_cases(pyodide_page: PyodidePage, name: str) -> None:
    await compare(pyodide_page, draw(name))


@every_family
async def test_gradients_of_random_cases(pyodide_page: PyodidePage, name: str) -> None:
    cases = {key: case for key, case in draw(name).items() if build(case).differentiable}
    await compare(pyodide_page, cases, gradients=True)
