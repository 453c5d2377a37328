"""Milliseconds of a call of EfficientNet-Lite0, from a typed array to a typed array.

    .venv/bin/python -m bench.calls

All run on WebNN in pages of their own, in turn. `make bench` writes the models that they load.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys

import numpy as np
from playwright.async_api import async_playwright

from bench.contest import LONGEST_WAIT, ROOTS
from bench.start import LARGEST_DEVIATION
from bench.training_steps import Unequal
from tools.common import SITE, playwright_config, say
from webnnm.cli.serve import SiteServer

CONTESTANTS = {
    "webnnm, values of JavaScript": "ours-values",
    "webnnm, arrays of Python": "ours-arrays",
    "webnnm, exported": "exported",
    "LiteRT.js": "litert-webnn",
    "ONNX Runtime Web": "onnxruntime",
}
ROUNDS = 3


async def main(rounds: int = ROUNDS) -> None:
    """Print the median of each contestant, and the fastest tenth, which a busy machine spares."""
    config = playwright_config()
    options = config.launch_options(config.PROJECTS["webnn"])
    times: dict[str, list[float]] = {name: [] for name in CONTESTANTS}
    with SiteServer(SITE, extra_roots=ROOTS) as server:
        async with async_playwright() as playwright:
            for number in range(rounds):
                names = [*CONTESTANTS]
                results: dict[str, list[float]] = {}
                for name in names[number % len(names) :] + names[: number % len(names)]:
                    browser = await playwright.chromium.launch(**options)
                    page = await browser.new_page()
                    await page.goto(f"{server.url}/bench/calls/page.html?who={CONTESTANTS[name]}")
                    waiting = page.wait_for_function("globalThis.first", timeout=LONGEST_WAIT)
                    first = await (await waiting).json_value()
                    await browser.close()
                    times[name] += first["times"]
                    results[name] = first["value"]
                _compare(results)
    say(f"load {os.getloadavg()[0]:.1f}")
    for name, calls in times.items():
        tenth = statistics.quantiles(calls, n=10)[0]
        say(f"{name:30} median {statistics.median(calls):5.1f} ms, a tenth below {tenth:5.1f} ms")


def _compare(results: dict[str, list[float]]) -> None:
    """Raise `Unequal` if numbers are not those of the first contestant."""
    expected = np.asarray(next(iter(results.values())))
    for name, values in results.items():
        deviation = float(np.max(np.abs(np.asarray(values) - expected)) / np.max(np.abs(expected)))
        if not deviation <= LARGEST_DEVIATION:
            raise Unequal(f"the numbers of {name} differ by {deviation:.2g}")


if __name__ == "__main__":
    asyncio.run(main(*map(int, sys.argv[1:])))
