"""What a journey asks of a browser, whatever its engine: tabs, input, files, pictures, messages."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TIMEOUT_SECONDS = 120
"""When a step counts as hung: a busy machine may take a minute for what is done in a second."""
POLL_SECONDS = 0.1

CALL = """async (text) => {
  const result = await (%s)(...JSON.parse(text));
  return JSON.stringify(result ?? null);
}"""
# A point of an element that a person could click on, null while there is none: it is shown, stays
# where it is, and nothing covers it. Whether the click arrives is noted.
CLICKABLE = """async (selector) => {
  const element = document.querySelector(selector);
  if (!element || element.matches(":disabled") || !element.checkVisibility()) return null;
  element.scrollIntoView({ block: "center", behavior: "instant" });
  const before = element.getBoundingClientRect();
  await new Promise((resolve) => { setTimeout(resolve, 50); });
  const { x, y, width, height } = element.getBoundingClientRect();
  if (!width || !height || x !== before.x || y !== before.y) return null;
  const point = [Math.round(x + width / 2), Math.round(y + height / 2)];
  const hit = document.elementFromPoint(...point);
  if (hit !== element && !element.contains(hit)) return null;
  globalThis.clicked = false;
  const note = () => { globalThis.clicked = true; };
  element.addEventListener("click", note, { once: true, capture: true });
  return point;
}"""
ARRIVED = "() => globalThis.clicked !== false"
# As a person does who writes into a field and leaves it.
FILL = """(selector, value) => {
  const field = document.querySelector(selector);
  field.focus();
  if (field.type === "checkbox") field.checked = value;
  else field.value = value;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  field.dispatchEvent(new Event("change", { bubbles: true }));
  field.blur();
}"""
# Lets a page that has another size draw itself, and what follows the size as well.
SETTLE = """() => new Promise((resolve) => {
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve, 300)));
})"""
# What a page that did not come to where it should says itself.
STATE = """() => [location.href, ...["#boot [role=status]", "#alert", "#status", "#progress-text"]
  .map((selector) => document.querySelector(selector)?.textContent.trim())
  .filter(Boolean)].join(" | ")"""


@dataclass(frozen=True)
class Message:
    """A line of a browser's console."""

    level: str
    """`error` for what a browser shows in red."""
    text: str


class Tab(ABC):
    """A page in a browser."""

    @abstractmethod
    def messages(self) -> list[Message]:
        """Return the console's lines since the tab was opened."""

    @abstractmethod
    async def goto(self, url: str) -> None:
        """Open an address, and wait until it is loaded."""

    @abstractmethod
    async def reload(self) -> None:
        """Load the page anew."""

    @abstractmethod
    async def go(self, delta: int) -> None:
        """Go back (-1) or forward (1) in the history, and wait until the page is shown."""

    @abstractmethod
    async def call(self, function: str, text: str) -> str:
        """Call an asynchronous JavaScript function of a text, which returns a text."""

    @abstractmethod
    async def click_at(self, selector: str, x: int, y: int) -> None:
        """Click an element, of which this point is in view, as a person does with a mouse."""

    @abstractmethod
    async def upload(self, selector: str, files: Sequence[Path]) -> None:
        """Choose files in a field."""

    @abstractmethod
    async def resize(self, width: int, height: int) -> None:
        """Give the page another size."""

    @abstractmethod
    async def screenshot(self) -> bytes:
        """Return a PNG picture of what is in view."""

    @abstractmethod
    async def set_offline(self, offline: bool) -> None:
        """Take the network from the page, or give it back, where the driver can do that."""

    @abstractmethod
    async def close(self) -> None:
        """Close the tab."""

    async def evaluate(self, function: str, *arguments: Any) -> Any:
        """Call a JavaScript function in the page; arguments and result travel as JSON."""
        return json.loads(await self.call(CALL % function, json.dumps(arguments)))

    async def wait_until(
        self, function: str, *arguments: Any, seconds: float = TIMEOUT_SECONDS
    ) -> Any:
        """Wait until a function returns something true, and return that."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while not (result := await self.evaluate(function, *arguments)):
            if loop.time() > end:
                state = await self.evaluate(STATE)
                raise TimeoutError(f"{function} {arguments} is still {result!r}: {state}")
            await asyncio.sleep(POLL_SECONDS)
        return result

    async def click(self, selector: str) -> None:
        """Click an element when it is visible and enabled, again if it moved away meanwhile."""
        arrived = False
        while not arrived:
            await self.click_at(selector, *await self.wait_until(CLICKABLE, selector))
            arrived = await self.evaluate(ARRIVED)

    async def fill(self, selector: str, value: str | bool) -> None:
        """Write a value into a field, choose an option, or set a mark."""
        await self.evaluate(FILL, selector, value)

    async def settle(self) -> None:
        """Let the page draw itself anew."""
        await self.evaluate(SETTLE)

    def errors(self) -> list[str]:
        """Return the texts of the console's errors since the tab was opened."""
        return [message.text for message in self.messages() if message.level == "error"]


class Browser(ABC):
    """A browser that runs, with a profile of its own."""

    version: str
    downloads: Path
    """The folder in which files land that pages give away."""

    @abstractmethod
    async def new_tab(self) -> Tab:
        """Open a tab in front of the others."""

    @abstractmethod
    async def close(self) -> None:
        """End the browser."""

    async def find_download(self, name: str) -> Path:
        """Wait until a file has landed, and return it."""
        file, size = self.downloads / name, -1
        async with asyncio.timeout(TIMEOUT_SECONDS):
            # A browser may make the file at once, and write it then.
            while not file.exists() or file.stat().st_size != size or not size:
                size = file.stat().st_size if file.exists() else -1
                await asyncio.sleep(POLL_SECONDS)
        return file
