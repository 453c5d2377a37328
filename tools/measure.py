"""Measures what a page pays for webnnm: the wheel's size and the time of its import."""

from __future__ import annotations

import asyncio
import statistics

from tools import wheel
from tools.common import playwright_config, say
from tools.serve import SiteServer

LARGEST_WHEEL_KB = 150
LONGEST_IMPORT_MS = 150
ROUNDS = 5

MEASURE = """
async (index) => {
  const start = performance.now();
  const { loadPyodide } = await import(`${index}/pyodide.mjs`);
  const pyodide = await loadPyodide({ indexURL: index });
  const loaded = performance.now();
  await pyodide.loadPackage("webnnm");
  const unpacked = performance.now();
  pyodide.runPython("import webnnm");
  return [loaded - start, unpacked - loaded, performance.now() - unpacked];
}
"""


async def start_up_times(url: str) -> list[list[float]]:
    """Return milliseconds of Pyodide's start, the wheel's unpacking and its import, each round."""
    from playwright.async_api import async_playwright

    config = playwright_config()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            **config.launch_options(config.PROJECTS["webnn"])
        )
        rounds: list[list[float]] = []
        for _ in range(ROUNDS):
            page = await browser.new_page()
            await page.goto(f"{url}/vendor/pyodide/pyodide-lock.json")
            rounds.append(await page.evaluate(MEASURE, f"{url}/vendor/pyodide"))
            await page.close()
        await browser.close()
    return rounds


def main() -> None:
    """Print each measure with its limit."""
    size = wheel.current().stat().st_size / 1000
    say(f"wheel               {size:8.1f} kB   (limit {LARGEST_WHEEL_KB} kB)")
    with SiteServer() as server:
        rounds = asyncio.run(start_up_times(server.url))
    start, unpack, imported = (statistics.median(times) for times in zip(*rounds, strict=True))
    say(f"start of Pyodide    {start:8.0f} ms")
    say(f"unpacking the wheel {unpack:8.0f} ms")
    say(f"import webnnm       {imported:8.0f} ms   (limit {LONGEST_IMPORT_MS} ms)")


if __name__ == "__main__":
    main()
