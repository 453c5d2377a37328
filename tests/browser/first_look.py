"""What every page of the site is held against: how it starts, who can use it, and its policy."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tests.browser.site_pages import (
    WATCH_POLICY,
    WITHOUT_PYTHON,
    check_usable,
    open_site_page,
)
from tools.common import playwright_config
from tools.page_budget import WATCH

# How a page has fetched the second wheel.
FETCHED = """
performance.getEntriesByType("resource")
  .filter(({ name }) => name.includes("/webnnm_rest-")).map((entry) => entry.initiatorType)
"""
# Notes what a page says before it can be used, and whether one can train then; and which scripts
# and programs it has asked for only after its document was parsed. Frames have no such words.
WATCH_START = """
globalThis.started = {};
addEventListener("DOMContentLoaded", () => {
  const train = document.querySelector("#train");
  started.words = document.querySelector("#boot [role=status]")?.textContent;
  started.can_train = train !== null && !train.disabled;
});
addEventListener("webnnm:ready", () => {
  const [{ domInteractive }] = performance.getEntriesByType("navigation");
  started.late = performance.getEntriesByType("resource")
    .filter(({ startTime }) => startTime >= domInteractive)
    .map(({ name }) => new URL(name).pathname).filter((path) => /[.](py|json|m?js)$/.test(path));
});
"""
LOOKED_AT = re.compile(r'(?:open_and_look|begun)\(page, site_url, "([^"]+)"')


def find_pages_opened_elsewhere() -> set[str]:
    """Return the pages whose own tests open them as `open_and_look` does.

    Tests that a machine without large models skips are not among them.
    """
    files = Path(__file__).parent.glob("test_*.py")
    return {name for file in files for name in LOOKED_AT.findall(file.read_text())}


async def open_and_look(page: Any, site_url: str, name: str) -> None:
    """Open a page as `open_site_page` does; check how it starts, and who can use it then."""
    scripts = (WATCH_POLICY,) if name in WITHOUT_PYTHON else (WATCH_POLICY, WATCH, WATCH_START)
    for script in scripts:
        await page.add_init_script(script)
    await open_site_page(page, site_url, name)
    if name not in WITHOUT_PYTHON:
        await check_start(page, name)
        assert await page.locator("[role=alert]").count() == 1
        assert await page.locator("[aria-live], [role=status]").count() >= 1
        assert await page.locator("#boot").is_hidden()
    await check_usable(page)
    moving = "[...document.querySelectorAll('*')].map(e => getComputedStyle(e).transitionDuration)"
    assert set(await page.evaluate(moving)) == {"0s"}
    await page.emulate_media(color_scheme="null", reduced_motion="null")
    await page.set_viewport_size(playwright_config().VIEWPORT)


async def check_start(page: Any, name: str) -> None:
    """Check that a page said what it did, and asked at once for all that it needs for its start."""
    started = await page.evaluate("started")
    assert "Getting ready" in started["words"]
    assert not started["can_train"]
    assert await page.locator("#train:disabled").count() == 0
    late = {path.rpartition("/")[2] for path in started["late"]}
    assert late <= {"trainer.py"}
    assert "trainer.py" not in late or name == "worker.html", "a worker asks for its own files"
    loaded = [path for path, _ in await page.evaluate("usable.loaded")]
    assert any("/webnnm-" in path for path in loaded)
    assert not any(path.endswith("/python_stdlib_rest.zip") for path in loaded), (
        "the library of a start is complete"
    )
    if name == "iris.html":  # what keeps trainings, among others, comes later
        assert not any("/webnnm_rest-" in path for path in loaded)


async def check_policy(page: Any) -> None:
    """Check the policy of a page, and that nothing that the page has done so far was refused."""
    policy = (await page.request.get(page.url)).headers_array
    sent = [each["value"] for each in policy if each["name"].lower() == "content-security-policy"]
    assert len(sent) == 1
    assert "default-src 'none'" in sent[0]
    assert "unsafe-inline" not in sent[0]
    script = sent[0].partition("script-src ")[2].partition(";")[0]
    assert "blob:" not in script
    assert await page.evaluate("refused") == []
    assert await page.evaluate(FETCHED) in ([], ["fetch"], ["link"]), (
        "once, and without blocking the page"
    )
