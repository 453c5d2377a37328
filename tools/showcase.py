"""Records what the site's pages show before somebody uses them: trainings, results, pictures.

    python -m tools.showcase
    python -m tools.showcase chat.html speech.html

It opens the built site in Chromium with WebNN, and writes site/shown/ and site/parts/recorded/: all
of it, or the results and the pictures of the pages that are named. The pictures change with the
pages they show; nobody else writes them.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from tools.common import ROOT, SITE, open_browser, say
from tools.page_offers import OFFERS
from tools.recorded import FOLDER as RESULTS
from tools.recorded import RECORDERS, open_with_model
from webnnm.cli.serve import SiteServer

FOLDER = ROOT / "site" / "shown"
WIDE, TALL = 1280, 800
"""Pixels of a window."""
PART, SCALE = (430, 269), 1.5
"""Pixels of what the picture of a card shows, and how many pixels each has there. The window is as
wide, so that nothing is cut at the right."""
CARD = {"width": PART[0], "height": TALL}
QUALITY = 60
ENDED = "document.querySelector('#live-caption').textContent.includes('epoch 400 of 400')"
SHOWN = "import('./plane.js').then(({ shown }) => shown())"
TRAININGS = ("iris.html", "digits.html", "gpt.html")
"""Pages whose trainings are recorded."""
TRAINED = "document.querySelector('#result[data-done]') !== null"
RECORDED_TEXT = "A network of 354 parameters separates two spirals, after 400 epochs"
POSTED = """
globalThis.posted = [];
const { postMessage } = BroadcastChannel.prototype;
BroadcastChannel.prototype.postMessage = function noted(text) {
  posted.push(text);
  return postMessage.call(this, text);
};
"""
"""Notes what trainings tell their pages, to be there before the page."""
POINTS = 60
"""Points of a recorded curve, at most."""
STROKE = ((0.28, 0.22), (0.72, 0.22), (0.45, 0.82))
"""A seven on the pad, in shares of its size."""


async def main(names: Sequence[str]) -> None:
    """Write what the pages that are named show; without names, that of all pages."""
    FOLDER.mkdir(exist_ok=True)
    with SiteServer(SITE) as server:
        async with open_browser() as browser:
            for name in filter(RECORDERS.__contains__, names or RECORDERS):
                await record_result(browser, server.url, name)
            for scheme in ("light", "dark"):
                context = await browser.new_context(
                    viewport={"width": WIDE, "height": TALL},
                    device_scale_factor=SCALE,
                    service_workers="block",
                    color_scheme=scheme,
                )
                page = await context.new_page()
                if scheme == "light" and (not names or "index.html" in names):
                    await record(page, server.url)
                if scheme == "light":
                    trainings = [name for name in TRAININGS if not names or name in names]
                    await record_trainings(await context.new_page(), server.url, trainings)
                for name in filter(PICTURES.__contains__, names or PICTURES):
                    await PICTURES[name](page, server.url, scheme)
                await context.close()


async def record_result(browser: Any, url: str, name: str) -> None:
    """Write what the model of a page gives, if `make models` has fetched it."""
    files = OFFERS[name].model.files if name in OFFERS else ()
    if not all((SITE / "models" / file).exists() for file in files):
        say(f"{name}: left as it is, because its model is not in the site (`make models`)")
        return
    page = await browser.new_page(service_workers="block")
    await open_with_model(page, url, name)
    result = await RECORDERS[name](page)
    (RESULTS / name).write_text(f"{result.figure}\n", encoding="utf-8")
    for file, content in result.files.items():
        (FOLDER / file).write_bytes(content)
    sizes = [len(result.figure), *map(len, result.files.values())]
    say(f"{name}: {', '.join(f'{size / 1000:.1f}' for size in sizes)} kB")
    await page.close()


async def record(page: Any, url: str) -> None:
    """Write what the network of the first page decided in the end."""
    await page.goto(f"{url}/index.html")
    await page.wait_for_function(ENDED, timeout=120_000)
    shown = await page.evaluate(SHOWN)
    marks = [[round(x, 3), round(y, 3), number] for x, y, number in shown["marks"]]
    record = {"text": RECORDED_TEXT, "marks": marks, "cells": shown["cells"]}
    (FOLDER / "spirals.json").write_text(json.dumps(record, separators=(",", ":")) + "\n")


async def record_trainings(page: Any, url: str, names: Sequence[str]) -> None:
    """Write the losses of trainings, and what a language model wrote."""
    await page.add_init_script(POSTED)
    path = FOLDER / "trainings.json"
    recorded = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for name in names:
        record = record_text if name == "gpt.html" else record_losses
        await page.goto(f"{url}/{name}")
        recorded[name.removesuffix(".html")] = await record(page)
    text = json.dumps(recorded, ensure_ascii=False, separators=(",", ":"))
    path.write_text(f"{text}\n", encoding="utf-8")


async def record_losses(page: Any) -> dict[str, Any]:
    """Return the losses of a training, and how good the model is."""
    await page.locator("#train:enabled").click()
    await page.wait_for_function(TRAINED, timeout=120_000)
    messages = [json.loads(text) for text in await page.evaluate("posted")]
    losses = [row for message in messages for row in message.get("epochs", [])]
    records = [[epoch, round(loss, 4), None] for epoch, loss, _ in losses]
    accuracy = await page.locator("#accuracy").text_content()
    samples = await page.locator("#samples").text_content()
    caption = f"A recorded training: it ended right about {accuracy} {samples}."
    return {"records": records[:: -(-len(records) // POINTS)], "caption": caption}


async def record_text(page: Any) -> dict[str, Any]:
    """Return what a language model writes once it is trained."""
    await page.locator("#learn:enabled").click()
    await page.locator("#written[data-done]").wait_for(timeout=600_000)
    await page.locator("#write:enabled").click()
    await page.locator("#speed", has_text="letters written per second").wait_for()
    caption = "What a model wrote on this page, after 12 epochs. Train to see your own."
    return {"text": await page.locator("#written").text_content(), "caption": caption}


async def show_arrays(page: Any, url: str, scheme: str) -> None:
    """Take a picture of what the first program draws."""
    await page.goto(f"{url}/arrays.html")
    await page.locator("#run:enabled").click()
    await page.locator("#figures", has_text="has ended").wait_for(timeout=120_000)
    path = FOLDER / f"arrays-{scheme}.jpg"
    await page.locator("#drawing").screenshot(path=path, type="jpeg", quality=QUALITY)
    say(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1000:.0f} kB")


async def show_playground(page: Any, url: str, scheme: str) -> None:
    """Take a picture of a trained playground."""
    await page.set_viewport_size(CARD)
    await page.goto(f"{url}/playground.html#data=spirals&epochs=400")
    await page.locator("#train:enabled").click()
    await page.wait_for_function(TRAINED, timeout=120_000)
    await take(page, f"playground-{scheme}", "#plane")


async def show_digits(page: Any, url: str, scheme: str) -> None:
    """Take a picture of a digit that is drawn and read."""
    await page.set_viewport_size(CARD)
    await page.goto(f"{url}/digits.html")
    await page.locator("#epochs").fill("20")
    await page.locator("#train:enabled").click()
    await page.wait_for_function(TRAINED, timeout=120_000)
    await page.locator("#pad").scroll_into_view_if_needed()
    box = await page.locator("#pad").bounding_box()
    points = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in STROKE]
    await page.mouse.move(*points[0])
    await page.mouse.down()
    for point in points[1:]:
        await page.mouse.move(*point, steps=20)
    await page.mouse.up()
    await page.locator("#answer", has_text="7 (").wait_for()
    await take(page, f"digits-{scheme}", "#pad")


async def show_table(page: Any, url: str, scheme: str) -> None:
    """Take a picture of the test of a model of a table."""
    await page.set_viewport_size(CARD)
    await page.goto(f"{url}/table.html")
    await page.locator("#example:enabled").click()
    await page.locator("#train:enabled").click()
    await page.locator("#result:not([hidden])").wait_for(timeout=120_000)
    await take(page, f"table-{scheme}", "#tables")


PICTURES = {
    "playground.html": show_playground,
    "digits.html": show_digits,
    "table.html": show_table,
    "arrays.html": show_arrays,
}


async def take(page: Any, name: str, first: str) -> None:
    """Take the picture of a card: what a narrow window shows from an element down."""
    await page.locator(first).first.evaluate(
        "(element) => element.scrollIntoView({ behavior: 'instant' })"
    )
    await asyncio.sleep(0.5)
    box = await page.locator(first).first.bounding_box()
    width, height = PART
    await write(page, name, {"x": 0, "y": max(0, box["y"] - 4), "width": width, "height": height})
    await page.set_viewport_size({"width": WIDE, "height": TALL})


async def write(page: Any, name: str, clip: Mapping[str, float]) -> None:
    """Write a part of what a window shows as a picture."""
    path = FOLDER / f"{name}.jpg"
    await page.screenshot(path=path, type="jpeg", quality=QUALITY, clip=clip)
    say(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
