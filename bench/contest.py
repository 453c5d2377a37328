"""The contestants: three in a page of one browser, PyTorch in a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tools.common import CACHE, ROOT, SITE, playwright_config
from tools.environment import python_of
from webnnm.cli.serve import SiteServer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

FOLDER = CACHE / "bench"
DATA = FOLDER / "data"
MODELS = FOLDER / "models"
ROOTS: dict[str, Path] = {
    "bench": ROOT / "bench",
    "bench-bridge": ROOT / "js_bridge",
    "bench-data": DATA,
    "bench-models": MODELS,
    "bench-onnxruntime": ROOT / "node_modules" / "onnxruntime-web" / "dist",
    "bench-packages": FOLDER / "node_modules",
    "tests": ROOT / "tests" / "browser" / "pages",
}
RUN = "async ([what, given]) => globalThis.bench[what](...given)"
LONGEST_LINE = 2**20
LONGEST_WAIT = 600_000


class Failed(RuntimeError):
    """A contestant could not do what was requested."""


@dataclass
class Torch:
    """PyTorch's process, controlled by lines of JSON."""

    process: asyncio.subprocess.Process

    async def ask(self, do: str, **command: Any) -> Any:
        """Send a command and return the answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"do": do, **command}).encode() + b"\n")
        await self.process.stdin.drain()
        line = await self.process.stdout.readline()
        if not line:
            raise Failed("PyTorch's process exited; its output is above")
        return json.loads(line)


@dataclass
class Contest:
    """All contestants, and what they report about themselves; PyTorch only if it is needed."""

    browser: Any
    url: str
    torch: Torch | None
    page: Any = None
    facts: dict[str, Any] = field(default_factory=dict[str, Any])

    async def open_page(self) -> Any:
        """Open a page with page.js as `bench`, in which nothing has been started yet."""
        page = await self.browser.new_page()
        page.set_default_timeout(LONGEST_WAIT)
        page.on("pageerror", lambda error: print(f"in the page: {error}", flush=True))
        await page.goto(f"{self.url}/tests/empty.html")
        await page.evaluate("async () => { globalThis.bench = await import('/bench/page.js'); }")
        return page

    @asynccontextmanager
    async def another_page(self) -> AsyncGenerator[None]:
        """Direct calls to a new page for a while, which is then closed."""
        before, self.page = self.page, await self.open_page()
        try:
            yield
        finally:
            await self.page.close()
            self.page = before

    @asynccontextmanager
    async def another_browser(self, project: str) -> AsyncGenerator[None]:
        """Direct calls to a page of the browser of a Playwright project for a while."""
        config = playwright_config()
        options = config.launch_options(project)
        before, self.browser = self.browser, await self.browser.browser_type.launch(**options)
        try:
            async with self.another_page():
                yield
        finally:
            await self.browser.close()
            self.browser = before

    async def run(self, what: str, *given: Any) -> Any:
        """Call a function of page.js."""
        from playwright.async_api import Error

        try:
            return await self.page.evaluate(RUN, [what, list(given)])
        except Error as error:
            raise Failed(str(error)) from error

    async def call(self, contestant: str, what: str, *given: Any) -> Any:
        """Call a method of a contestant in the page."""
        return await self.run("call", contestant, what, *given)


@asynccontextmanager
async def _torch() -> AsyncGenerator[Torch]:
    """Start PyTorch's process; end it on exit."""
    process = await asyncio.create_subprocess_exec(
        str(python_of("parity")),
        "-m",
        "bench.torch_worker",
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=LONGEST_LINE,
    )
    try:
        yield Torch(process)
    finally:
        if process.stdin is not None:
            process.stdin.close()
        await process.wait()


@asynccontextmanager
async def contest(*, torch: bool) -> AsyncGenerator[Contest]:
    """Start the browser, and PyTorch if it takes part; end both on exit."""
    from playwright.async_api import async_playwright

    config = playwright_config()
    async with AsyncExitStack() as stack:
        process = await stack.enter_async_context(_torch()) if torch else None
        server = stack.enter_context(SiteServer(SITE, extra_roots=ROOTS))
        playwright = await stack.enter_async_context(async_playwright())
        options = config.launch_options("webnn")
        browser = await playwright.chromium.launch(**options)
        stack.push_async_callback(browser.close)
        running = Contest(browser, server.url, process)
        running.page = await running.open_page()
        running.facts = await running.run("begin")
        running.facts["browser"] = browser.version
        yield running
