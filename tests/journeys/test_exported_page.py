"""A page that was exported: it answers without Python in every engine."""

from __future__ import annotations

from tests.browser.exported_cases import CASES
from tests.browser.test_exported_pages import check_equal, find_answers
from tests.journeys.journey import Journey
from webnnm.cli.serve import SiteServer

LOADED = """() =>
  document.querySelector("webnnm-model")?.shadowRoot?.querySelector("form") !== null"""
PREDICT = """async (row) => ({ m: await document.querySelector("webnnm-model").predict(row) })"""


async def test_an_exported_page_answers_without_python(journey: Journey) -> None:
    for name in ("a table", "coloured", "letters"):
        case = next(case for case in CASES if case.name.startswith(name))
        folder = journey.folder / case.name.partition(",")[0]
        expected = await find_answers(case, folder)
        with SiteServer(folder) as server:
            await journey.tab.goto(server.url)
            await journey.tab.wait_until(LOADED)
            check_equal(await journey.tab.evaluate(PREDICT, case.rows[0]), expected[0], name)
            await journey.tab.goto("about:blank")
