"""Measures the cost of a first visit, and of keeping a large model in the browser.

A visit costs downloads, the start of Python, imports, the Iris page.

    python -m tools.measure

Times are medians; they are longer on a machine that does other things at the same time.
"""

from __future__ import annotations

import asyncio
import statistics
from typing import Any

from tools import compile_wheel, page_wheel, wheel
from tools.common import SITE, open_browser, open_empty_page, say
from webnnm.cli.serve import SiteServer

LARGEST_WHEEL_KB = 167
LARGEST_COMPILED_KB = 460
LONGEST_IMPORT_MS = 150
LONGEST_FIRST_USE_MS = 400
LONGEST_TRAINING_MS = 1500
LONGEST_KEEPING_MS = 3000
ROUNDS = 5

IMPORT = """
async (index) => {
  const start = performance.now();
  const { loadPyodide } = await import(`${index}/pyodide.mjs`);
  const pyodide = await loadPyodide({ indexURL: index });
  const loaded = performance.now();
  await pyodide.loadPackage("webnnm", { messageCallback() {} });
  const unpacked = performance.now();
  pyodide.runPython("import webnnm");
  const imported = performance.now();
  pyodide.runPython("webnnm.NNModel, webnnm.IrisDataset");
  const used = performance.now();
  return [loaded - start, unpacked - loaded, imported - unpacked, used - imported];
}
"""

TELL_WHEN_READY = "addEventListener('webnnm:ready', () => { window.ready = performance.now(); });"
TRAIN = """
async () => {
  const start = performance.now();
  document.querySelector("#train").click();
  while (!document.querySelector("#result[data-done]")) {
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  return performance.now() - start;
}
"""
BYTES = """
() => performance.getEntriesByType("resource").reduce((sum, e) => sum + e.encodedBodySize, 0)
"""


# A model of 100 MB, kept in the browser's own file system and read from there into another model.
KEEP = """
import time
from webnnm import NNModel

source = '''
m:input shape=[1024]; m:output shape=[8];
m:layers matmul(w, shape=[4096]), tanh(), matmul(w, shape=[4096]), tanh(), matmul(w, shape=[1000]),
  matmul(w);
'''
settings = {"backend": "webnn", "log": lambda _: None}
model = await NNModel.create(source=source, **settings)
began = time.perf_counter()
await model.save("browser:measured")
saved = time.perf_counter()
again = await NNModel.load("browser:measured", **settings)
loaded = time.perf_counter()
model.close()
again.close()
[1000 * (saved - began), 1000 * (loaded - saved)]
"""
RUN = """
async ({ index, code }) => {
  const { loadPyodide } = await import(`${index}/pyodide.mjs`);
  const pyodide = await loadPyodide({ indexURL: index, packages: ["webnnm"] });
  return (await pyodide.runPythonAsync(code)).toJs();
}
"""


async def keeping_times(browser: Any, url: str) -> list[float]:
    """Return the milliseconds of saving and loading a 100 MB model in a new page."""
    page = await open_empty_page(browser, url)
    times = await page.evaluate(RUN, {"index": f"{url}/vendor/pyodide", "code": KEEP})
    await page.close()
    return [*times, sum(times)]


async def import_times(browser: Any, url: str) -> list[float]:
    """Return milliseconds of Pyodide's start, unpacking, import and first use in an empty page."""
    page = await open_empty_page(browser, url)
    times = await page.evaluate(IMPORT, f"{url}/vendor/pyodide")
    await page.close()
    return times


async def visit_times(browser: Any, url: str) -> list[float]:
    """Return the cost of the Iris page: kilobytes, milliseconds to be ready, to train and test."""
    page = await browser.new_page(service_workers="block")
    await page.add_init_script(TELL_WHEN_READY)
    await page.goto(f"{url}/iris.html")
    await page.wait_for_function("window.ready")
    size, ready = await page.evaluate(BYTES) / 1000, await page.evaluate("window.ready")
    trained = await page.evaluate(TRAIN)
    await page.close()
    return [size, ready, trained, ready + trained]


async def medians(url: str) -> list[float]:
    """Return the medians of all, round by round in one browser."""
    async with open_browser() as browser:
        rounds = [
            [
                *await import_times(browser, url),
                *await visit_times(browser, url),
                *await keeping_times(browser, url),
            ]
            for _ in range(ROUNDS)
        ]
    return [statistics.median(times) for times in zip(*rounds, strict=True)]


def show(what: str, number: float, unit: str, limit: float = 0, note: str = "") -> None:
    """Print a measure with its limit."""
    if limit:
        note = f"{'limit' if number <= limit else 'MORE THAN THE LIMIT OF'} {limit} {unit}"
    say(f"{what:24}{number:9,.1f} {unit}" + (f"   ({note})" if note else ""))


def main() -> None:
    """Print each measure with its limit."""
    pages, compiled = page_wheel.current(), compile_wheel.current()
    paths = wheel.current(), *pages, *compiled
    size = {path: path.stat().st_size / 1000 for path in paths}
    show("wheel of the index", size[wheel.current()], "kB")
    show("first wheel of pages", size[pages.first], "kB", LARGEST_WHEEL_KB)
    show("… as bytecode", size[compiled.first], "kB", LARGEST_COMPILED_KB)
    show("second wheel of pages", size[pages.rest], "kB", note="fetched after a page has started")
    show("… with bytecode", size[compiled.rest], "kB")
    show("third wheel of pages", size[pages.models], "kB", note="pretrained models")
    show("… with bytecode", size[compiled.models], "kB")
    with SiteServer(SITE) as server:
        times = asyncio.run(medians(server.url))
    start, unpack, imported, used, sent, ready, trained, both, saved, loaded, kept = times
    show("start of Pyodide", start, "ms")
    show("unpacking the wheel", unpack, "ms")
    show("import webnnm", imported, "ms", LONGEST_IMPORT_MS)
    show("first use", used, "ms", LONGEST_FIRST_USE_MS)
    show("Iris page, all files", sent, "kB", note="as stored on the server, mostly uncompressed")
    show("Iris page, to ready", ready, "ms")
    show("click to tested model", trained, "ms", LONGEST_TRAINING_MS)
    show("visit to tested model", both, "ms")
    show("saving 100 MB", saved, "ms", note="to the browser's file system")
    show("loading 100 MB", loaded, "ms", note="from there")
    show("saving and loading", kept, "ms", LONGEST_KEEPING_MS)


if __name__ == "__main__":
    main()
