"""The runtime itself: PyScript, Pyodide and WebNN work in the browser, without other hosts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.async_api import BrowserContext

import webnnm
from tests.browser.harness import PageLog, PyodidePage, PythonError, open_pyodide_in

RELU = """
(async () => {
  const context = await navigator.ml.createContext();
  const builder = new MLGraphBuilder(context);
  const type = { dataType: "float32", shape: [4] };
  const graph = await builder.build({ y: builder.relu(builder.input("x", type)) });
  const x = await context.createTensor({ ...type, writable: true });
  const y = await context.createTensor({ ...type, readable: true });
  context.writeTensor(x, new Float32Array([-1, 2, -3, 4]));
  context.dispatch(graph, { x }, { y });
  return [...new Float32Array(await context.readTensor(y))];
})()
"""

# The second one begins when files of NumPy are there, which cannot be imported yet.
LOADED_TWICE = """
import asyncio, importlib, sys
from importlib.util import find_spec
from webnnm.backends.reference import ReferenceBackend

async def second():
    while find_spec("numpy") is None:
        await asyncio.sleep(0)
        importlib.invalidate_caches()
    assert "numpy" not in sys.modules
    return await ReferenceBackend.load()

[each.device for each in await asyncio.gather(ReferenceBackend.load(), second())]
"""


@pytest.mark.projects("webnn", "no-webnn")
async def test_webnn_is_there_exactly_when_the_project_says_so(
    page: Any, site_url: str, project: Any
) -> None:
    await page.goto(f"{site_url}/tests/empty.html")
    assert await page.evaluate("'ml' in navigator") is project.webnn
    if project.webnn:
        assert await page.evaluate(RELU) == [0, 2, 0, 4]


async def check_smoke_page(page: Any, url: str, project: Any) -> None:
    await page.goto(url)
    output = page.locator("#answer:not(:empty)")
    await output.wait_for(state="attached")
    answer = json.loads(await output.text_content())
    assert answer["webnnm"] == webnnm.__version__
    assert answer["python"].startswith("3.14.")
    assert answer["worker"] is project.worker
    assert answer["isolated"] is False, "no COOP/COEP headers are sent, none must be needed"
    assert answer["result"] == ([0, 2, 0, 4] if project.webnn else None)


async def test_pyscript_imports_our_wheel_and_reaches_webnn(
    page: Any, site_url: str, project: Any
) -> None:
    name = "smoke_named_worker.html" if project.worker else "smoke.html"
    await check_smoke_page(page, f"{site_url}/tests/{name}", project)


@pytest.mark.projects("worker")
async def test_a_page_without_python_calls_a_worker(page: Any, site_url: str, project: Any) -> None:
    await check_smoke_page(page, f"{site_url}/tests/smoke_worker.html", project)


async def test_python_runs_in_the_shared_page(pyodide_page: PyodidePage) -> None:
    code = "import webnnm, js\n[webnnm.__version__, hasattr(js.navigator, 'ml'), number + 1]"
    assert await pyodide_page.run_python(code, number=1) == [webnnm.__version__, True, 2]


async def test_a_program_does_not_see_the_one_before(pyodide_page: PyodidePage) -> None:
    await pyodide_page.run_python("left_over = 1")
    with pytest.raises(PythonError, match="NameError"):
        await pyodide_page.run_python("left_over")


async def test_blocking_on_promises_works_in_chromium(pyodide_page: PyodidePage) -> None:
    assert await pyodide_page.run_python("from pyodide.ffi import can_run_sync\ncan_run_sync()")


async def test_numpy_is_loaded_on_demand(pyodide_page_without_webnn: PyodidePage) -> None:
    run = pyodide_page_without_webnn.run_python
    if not await run("import js\n'numpy' in js.pyodide.lockfile.packages.object_keys()"):
        pytest.skip("no NumPy for Pyodide on this machine")
    assert await run("import sys\n'numpy' in sys.modules") is False
    assert await run("import numpy\nfloat(numpy.arange(4, dtype='float32').sum())") == 6


@pytest.mark.projects("no-webnn")
async def test_numpy_that_is_being_loaded_is_waited_for(
    context: BrowserContext, page_log: PageLog, site_url: str, numpy_in_pages: None
) -> None:
    page = await open_pyodide_in(context, page_log, site_url)
    devices = await page.run_python(LOADED_TWICE)
    assert devices == [f"NumPy {devices[0].split()[1]} on the CPU"] * 2


async def test_a_page_without_numpy_says_so(pyodide_page_without_numpy: PyodidePage) -> None:
    with pytest.raises(PythonError, match="No module named 'numpy'"):
        await pyodide_page_without_numpy.run_python("import numpy")


@pytest.mark.projects("webnn")
async def test_other_hosts_cannot_be_reached(page: Any, page_log: PageLog, site_url: str) -> None:
    await page.goto(f"{site_url}/tests/empty.html")
    asked = "fetch('https://example.org/').then(() => 'reached', () => 'blocked')"
    async with page.expect_event("requestfailed"):
        assert await page.evaluate(asked) == "blocked"
    assert page_log.blocked == ["https://example.org/"]
    page_log.blocked.clear()
