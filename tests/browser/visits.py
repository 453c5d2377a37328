"""A browser context that tests share one after the other, each of which finds it empty.

A page in a context of its own has a process of its own, which compiles Python's WebAssembly anew:
that is most of the work of a page's start. Pages of one site in one context share a process
(`--process-per-site`), and one that stays open keeps there what was compiled.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from playwright.async_api import Browser, BrowserContext, CDPSession, Error, Page

from tests.browser.harness import PageLog, new_context, start_pyodide

ALIVE_SECONDS = 240
"""When a page that is asked for nothing counts as hung: by a test that failed."""


@dataclass
class Visits:
    """The context, and the page that stays open in it.

    A test has what its pages do: their scripts, routes, sizes and media go with them. What goes
    with the context is taken away before each test: files, databases, caches, cookies, routes.
    """

    context: BrowserContext
    keeper: Page
    session: CDPSession

    @classmethod
    async def begin(
        cls,
        browser: Browser,
        site_url: str,
        packages: list[str],
        *,
        service_workers: bool = False,
    ) -> Visits:
        """Make the context, and compile Python and these packages in it."""
        log = PageLog()
        context = await new_context(browser, service_workers=service_workers)
        keeper = await context.new_page()
        log.watch(keeper)
        await keeper.goto(f"{site_url}/tests/empty.html")
        index = f"{site_url}/vendor/pyodide"
        await start_pyodide(keeper, index, packages)
        log.check()
        return cls(context, keeper, await context.new_cdp_session(keeper))

    async def is_alive(self) -> bool:
        """Return whether the process of the pages still answers."""
        try:
            async with asyncio.timeout(ALIVE_SECONDS):
                return await self.keeper.evaluate("true")
        except (Error, TimeoutError):
            return False

    async def empty(self) -> None:
        """Leave nothing in the context that a page has put there, whatever its address was."""
        for page in self.context.pages:
            if page is not self.keeper:
                await page.close()
        await self.context.unroute_all()
        await self.context.clear_cookies()
        await self.context.clear_permissions()
        await self.context.set_offline(False)
        everything = {"origin": "*", "storageTypes": "all"}
        await self.session.send("Storage.clearDataForOrigin", everything)
