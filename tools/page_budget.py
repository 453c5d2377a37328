"""Measures what each page of the site loads until it can be used, and how long that takes.

    python -m tools.page_budget

It writes the tables into docs/performance.md. Times are medians.
"""

from __future__ import annotations

import asyncio
import re
import statistics
import sys
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from tools.common import ROOT, SITE, open_browser, playwright_config, say
from tools.page_parts import LINKS
from webnnm.cli.serve import SiteServer

LIMIT_KB = 84
"""Most kilobytes that a page may load beyond the runtime before it can be used."""
LIMIT_ALL_KB = 5_760
"""Most kilobytes with the runtime and the typeface, where WebNN runs the models."""
_SMALL = ("index.html", "hello.html", "iris.html", "worker.html")
_PRETRAINED = ("aloud", "chat", "gpt", "hub", "search", "teach", "transcribe", "writes")
LIMITS_ALL_KB = {
    **dict.fromkeys(_SMALL, 4_900),
    **dict.fromkeys((f"{name}.html" for name in _PRETRAINED), 6_050),
}
"""That of pages that start without the second wheel, or with the third one."""
LIMIT_FIRST_KB = 120
"""Most kilobytes that the first page may load beside Python and what connects it to pages: what it
takes to show itself, with its typeface and its pictures."""
ROUNDS = 3
RUNTIME = "/vendor/"
PYTHON = ("/vendor/pyodide/", "/vendor/pyscript/", "/vendor/webnnm/")
PAGE = ROOT / "docs" / "performance.md"
TABLE = "(<!-- {0}: begin -->\n).*?(<!-- {0}: end -->)"

# Records when a page can be used, and what it has loaded by then; it is injected before the page.
# The notation is a page of text only.
WATCH = """
performance.setResourceTimingBufferSize(2000);
const note = () => {
  const entries = ["navigation", "resource"].flatMap((kind) => performance.getEntriesByType(kind));
  globalThis.usable ??= {
    at: performance.now(),
    loaded: entries.map(({ name, transferSize }) => [new URL(name).pathname, transferSize]),
  };
};
addEventListener("webnnm:ready", note);
addEventListener("load", () => { if (!document.querySelector("script[type=py]")) note(); });
"""
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
TRAIN = "document.querySelector('#train').click()"
TRAINED = "document.querySelector('#result[data-done]') && performance.now()"


class Visit(NamedTuple):
    """Kilobytes over the wire beyond the runtime, with typeface and pictures, and in all;
    milliseconds until something is painted, until the page is usable."""

    own_kb: float
    shown_kb: float
    all_kb: float
    painted: float
    usable: float


class Device(NamedTuple):
    """A device that the browser emulates: its network, and how many times slower it computes."""

    bits_per_second: float
    latency_ms: float
    slowdown: float = 1

    async def emulate(self, session: Any) -> None:
        """Have the page of a session of the DevTools protocol run as on this device."""
        throughput = self.bits_per_second / 8
        network = {
            "offline": False,
            "latency": self.latency_ms,
            "downloadThroughput": throughput,
            "uploadThroughput": throughput,
        }
        await session.send("Network.enable")
        await session.send("Network.emulateNetworkConditions", network)
        await session.send("Emulation.setCPUThrottlingRate", {"rate": self.slowdown})


LAPTOP = Device(10e6, 40)
PHONE = Device(1.6e6, 150, slowdown=4)


class SlowVisit(NamedTuple):
    """Kilobytes until a page is usable, seconds until it is, and until a model is tested."""

    all_kb: float
    usable: float
    tested: float


async def visit(browser: Any, url: str, name: str) -> Visit:
    """Open a page for the first time."""
    page = await browser.new_page(service_workers="block")
    await page.add_init_script(WATCH)
    await page.goto(f"{url}/{name}")
    usable, painted = (
        await wait_for_value(page, "globalThis.usable"),
        await wait_for_value(page, PAINTED),
    )
    await page.close()
    own = sum(size for path, size in usable["loaded"] if RUNTIME not in path)
    shown = sum(size for path, size in usable["loaded"] if not path.startswith(PYTHON))
    return Visit(own / 1000, shown / 1000, sum_bytes(usable) / 1000, painted, usable["at"])


def sum_bytes(usable: dict[str, Any]) -> int:
    """Return the bytes of all responses until a page was usable, as they came over the wire."""
    return sum(size for _, size in usable["loaded"])


