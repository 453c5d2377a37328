"""Pages that cannot start say so, in the page and in plain words."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from playwright.async_api import BrowserContext

from tests.browser.harness import PageLog
from tools.common import SITE

pytestmark = pytest.mark.projects("webnn")

Break = Callable[[Any], Awaitable[None]]

SOON = """
const later = globalThis.setTimeout;
globalThis.setTimeout = (work, wait, ...given) => later(work, wait / 20, ...given);
const timeout = AbortSignal.timeout.bind(AbortSignal);
AbortSignal.timeout = (wait) => timeout(wait / 20);
"""
"""Makes a page lose its patience soon, with what it does itself and with servers."""
LATER = SOON.replace("/ 20", "/ 5")
"""The same, but not so soon that its questions crowd out what it waits for."""


def without(pattern: str, **answer: Any) -> Break:
    """Answer requests for a file in another way; without an answer, break the connection."""

    async def route(page: Any) -> None:
        async def refuse(route: Any) -> None:
            await (route.fulfill(**answer) if answer else route.abort())

        await page.route(pattern, refuse)

    return route


def silent(pattern: str) -> Break:
    """Leave requests for a file without an answer."""

    async def route(page: Any) -> None:
        await page.route(pattern, lambda route: None)

    return route


def cast(pattern: str, kind: str) -> Break:
    """Send a file as of another type."""

    async def route(page: Any) -> None:
        async def change(route: Any) -> None:
            answer = await route.fetch()
            headers = answer.headers | {"content-type": kind}
            await route.fulfill(response=answer, headers=headers)

        await page.route(pattern, change)

    return route


def policy(text: str) -> Break:
    """Send the page with another policy."""

    async def route(page: Any) -> None:
        async def change(route: Any) -> None:
            answer = await route.fetch()
            headers = answer.headers | {"content-security-policy": text}
            await route.fulfill(response=answer, headers=headers)

        await page.route("**/iris.html", change)

    return route


async def no_webassembly(page: Any) -> None:
    """Take WebAssembly away, as some modes of high security do."""
    await page.add_init_script("delete globalThis.WebAssembly")


CASES = {
    "no WebAssembly": (no_webassembly, "this browser has no WebAssembly"),
    "a policy without wasm": (
        policy("script-src 'self'"),
        "Content-Security-Policy forbids WebAssembly: its script-src needs 'wasm-unsafe-eval'",
    ),
    "a policy without eval": (
        policy("script-src 'self' 'wasm-unsafe-eval'"),
        "Content-Security-Policy has no 'unsafe-eval' in script-src",
    ),
    "wasm is blocked": (without("**/pyodide.asm.wasm"), "pyodide.asm.wasm cannot be reached"),
    "wasm is missing": (
        without("**/pyodide.asm.wasm", status=404),
        "the server has no http://localhost:PORT/vendor/pyodide/pyodide.asm.wasm (status 404)",
    ),
    "the library is missing": (
        without("**/python_stdlib.zip", status=404),
        "the server has no http://localhost:PORT/vendor/pyodide/python_stdlib.zip (status 404)",
    ),
    "the lock file is missing": (
        without("**/pyodide-lock.json", status=404),
        "the server has no http://localhost:PORT/vendor/pyodide/pyodide-lock.json (status 404)",
    ),
    "the wheel is blocked": (without("**/webnnm-*.whl"), "-none-any.whl cannot be reached"),
    "PyScript is missing": (
        without("**/pyscript/core.js", status=404),
        "the server has no http://localhost:PORT/vendor/pyscript/core.js (status 404)",
    ),
    "modules of a wrong type": (
        cast("**/*.mjs", "text/plain"),
        "as “text/plain” instead of text/javascript",
    ),
}


@pytest.mark.parametrize("name", CASES)
async def test_a_page_that_cannot_start_says_why(
    page: Any, page_log: PageLog, site_url: str, project: Any, name: str
) -> None:
    hinder, text = CASES[name]
    await hinder(page)
    await page.add_init_script(SOON)
    await page.goto(f"{site_url}/iris.html", wait_until="commit")
    told = text.replace("PORT", site_url.rpartition(":")[2])
    await page.locator("#boot.failed [role=status]", has_text=told).wait_for()
    assert await page.locator("#boot progress").is_hidden()
    assert await page.locator("#train").is_disabled()
    await page_log.forget(page)


async def test_a_page_that_is_opened_as_a_file_says_how_to_serve_it(
    page: Any, page_log: PageLog, project: Any
) -> None:
    await page.context.unroute_all()
    await page.goto((SITE / "iris.html").as_uri())
    told = page.locator("#boot.failed [role=status]")
    await told.wait_for()
    assert "opened as a file" in await told.text_content()
    assert "webnnm serve" in await told.text_content()
    await page_log.forget(page)


async def test_a_page_whose_start_takes_long_says_what_it_waits_for(
    page: Any, site_url: str, project: Any
) -> None:
    await silent("**/pyodide.asm.wasm")(page)
    asked: set[str] = set()
    page.on("request", lambda it: it.method == "HEAD" and asked.add(it.url.rpartition("/")[2]))
    await page.add_init_script(SOON)
    await page.goto(f"{site_url}/iris.html", wait_until="commit")
    told = page.locator("#boot [role=status]", has_text="longer than it should")
    await told.wait_for()
    text = await told.text_content()
    assert "The server sends no http" in text and "pyodide.asm.wasm" in text
    assert await page.locator("#boot.failed").count() == 0, "it may still come"
    assert not [name for name in asked if name.endswith(".py")], "they would wait for one another"
    assert {"core.js", "pyodide.mjs", "python_stdlib.zip"} <= asked


async def test_what_arrives_slowly_is_in_the_cache_for_the_next_visit(
    profile: BrowserContext, site_url: str
) -> None:
    sizes = """performance.getEntriesByType("resource").filter(({ name, transferSize }) =>
      /wasm|zip/.test(name) && transferSize > 1000).map(({ name }) => name)"""
    slow = {"offline": False, "latency": 0, "downloadThroughput": 1e6, "uploadThroughput": 1e6}
    for loaded in (2, 0):
        page = await profile.new_page()
        session = await profile.new_cdp_session(page)
        await session.send("Network.enable")
        await session.send("Network.emulateNetworkConditions", slow)
        await page.add_init_script(LATER)
        await page.goto(f"{site_url}/iris.html", wait_until="commit")
        await page.locator("html[data-ready]").wait_for(state="attached")
        assert len(await page.evaluate(sizes)) == loaded
        await page.close()


async def test_a_page_whose_own_scripts_are_blocked_says_so(
    page: Any, site_url: str, project: Any
) -> None:
    await policy("script-src 'none'; style-src 'self'")(page)
    # No script can make the page lose its patience soon, but its clock for styles can run faster.
    session = await page.context.new_cdp_session(page)
    await session.send("Animation.enable")
    await session.send("Animation.setPlaybackRate", {"playbackRate": 20})
    await page.goto(f"{site_url}/iris.html", wait_until="commit")
    await page.locator("#boot .late", has_text="a policy or a setting blocks them").wait_for()


async def test_a_page_that_starts_says_nothing_of_the_kind(
    page: Any, site_url: str, project: Any
) -> None:
    await page.goto(f"{site_url}/iris.html")
    await page.locator("html[data-ready]").wait_for(state="attached")
    assert await page.locator("#boot").is_hidden()
    assert await page.locator("#boot.failed").count() == 0


async def test_sizes_that_change_while_they_are_told_are_no_failure(
    page: Any, site_url: str, project: Any
) -> None:
    await page.add_init_script("""addEventListener("DOMContentLoaded", () => {
      const message = "ResizeObserver loop completed with undelivered notifications.";
      dispatchEvent(new ErrorEvent("error", { message }));
    })""")
    await page.goto(f"{site_url}/iris.html")
    await page.locator("html[data-ready]").wait_for(state="attached")
    assert await page.locator("#boot.failed").count() == 0
    assert await page.locator("#boot").is_hidden()


async def test_a_page_that_started_bears_the_loss_of_the_network(
    page: Any, page_log: PageLog, site_url: str, project: Any
) -> None:
    await without("**/offline.js")(page)
    async with page.expect_console_message(lambda line: "without a network" in line.text) as said:
        await page.goto(f"{site_url}/iris.html")
    assert "not available" in (await said.value).text
    assert await page.locator("html[data-ready]").count() == 1
    assert page_log.errors == []
