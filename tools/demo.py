"""Trains the Iris page in the bundled Chromium and shows its progress in the terminal."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tools.common import SITE, fail, playwright_config, say
from webnnm.cli.serve import SiteServer

if TYPE_CHECKING:
    from playwright.async_api import ConsoleMessage, Page

PREFIX = "webnnm:"
PROGRESS = "webnnm:progress "
BAR_WIDTH = 30
# A terminal line is redrawn; in a log, each of these parts gets its own line.
LOG_PARTS = 10


def bar(epoch: int, epochs: int, loss: float) -> str:
    """Return one line that shows the progress of the training.

    >>> bar(50, 200, 0.25)
    '[#######-----------------------] epoch  50/200  loss 0.2500'
    """
    filled = BAR_WIDTH * epoch // max(epochs, 1)
    drawn = "#" * filled + "-" * (BAR_WIDTH - filled)
    return f"[{drawn}] epoch {epoch:>{len(str(epochs))}}/{epochs}  loss {loss:.4f}"


@dataclass
class Terminal:
    """Shows the page's console lines, with progress on one line if the output is a terminal."""

    interactive: bool
    part: int = -1
    drawing: bool = False

    def show(self, message: ConsoleMessage) -> None:
        """Show one console line of the page, if it is ours."""
        text = message.text
        if text.startswith(PROGRESS):
            self.progress(json.loads(text.removeprefix(PROGRESS)))
        elif text.startswith(PREFIX):
            self.end_line()
            say("  " + text.removeprefix(PREFIX).strip())
        elif message.type == "error":
            self.end_line()
            say(f"  page: {text}")

    def progress(self, state: dict[str, Any]) -> None:
        """Redraw the progress line, or print it once in a while in a log."""
        epoch, epochs = int(state["epoch"]), int(state["epochs"])
        line = bar(epoch, epochs, float(state["loss"]))
        if self.interactive:
            print(f"\r  {line}\x1b[K", end="", flush=True)
            self.drawing = True
            return
        part = LOG_PARTS * epoch // max(epochs, 1)
        if part != self.part:
            self.part = part
            say(f"  {line}")

    def end_line(self) -> None:
        """End the progress line, so that the next text does not overwrite it."""
        if self.drawing:
            print(flush=True)
            self.drawing = False


async def train(page: Page, url: str, terminal: Terminal) -> dict[str, str]:
    """Press the page's button, wait for its result, and return the result."""
    page.on("console", terminal.show)
    page.on("pageerror", lambda error: say(f"  page: {error}"))
    await page.goto(f"{url}/iris.html")
    await page.locator("#train:enabled").click()
    result = page.locator("#result[data-done]")
    await result.wait_for(state="attached", timeout=300_000)
    terminal.end_line()
    wanted = ("accuracy", "backend", "seconds")
    return {name: await result.get_attribute(f"data-{name}") or "unknown" for name in wanted}


async def drive(url: str) -> None:
    """Start the browser, train, and print the result."""
    from playwright.async_api import Error, async_playwright

    config = playwright_config()
    async with async_playwright() as playwright:
        options = config.launch_options("webnn")
        browser = await playwright.chromium.launch(**options)
        page = await browser.new_page(viewport=config.VIEWPORT, service_workers="block")
        page.set_default_timeout(config.ACTION_TIMEOUT_SECONDS * 1000)
        say(f"training the Iris model in Chromium {browser.version} on {url}/iris.html")
        try:
            result = await train(page, url, Terminal(sys.stdout.isatty()))
        except Error as error:
            fail(f"the Iris page did not finish: {error.message.splitlines()[0]}")
        finally:
            await browser.close()
    say(f"test accuracy {result['accuracy']} on {result['backend']} in {result['seconds']} s")


def main() -> None:
    """Show the demo; in a terminal, keep serving until Ctrl-C."""
    with SiteServer(SITE) as server, contextlib.suppress(KeyboardInterrupt):
        asyncio.run(drive(server.url))
        if sys.stdin.isatty():
            say(f"open {server.url}/iris.html in your own browser (Ctrl-C ends; later: make serve)")
            threading.Event().wait()
        say(f"served at {server.url}/iris.html while the demo ran; to serve it again: make serve")


if __name__ == "__main__":
    main()
