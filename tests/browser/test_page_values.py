"""Values of JavaScript given to `predict`: the same numbers, and no copies in Python on WebNN."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser import page_values_in_page as programs
from tests.browser.harness import PageLog, PyodidePage, new_context, open_pyodide_in
from tests.browser.test_predictions import COUNT, START

in_both_browsers = pytest.mark.projects("webnn", "no-webnn")
pytestmark = in_both_browsers


@pytest.fixture
async def visit(
    launch: Any, project: Any, page_log: PageLog, site_url: str
) -> tuple[PyodidePage, str]:
    """A page, and the backend of its browser."""
    context = await new_context(await launch(project.name))
    backend = "webnn" if project.name == "webnn" else "numpy"
    return await open_pyodide_in(context, page_log, site_url), backend


async def test_typed_arrays_give_the_numbers_of_lists(visit: tuple[PyodidePage, str]) -> None:
    page, backend = visit
    found = await page.call(programs.typed_arrays, backend)
    assert found.pop("same") == [True] * 3
    assert found.pop("shape") == (1, 2, 5)
    assert found.pop("element")
    assert all("[0, 2, 8]" in text for text in found.pop("printed"))
    if backend == "webnn":
        assert found == {"kinds": ["PageArray"] * 2, "classes": ["Float32Array", "Int32Array"]}


async def test_pictures_are_the_pixels_of_python(visit: tuple[PyodidePage, str]) -> None:
    page, backend = visit
    found = await page.call(programs.pictures, backend)
    assert len(found) == 12
    assert all(found.values()), found


async def test_sounds_are_their_samples(visit: tuple[PyodidePage, str]) -> None:
    page, backend = visit
    heard, refused, silent = await page.call(programs.sounds, backend)
    assert heard[:4] == [1, -0.5, 0.25, 0]
    assert 'NNM702: input "x": the sound has 2 channels' in refused
    assert "getChannelData(0)" in refused
    assert "which is no picture" in silent


async def test_rows_of_a_model_are_typed_arrays(visit: tuple[PyodidePage, str]) -> None:
    page, backend = visit
    found = await page.call(programs.rows, backend)
    assert found == {"1": True, "3": True, "200": True}


@pytest.mark.projects("webnn")
async def test_a_prediction_copies_nothing_to_python(pyodide_page: PyodidePage) -> None:
    program = """
from pyodide.code import run_js
model = await create()
row = run_js("new Float32Array([0.5, 0.25, -1, 2])")
expected = await model.predict([[0.5, 0.25, -1, 2]])
await model.predict(row)
calls.clear()
result = await model.predict(row)
made = calls[:]
copied = result._copy is not None
model.close()
pyodide_host.BRIDGES[0].module = module
same = [result.js.to_py().tolist()] == result.tolist() == expected.tolist()
[made, copied, same]
"""
    found = await pyodide_page.run_python(START + COUNT + program)
    assert found == [["run", "results"], False, True]
