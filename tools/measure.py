"""Measures what a page pays for webnnm: the wheel's size and the time of its import."""

from __future__ import annotations

import asyncio
import statistics

from tools import page_wheel, wheel
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
  const imported = performance.now();
  pyodide.runPython("webnnm.NNModel, webnnm.IrisDataset");
  const used = performance.now();
  return [loaded - start, unpacked - loaded, imported - unpacked, used - imported];
}
"""


async def start_up_times(url: str) -> list[list[float]]:
    """Return milliseconds of Pyodide's start, unpacking, import and first use, each round."""
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
    whole, page = (w.current().stat().st_size / 1000 for w in (wheel, page_wheel))
    say(f"wheel of the index  {whole:8.1f} kB")
    say(f"wheel of the page   {page:8.1f} kB   (limit {LARGEST_WHEEL_KB} kB)")
    with SiteServer() as server:
        rounds = asyncio.run(start_up_times(server.url))
    start, unpack, imported, used = (statistics.median(t) for t in zip(*rounds, strict=True))
    say(f"start of Pyodide    {start:8.0f} ms")
    say(f"unpacking the wheel {unpack:8.0f} ms")
    say(f"import webnnm       {imported:8.0f} ms   (limit {LONGEST_IMPORT_MS} ms)")
    say(f"first use           {used:8.0f} ms   (everything behind NNModel and IrisDataset)")


if __name__ == "__main__":
    main()
