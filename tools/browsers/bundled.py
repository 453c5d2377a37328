"""The bundled Chromium, driven by Playwright."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.browsers.driver import TIMEOUT_SECONDS, Browser, Message, Tab
from tools.common import playwright_config


@dataclass
class ChromiumTab(Tab):
    """A page of Playwright."""

    page: Any
    downloads: Path
    log: list[Message] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.set_default_timeout(1000 * TIMEOUT_SECONDS)
        self.page.on("console", self._on_message)
        self.page.on("pageerror", lambda error: self.log.append(Message("error", str(error))))
        self.page.on("download", self._save)

    def _on_message(self, message: Any) -> None:
        where = message.location["url"]
        self.log.append(Message(message.type, f"{message.text} ({where})"))

    async def _save(self, download: Any) -> None:
        await download.save_as(self.downloads / download.suggested_filename)

    def messages(self) -> list[Message]:
        return self.log

    async def goto(self, url: str) -> None:
        await self.page.goto(url)

    async def reload(self) -> None:
        await self.page.reload()

    async def go(self, delta: int) -> None:
        await (self.page.go_back() if delta < 0 else self.page.go_forward())

    async def call(self, function: str, text: str) -> str:
        return await self.page.evaluate(function, text)

    async def click_at(self, selector: str, x: int, y: int) -> None:
        await self.page.mouse.click(x, y)

    async def upload(self, selector: str, files: Sequence[Path]) -> None:
        await self.page.locator(selector).set_input_files(list(files))

    async def resize(self, width: int, height: int) -> None:
        await self.page.set_viewport_size({"width": width, "height": height})

    async def screenshot(self) -> bytes:
        return await self.page.screenshot()

    async def set_offline(self, offline: bool) -> None:
        await self.page.context.set_offline(offline)

    async def close(self) -> None:
        await self.page.close()


@dataclass
class Chromium(Browser):
    """A Chromium with a profile of its own."""

    version: str
    downloads: Path
    context: Any
    running: AsyncExitStack
    """What ends with the browser."""

    async def new_tab(self) -> Tab:
        page = await self.context.new_page()
        await page.bring_to_front()
        return ChromiumTab(page, self.downloads)

    async def close(self) -> None:
        await self.running.aclose()


async def start(folder: Path, project: str) -> Chromium:
    """Start the Chromium of a project of playwright.config.py, with a profile in a folder."""
    from playwright.async_api import async_playwright

    config = playwright_config()
    options = config.launch_options(project)
    options["args"] = [*options["args"], *config.FAKE_DEVICES]
    downloads = folder / "downloads"
    downloads.mkdir(parents=True)
    async with AsyncExitStack() as running:
        playwright = await running.enter_async_context(async_playwright())
        context = await playwright.chromium.launch_persistent_context(
            folder / "profile", viewport=config.VIEWPORT, **options
        )
        running.push_async_callback(context.close)
        # With a window, a click would do.
        await context.grant_permissions(["clipboard-read", "clipboard-write"])
        version = context.browser.version if context.browser else ""
        return Chromium(version, downloads, context, running.pop_all())
