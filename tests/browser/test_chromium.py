"""What the bundled Chromiums say of themselves and get wrong, which their records tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest
from playwright.async_api import Browser, async_playwright

from tests import records
from tests.browser import evidence_in_page, jobs
from tests.browser.harness import PyodidePage
from tests.browser.in_page import Failure
from tests.unit.backends import plans
from tools.common import playwright_config
from webnnm.compiler.traps import ALL_TRAPS
from webnnm.compiler.traps.evidence import Untried

pytestmark = pytest.mark.webnn

EXAMINE = """
from webnnm.backends import pyodide_host
from webnnm.backends.faults import Examination
from webnnm.compiler.traps import ALL_TRAPS
from webnnm.compiler.traps.evidence import Trial
from webnnm.core.errors import BackendError

bridge = await pyodide_host.load_bridge()
context = await bridge.open({}, {})
examination = Examination(ALL_TRAPS, bridge.limits(context))
number = {trap: index for index, trap in enumerate(ALL_TRAPS)}

async def wrong(*probes):
    trial = Trial(*probes)
    try:
        return trial.find_wrong(await bridge.once(context, trial.plan, trial.data))
    except BackendError:
        return list(probes)

together = await examination.wrong(bridge, context)
shared = await wrong(*examination.shared.probes)
alone = [probe for each in examination.shared.probes for probe in await wrong(each)]
apart = [probe for trial in examination.alone for probe in trial.probes]
others = [probe for each in apart for probe in await wrong(each)]
owners = {probe: trap for trap in examination.traps for probe in trap.evidence}
held = bridge.memory(context)
bridge.close(context)
result = {
    "same": shared == alone,
    "together": sorted(number[trap] for trap in together),
    "alone": sorted({number[owners[probe]] for probe in (*alone, *others)}),
    "expected": sorted(number[trap] for trap in examination.expected),
    "held": held,
}
result
"""
DESCRIBE = """
from webnnm.backends import pyodide_host
from webnnm.backends.probe import probe

found = await probe()
bridge = await pyodide_host.load_bridge()
context = await bridge.open({}, {})
limits = bridge.limits(context)
bridge.close(context)
webnn = {name: found.devices[name].reason for name in ("npu", "gpu", "cpu")}
{"devices": webnn, "sentence": found.sentence, "limits": limits}
"""
COMPUTE = """async () => {
  const size = { dataType: "float32", shape: [512, 512] };
  const context = await navigator.ml.createContext();
  const builder = new MLGraphBuilder(context);
  const x = builder.input("x", size);
  let y = x;
  for (let k = 0; k < 40; k++) y = builder.tanh(builder.matmul(y, x));
  const graph = await builder.build({ y });
  const inputs = { x: await context.createTensor(size) };
  const outputs = { y: await context.createTensor({ ...size, readable: true }) };
  context.dispatch(graph, inputs, outputs);
  await context.readTensor(outputs.y);
}"""


@pytest.fixture(params=["pyodide_page", "second_pyodide_page"])
def any_page(request: pytest.FixtureRequest) -> PyodidePage:
    """A page of one of the bundled Chromiums; while one is recorded, of that one."""
    if records.is_recording() and request.param != "pyodide_page":
        pytest.skip("another run records this browser")
    return request.getfixturevalue(request.param)


@pytest.fixture
async def new_browser() -> AsyncIterator[Browser]:
    """A browser of the test's own, in which nothing else runs."""
    config = playwright_config()
    async with async_playwright() as playwright:
        options = config.launch_options("webnn")
        browser = await playwright.chromium.launch(**options)
        yield browser
        await browser.close()


def version(page: PyodidePage) -> str:
    """Return the version of a page's browser."""
    browser = page.page.context.browser
    assert browser is not None
    return browser.version


async def test_what_it_says_of_itself_is_recorded(any_page: PyodidePage) -> None:
    facts = await any_page.run_python(DESCRIBE)
    records.compare(version(any_page), **facts)


async def test_the_process_that_computes_is_recorded(new_browser: Browser) -> None:
    """If it crashes, a page whose WebNN computes in its own process ends with it."""
    page = await new_browser.new_page()
    await page.route("http://localhost/", lambda route: route.fulfill(content_type="text/html"))
    await page.goto("http://localhost/")
    session = await new_browser.new_browser_cdp_session()

    async def times() -> Counter[str]:
        """Return the seconds that processes of each type have computed."""
        answer = await session.send("SystemInfo.getProcessInfo")
        seconds: Counter[str] = Counter()
        for process in answer["processInfo"]:
            seconds[process["type"]] += process["cpuTime"]
        return seconds

    before = await times()
    await page.evaluate(COMPUTE)
    after = await times()
    process = max(after, key=lambda name: after[name] - before[name])
    records.compare(new_browser.version, process=process)


async def test_its_faults_are_those_recorded(any_page: PyodidePage) -> None:
    answer: dict[str, Any] = await any_page.run_python(EXAMINE)
    assert answer["same"]
    assert answer["together"] == answer["alone"]
    assert answer["held"] == {"graphs": 0, "tensors": 0, "bytes": 0}
    assert [ALL_TRAPS[n] for n in answer["expected"]] == [
        trap for trap in ALL_TRAPS if isinstance(trap.evidence, Untried)
    ]
    faults = sorted(ALL_TRAPS[n].reason for n in answer["together"])
    records.compare(version(any_page), faults=faults)


async def test_what_shows_a_fault_is_right_once_it_is_rewritten(any_page: PyodidePage) -> None:
    answers = await jobs.answers(any_page, evidence_in_page.JOBS, plans, evidence_in_page)
    wrong: dict[str, str] = {}
    for name, job in evidence_in_page.JOBS.items():
        answer, trial = answers[name], job.trial
        if isinstance(answer, Failure):
            wrong[name] = answer.text
        elif trial.find_wrong(
            memoryview(b"".join(answer[y].array.data for y in trial.plan.outputs))
        ):
            wrong[name] = "other numbers"
    assert not wrong