async def train_slowly(context: Any, device: Device, address: str) -> SlowVisit:
    """Open a page as on a device in a browser as it is, and train and test its model."""
    page = await context.new_page()
    await device.emulate(await context.new_cdp_session(page))
    await page.add_init_script(WATCH)
    await page.goto(address, wait_until="commit")
    usable = await wait_for_value(page, "globalThis.usable")
    await page.evaluate(TRAIN)
    tested = await wait_for_value(page, TRAINED)
    await page.close()
    return SlowVisit(sum_bytes(usable) / 1000, usable["at"] / 1000, tested / 1000)


async def wait_for_value(page: Any, expression: str) -> Any:
    """Return the value of an expression, once it has one.

    It is polled from here: the policy of a page may forbid waiting inside it.
    """
    while not (value := await page.evaluate(expression)):
        await asyncio.sleep(0.05)
    return value


async def visits(url: str) -> dict[str, Visit]:
    """Return the medians of each page, round by round in one browser."""
    async with open_browser() as browser:
        rounds = [{name: await visit(browser, url, name) for name in LINKS} for _ in range(ROUNDS)]
    return {
        name: Visit(*map(statistics.median, zip(*(pages[name] for pages in rounds), strict=True)))
        for name in LINKS
    }


async def slow_visits(project: str, device: Device, address: str) -> tuple[SlowVisit, SlowVisit]:
    """Return the medians of first and of second visits to a page as on a device."""
    from playwright.async_api import async_playwright

    rounds: list[tuple[SlowVisit, SlowVisit]] = []
    for _ in range(ROUNDS):
        # A profile on the disk: a cache in memory has no room for files of megabytes.
        with TemporaryDirectory() as profile:
            async with async_playwright() as playwright:
                context = await playwright.chromium.launch_persistent_context(
                    profile,
                    service_workers="block",  # theirs would not be slow
                    **playwright_config().launch_options(project),
                )
                first = await train_slowly(context, device, address)
                rounds.append((first, await train_slowly(context, device, address)))
                await context.close()
    first, second = (
        SlowVisit(*map(statistics.median, zip(*visits, strict=True)))
        for visits in zip(*rounds, strict=True)
    )
    return first, second


def table(measures: dict[str, Visit]) -> str:
    """Return the measures as a table of Markdown."""
    head = (
        "| page | kB beyond the runtime | with typeface, pictures | kB in all | painted, ms "
        "| usable, ms |\n"
        "| --- | --: | --: | --: | --: | --: |\n"
    )
    return head + "".join(
        f"| `{name}` | {it.own_kb:.1f} | {it.shown_kb:.1f} | {it.all_kb:,.0f} | {it.painted:,.0f} "
        f"| {it.usable:,.0f} |\n"
        for name, it in measures.items()
    )


def slow_table(measures: dict[str, SlowVisit]) -> str:
    """Return the measures as on slow devices as a table of Markdown."""
    head = "| visit | kB | usable, s | trained and tested, s |\n| --- | --: | --: | --: |\n"
    return head + "".join(
        f"| {name} | {it.all_kb:,.0f} | {it.usable:.1f} | {it.tested:.1f} |\n"
        for name, it in measures.items()
    )


async def measure_slow_visits(url: str) -> dict[str, SlowVisit]:
    """Return the measures of pages that train as on slow devices."""
    visited = {
        "Iris, with WebNN": ("webnn", LAPTOP, "iris.html"),
        "Iris, without WebNN": ("no-webnn", LAPTOP, "iris.html"),
        "playground, phone": ("webnn", PHONE, "playground.html"),
    }
    measures: dict[str, SlowVisit] = {}
    for title, (project, device, name) in visited.items():
        first, second = await slow_visits(project, device, f"{url}/{name}")
        measures |= {f"first, {title}": first, f"second, {title}": second}
    return measures


def write(part: str, text: str) -> None:
    """Print a table, and write it into the document."""
    say(text)
    pattern = re.compile(TABLE.format(part), re.DOTALL)
    PAGE.write_text(pattern.sub(rf"\g<1>\n{text}\n\g<2>", PAGE.read_text()))


def main() -> None:
    """Measure, print and write the tables that the command line names, by default both."""
    tables = sys.argv[1:] or ["budget", "slow network"]
    with SiteServer(SITE) as server:
        if "slow network" in tables:
            write("slow network", slow_table(asyncio.run(measure_slow_visits(server.url))))
        if "budget" in tables:
            results = asyncio.run(visits(server.url))
            write("budget", table(results))
            for name, it in results.items():
                if it.own_kb > LIMIT_KB or it.all_kb > LIMITS_ALL_KB.get(name, LIMIT_ALL_KB):
                    say(f"MORE THAN THE LIMIT: {name}, {it.own_kb:.1f} of {it.all_kb:,.0f} kB")


if __name__ == "__main__":
    main()
