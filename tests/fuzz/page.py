"""A browser for checks that are plain functions: it lives in a thread of its own."""

from __future__ import annotations

import asyncio
import base64
import pickle
import threading
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from playwright.async_api import async_playwright

from tests.browser import in_page
from tests.browser.harness import CALL, INSTALL, PyodidePage, open_pyodide
from tests.browser.in_page import Answer, Job
from tests.fuzz import graph_case, page_runs
from tools.common import playwright_config
from webnnm.cli.serve import SiteServer

MODULES = (in_page, graph_case, page_runs)
SECONDS = 120
"""What a graph may take; opening a page takes some of it."""
GRAPHS_OF_A_PAGE = 2000
"""After so many a new page is opened, for Pyodide's memory grows and never shrinks."""


class Browser:
    """The Chromium of a project, opened at its first graph, and anew after one that ended it."""

    def __init__(self, project: str) -> None:
        self._project = project
        self._loop: asyncio.AbstractEventLoop | None = None
        self._page: PyodidePage | None = None
        self._stack = AsyncExitStack()
        self._runs = 0

    def answer(self, job: Job) -> tuple[Answer, bool]:
        """Run a graph on WebNN; return its answer, and whether the context survived it."""
        self._runs += 1
        try:
            answer, there = self._wait(self._answer(job))
        except BaseException:
            # A page that crashed or hangs answers no later graph either.
            self._wait(self._close())
            raise
        if not there or self._runs % GRAPHS_OF_A_PAGE == 0:
            self._wait(self._close())
        return answer, there

    def close(self) -> None:
        """Close the browser and end its thread; it opens again if need be."""
        if self._loop is not None:
            self._wait(self._close())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._loop = None

    def _wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=_serve, args=[self._loop], daemon=True).start()
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(SECONDS)

    async def _answer(self, job: Job) -> tuple[Answer, bool]:
        if self._page is None:
            self._page = await self._open()
        sent = base64.b64encode(pickle.dumps((page_runs.run, (job,)))).decode()
        answer = await self._page.run_python(CALL, call=sent)
        return pickle.loads(base64.b64decode(answer))

    async def _open(self) -> PyodidePage:
        config = playwright_config()
        self._stack = AsyncExitStack()
        server = SiteServer(config.SITE_ROOT, extra_roots=config.EXTRA_ROOTS)
        site = self._stack.enter_context(server)
        playwright = await self._stack.enter_async_context(async_playwright())
        options = config.launch_options(self._project)
        browser = await playwright.chromium.launch(**options)
        self._stack.push_async_callback(browser.close)
        page = await open_pyodide(browser, site.url)
        files = {m.__name__: Path(str(m.__file__)).read_text() for m in MODULES}
        await page.run_python(INSTALL, files=files)
        return page

    async def _close(self) -> None:
        self._page = None
        await self._stack.aclose()


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.close()
