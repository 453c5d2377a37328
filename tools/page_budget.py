"""Measures what each page of the site loads until it can be used, and how long that takes.

    python -m tools.page_budget

It writes the table into docs/performance.md. Times are medians.
"""

from __future__ import annotations

import asyncio
import gzip
import re
import statistics
from typing import Any, NamedTuple

from tools.common import ROOT, SITE, playwright_config, say
from tools.page_parts import LINKS
from webnnm.cli.serve import SiteServer

LIMIT_KB = 60
"""Most kilobytes, gzipped, that a page may load beyond the runtime before it can be used."""
ROUNDS = 3
RUNTIME = "/vendor/"
PAGE = ROOT / "docs" / "performance.md"
TABLE = re.compile(r"(<!-- budget: begin -->\n).*?(<!-- budget: end -->)", re.S)

# Records when a page can be used, and what it has loaded by then; it is injected before the page.
# The notation is a page of text only.
WATCH = """
performance.setResourceTimingBufferSize(2000);
const note = () => {
  const entries = ["navigation", "resource"].flatMap((kind) => performance.getEntriesByType(kind));
  globalThis.usable ??= {
    at: performance.now(),
    loaded: entries.map((entry) => new URL(entry.name).pathname),
  };
};
addEventListener("webnnm:ready", note);
addEventListener("load", () => { if (!document.querySelector("script[type=py]")) note(); });
"""
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


class Visit(NamedTuple):
    """Kilobytes beyond the runtime, milliseconds until something is painted, until it is usable."""

    own_kb: float
    painted: float
    usable: float


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
    own = {path.removeprefix("/") for path in usable["loaded"] if RUNTIME not in path}
    size = sum(len(gzip.compress((SITE / path).read_bytes())) for path in own)
    return Visit(size / 1000, painted, usable["at"])


async def wait_for_value(page: Any, expression: str) -> Any:
    """Return the value of an expression, once it has one.

    It is polled from here: the policy of a page may forbid waiting inside it.
    """
    while (value := await page.evaluate(expression)) is None:
        await asyncio.sleep(0.05)
    return value


async def visits(url: str) -> dict[str, Visit]:
    """Return the medians of each page, round by round in one browser."""
    from playwright.async_api import async_playwright

    config = playwright_config()
    options = config.launch_options(config.PROJECTS["webnn"])
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(**options)
        rounds = [{name: await visit(browser, url, name) for name in LINKS} for _ in range(ROUNDS)]
        await browser.close()
    return {
        name: Visit(*map(statistics.median, zip(*(each[name] for each in rounds), strict=True)))
        for name in LINKS
    }


def table(found: dict[str, Visit]) -> str:
    """Return the measures as a table of Markdown."""
    head = (
        "| page | kB beyond the runtime | painted, ms | usable, ms |\n| --- | --: | --: | --: |\n"
    )
    return head + "".join(
        f"| `{name}` | {it.own_kb:.1f} | {it.painted:,.0f} | {it.usable:,.0f} |\n"
        for name, it in found.items()
    )


def main() -> None:
    """Measure, print and write the table."""
    with SiteServer(SITE) as server:
        results = asyncio.run(visits(server.url))
    written = table(results)
    say(written)
    PAGE.write_text(TABLE.sub(rf"\g<1>\n{written}\n\g<2>", PAGE.read_text()))
    for name, it in results.items():
        if it.own_kb > LIMIT_KB:
            say(f"MORE THAN THE LIMIT OF {LIMIT_KB} kB: {name}, {it.own_kb:.1f} kB")


if __name__ == "__main__":
    main()
