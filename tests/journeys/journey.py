"""One person's way through pages of the site, in a browser of any engine."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.browser.layout_checks import SIDEWAYS
from tools.browsers.driver import Browser, Tab
from tools.browsers.engines import Engine
from tools.browsers.record import FOLDER, OPENS, PICTURES, QUIET, Record

WIDE, NARROW = (1280, 800), (360, 740)
READY = "() => 'ready' in document.documentElement.dataset"
SHOWS = "(selector, text) => document.querySelector(selector)?.textContent.includes(text)"
HAS = "(selector) => document.querySelector(selector) !== null"
VALUE = "(selector) => document.querySelector(selector).value"
TEXT = "(selector) => document.querySelector(selector).textContent"


async def start(engine: Engine, folder: Path) -> Browser:
    """Start a browser; one of this machine that does not start is left out of `make test`."""
    try:
        return await engine.start(folder)
    except Exception as error:
        if not engine.packages:
            raise
        reason = f"{engine.title} is on this machine, but does not start: {error}"
        if os.environ.get(FOLDER):
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)


@dataclass
class Journey:
    """What a person does on a page, and what of it went well."""

    engine: Engine
    browser: Browser
    record: Record
    site_url: str
    folder: Path
    """For files of the journey."""
    tab: Tab
    page: str = ""
    tabs: list[Tab] = field(default_factory=list)

    async def open(self, address: str, *, page: str = "", python: bool = True) -> None:
        """Open a page of the site, and wait until its program runs."""
        self.page = page or address.partition("?")[0]
        self.record.add_page(self.page)
        await self.tab.goto(f"{self.site_url}/{address}")
        if python:
            await self.wait_until_ready()
        self.record_success(OPENS)

    async def wait_until_ready(self) -> None:
        """Wait until the program of the page runs."""
        await self.tab.wait_until(READY)

    def record_success(self, step: str) -> None:
        """Record that a step went well."""
        self.record.add_success(self.page, step)

    def record_skip(self, step: str, reason: str) -> None:
        """Record why a step cannot be tried."""
        self.record.add_skip(self.page, step, reason)

    async def fill(self, **fields: str | bool) -> None:
        """Fill in fields by their ids."""
        for name, value in fields.items():
            await self.tab.fill(f"#{name}", value)

    async def wait_for_text(self, selector: str, text: str) -> None:
        """Wait until an element shows a text."""
        await self.tab.wait_until(SHOWS, selector, text)

    async def wait_for(self, selector: str) -> None:
        """Wait until an element exists."""
        await self.tab.wait_until(HAS, selector)

    async def text(self, selector: str) -> str:
        """Return the text of an element."""
        return await self.tab.evaluate(TEXT, selector)

    async def train(self, **fields: str | bool) -> None:
        """Fill in the form of a page that trains, train, and wait for the result."""
        await self.fill(**fields)
        await self.tab.evaluate("() => { delete document.querySelector('#result').dataset.done; }")
        await self.tab.click("#train")
        await self.wait_for("#result[data-done]")

    async def download(self, selector: str, name: str) -> Path:
        """Click a button that saves a file of a name, and return the file."""
        (self.browser.downloads / name).unlink(missing_ok=True)
        await self.tab.click(selector)
        return await self.browser.find_download(name)

    async def value(self, selector: str) -> str:
        """Return what a field says."""
        return await self.tab.evaluate(VALUE, selector)

    async def open_tab_in_front(self) -> Tab:
        """Open another tab in front, so that the page of the journey is hidden."""
        self.tabs.append(await self.browser.new_tab())
        return self.tabs[-1]

    async def close_tabs_in_front(self) -> None:
        """Close the tabs in front of the page."""
        while self.tabs:
            await self.tabs.pop().close()

    async def end(self) -> None:
        """Look at the page once more, wide and narrow; check what its console says."""
        await self.close_tabs_in_front()
        sideways = await self.look()
        errors = self.tab.errors()
        await self.tab.close()
        if sideways or errors:
            self.record.add_failure(self.page, QUIET)
        assert not sideways, f"{self.page} is wider than a phone: {sideways}"
        assert not errors, f"{self.page} has errors in the console: {errors}"
        self.record_success(QUIET)

    async def look(self) -> list[str]:
        """Take pictures if somebody wants them; return what stands out of a narrow page."""
        sideways: list[str] = []
        for width, height in (WIDE, NARROW):
            await self.tab.resize(width, height)
            await self.tab.settle()
            sideways = await self.tab.evaluate(SIDEWAYS)
            if os.environ.get(PICTURES):
                stem = self.page.removesuffix(".html").replace("/", "-")
                await self.tab.resize(width, 2 * height)
                await self.tab.settle()
                picture = Path(os.environ[PICTURES], f"{stem}-{width}-{self.engine.name}.png")
                picture.parent.mkdir(parents=True, exist_ok=True)
                picture.write_bytes(await self.tab.screenshot())
        return sideways
