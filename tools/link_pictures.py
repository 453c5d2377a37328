"""Takes the pictures that links to the pages of the site show elsewhere.

    python -m tools.link_pictures [PAGE...]

It opens the built site in Chromium with WebNN, and writes site/shown/links/: of a page that trains,
the card of a result, of others what they look like. `tools/page_parts.py` names them in the pages.
"""

from __future__ import annotations

import asyncio
import sys
from base64 import b64decode
from collections.abc import Awaitable, Callable
from typing import Any

from tools.common import ROOT, SITE, fail, open_browser, say
from tools.page_parts import LINK_PICTURES, LINK_SIZE, LINKS
from tools.showcase import ENDED
from webnnm.cli.serve import SiteServer

FOLDER = ROOT / "site" / LINK_PICTURES
QUALITY = 65
LIMIT_KB = 45
"""Most kilobytes of a picture."""
SCALE = 1.5
"""Pixels of a window, and of a card, for each of a picture."""
PATIENCE = 240_000
TAKE = """
(canvas, [width, height, quality]) => {
  const small = document.createElement("canvas");
  [small.width, small.height] = [width, height];
  const context = small.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.drawImage(canvas, 0, 0, width, height);
  return small.toDataURL("image/jpeg", quality);
}
"""
# Leaves the address of the page out of cards: here it is one of this machine.
LEAVE_ADDRESS_OUT = """
const { fillText } = CanvasRenderingContext2D.prototype;
CanvasRenderingContext2D.prototype.fillText = function write(text, ...rest) {
  if (!text.startsWith(location.origin)) fillText.call(this, text, ...rest);
};
"""
KNOWN = "!document.querySelector('#runs')?.textContent.trim().endsWith('…')"
"""Whether a page says what runs models."""
FONTS = "document.fonts.ready.then(() => {})"
# What is recorded is seen as a whole: the links above it leave their room where it needs that.
SHOW_RECORDED = """
() => {
  const [figure] = [...document.querySelectorAll(".recorded")].filter((each) => each.offsetHeight);
  const below = figure && figure.getBoundingClientRect().bottom > innerHeight;
  if (below) scrollTo({ top: document.querySelector("h1").offsetTop - 24, behavior: "instant" });
}
"""


async def train(page: Any) -> None:
    """Train as the page does when it is opened."""
    await page.locator("#train:enabled").click()


async def train_spirals(page: Any) -> None:
    """Train the playground on what takes it longest."""
    await page.evaluate("location.hash = 'data=spirals&epochs=400'")
    await page.wait_for_function("document.querySelector('#data').value === 'spirals'")
    await train(page)


async def train_example(page: Any) -> None:
    """Train on the rows that the page brings."""
    await page.locator("#example:enabled").click()
    await train(page)


async def learn_ready(page: Any) -> None:
    """Learn the examples that the page brings."""
    await page.locator("#ready:enabled").click()
    await page.locator("#learn:visible").click()


TRAININGS: dict[str, Callable[[Any], Awaitable[None]]] = {
    "playground.html": train_spirals,
    "iris.html": train,
    "digits.html": train,
    "table.html": train_example,
    "forecast.html": train_example,
    "sentences.html": train_example,
    "examples.html": learn_ready,
    "sounds.html": learn_ready,
}
"""Page → what trains there until there is a result to share."""


async def take_card(page: Any, name: str) -> bytes:
    """Return the card of a training."""
    await TRAININGS[name](page)
    await page.locator("#share-result").click(timeout=PATIENCE)
    picture = await page.locator(".result-card canvas").evaluate(TAKE, [*LINK_SIZE, QUALITY / 100])
    return b64decode(picture.partition(",")[2])


async def take_window(page: Any, name: str) -> bytes:
    """Return what a window shows of a page."""
    if name == "index.html":
        await page.wait_for_function(ENDED, timeout=PATIENCE)
    await page.evaluate(SHOW_RECORDED)
    await asyncio.sleep(1)  # what is recorded is drawn
    return await page.screenshot(type="jpeg", quality=QUALITY)


async def take(browser: Any, url: str, name: str) -> None:
    """Write the picture of a page."""
    width, height = LINK_SIZE
    context = await browser.new_context(
        viewport={"width": round(width * SCALE), "height": round(height * SCALE)},
        device_scale_factor=1 / SCALE,
        service_workers="block",
        color_scheme="light",
    )
    page = await context.new_page()
    await page.add_init_script(LEAVE_ADDRESS_OUT)
    await page.goto(f"{url}/{name}")
    if name != "notation.html":
        await page.locator("html[data-ready]").wait_for(state="attached", timeout=PATIENCE)
    await page.wait_for_function(KNOWN, timeout=PATIENCE)
    await page.evaluate(FONTS)
    content = await (take_card if name in TRAININGS else take_window)(page, name)
    await context.close()
    path = FOLDER / f"{name.removesuffix('.html')}.jpg"
    path.write_bytes(content)
    size = len(content) / 1000
    say(f"{path.relative_to(ROOT)}: {size:.0f} kB")
    if size > LIMIT_KB:
        fail(f"more than {LIMIT_KB} kB: lower the quality")


async def main(names: list[str]) -> None:
    """Write the pictures of these pages."""
    FOLDER.mkdir(exist_ok=True)
    with SiteServer(SITE) as server:
        async with open_browser() as browser:
            for name in names:
                await take(browser, server.url, name)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:] or [*LINKS]))
