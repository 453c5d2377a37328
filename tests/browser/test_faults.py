"""Known faults of the browser's WebNN are looked for once, and told."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from playwright.async_api import BrowserContext, Page

from tests.browser.harness import PageLog, PyodidePage, open_pyodide_in
from tests.browser.test_bridge import WORKER

CountingPage = Callable[..., Awaitable[PyodidePage]]

COUNT = """
globalThis.built = 0;
const build = MLGraphBuilder.prototype.build;
MLGraphBuilder.prototype.build = function (...words) {
  globalThis.built += 1;
  return build.apply(this, words);
};
"""
REFUSED = """
const refuse = async () => { throw new DOMException("not here", "SecurityError"); };
StorageManager.prototype.getDirectory = refuse;
IDBFactory.prototype.open = () => { throw new DOMException("not here either", "SecurityError"); };
"""
FULL = """
FileSystemFileHandle.prototype.createWritable = async () => {
  throw new DOMException("no room", "QuotaExceededError");
};
"""
OPEN = """
import asyncio
import js
from webnnm.backends import verdicts
from webnnm.backends.webnn import WebNNBackend

backend = await WebNNBackend.open()
held = backend.memory()
backend.close()
await asyncio.gather(*verdicts.writing)
[js.built, list(backend.faults), held.graphs + held.tensors]
"""


@pytest.fixture
def counting_page(webnn_context: BrowserContext, page_log: PageLog, site_url: str) -> CountingPage:
    """A function that starts Python in a page that counts the graphs that it builds.

    It begins with a browser that was never here. Further scripts run before the page's own.
    """
    return lambda *scripts: open_pyodide_in(
        webnn_context, page_log, site_url, scripts=[COUNT, *scripts]
    )


async def test_a_second_visit_tries_nothing(counting_page: CountingPage) -> None:
    first, faults, held = await (await counting_page()).run_python(OPEN)
    assert first > 2
    assert held == 0
    # The one that shows that WebNN works.
    assert await (await counting_page()).run_python(OPEN) == [1, faults, 0]


@pytest.mark.projects("worker")
async def test_a_second_worker_tries_nothing_nor_does_its_page(
    page: Page, page_log: PageLog, site_url: str, project: Any
) -> None:
    counting = f"from pyodide.code import run_js\nrun_js({COUNT!r})\nimport json\n"
    head, last = OPEN.rstrip().rsplit("\n", 1)
    given = {
        "index": f"{site_url}/vendor/pyodide",
        "code": f"{counting}{head}\njson.dumps({last})",
    }
    await page.add_init_script(COUNT)
    await page.goto(f"{site_url}/tests/empty.html")
    first, faults, held = json.loads(await page.evaluate(WORKER, given))
    assert first > 2
    assert held == 0
    assert len(faults) > 1
    assert json.loads(await page.evaluate(WORKER, given)) == [1, faults, 0]
    opened = PyodidePage(page, page_log)
    await opened.start_anew(site_url)
    assert await opened.run_python(OPEN) == [1, faults, 0]


@pytest.mark.parametrize("refusal", [REFUSED, FULL], ids=["forbidden", "full"])
async def test_storage_that_is_refused_costs_no_more_than_time(
    refusal: str, counting_page: CountingPage
) -> None:
    page = await counting_page(refusal)
    first, faults, _ = await page.run_python(OPEN)
    assert len(faults) > 1
    # The page itself remembers.
    assert await page.run_python(OPEN) == [first + 1, faults, 0]
    again, same, _ = await (await counting_page(refusal)).run_python(OPEN)
    assert (again, same) == (first, faults)


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"a": 1}', b"\xff", b""])
async def test_what_is_kept_may_be_damaged(content: bytes, counting_page: CountingPage) -> None:
    program = """
from webnnm.backends.browser_files import keep_file
from webnnm.backends.verdicts import FILE

await keep_file(FILE, [bytes(content)])
"""
    page = await counting_page()
    _, faults, _ = await page.run_python(OPEN)
    await page.run_python(program, content=list(content))
    assert (await (await counting_page()).run_python(OPEN))[1] == faults


async def test_a_report_tells_the_faults_and_the_rewrites(pyodide_page: PyodidePage) -> None:
    program = """
from webnnm import NNModel, probe

model = await NNModel.create(
    source="m:input shape=[4]; m:output shape=[3]; m:layers matmul(w), exp();", log=lambda _: None
)
await model.predict([[1, 2, 3, 4]], raw=True)
report = model.report()
model.close()
found = await probe()
[report.splitlines(), [list(found.devices[name].faults) for name in ("npu", "gpu", "cpu")]]
"""
    lines, devices = await pyodide_page.run_python(program)
    assert lines[1] == "bugs of this implementation that graphs are rewritten to avoid:"
    assert "- exp: the exponential of NaN would be 0; it is NaN now" in lines
    rewritten = lines[lines.index("rewritten so far:") + 1 :]
    assert rewritten == ['- exp "exp1": the exponential of NaN would be 0; it is NaN now']
    told = lines[2 : lines.index("rewritten so far:")]
    assert [[f"- {fault}" for fault in faults] for faults in devices] == [told] * 3
