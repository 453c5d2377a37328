"""The site without a network: what a service worker keeps, and that it never hides what is new."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.browser.site_pages import HOLD_QUIET, leave_alone, open_site_page, train_on
from tools.build_site import write_service_worker
from tools.common import SITE
from webnnm.cli.serve import SiteServer

KEPT = "async () => (await caches.keys()).filter((name) => name.startsWith('webnnm '))"
PAGE = """<!doctype html><title>{}</title>
<script>
  navigator.serviceWorker.register("./service-worker.js").then(async (registration) => {{
    await registration.update();
    await navigator.serviceWorker.ready;
  }});
</script>
"""


async def test_a_second_visit_trains_without_a_network(visitor: Any) -> None:
    """The first one trains, and is then left alone."""
    await visitor.add_init_script(HOLD_QUIET)
    with SiteServer(SITE) as server:
        await open_site_page(visitor, server.url, "iris.html")
        await visitor.wait_for_function("held.length === 1")
        await train_on(visitor, epochs=5)
        assert await visitor.evaluate("held.length") > 1, "a click is a use"
        await leave_alone(visitor)
    # The server is gone.
    for address in ("iris.html", "iris.html?worker"):
        await open_site_page(visitor, server.url, address)
        result = await train_on(visitor, epochs=100)
        assert float(await result.get_attribute("data-accuracy")) >= 0.8
        assert (await result.get_attribute("data-backend")).startswith("WebNN")
    await visitor.goto(f"{server.url}/")
    await visitor.locator("html[data-ready]").wait_for(state="attached")


async def test_a_site_that_was_built_anew_shows_at_once_and_the_old_one_is_forgotten(
    visitor: Any, tmp_path: Path
) -> None:
    def build(title: str) -> None:
        (tmp_path / "index.html").write_text(PAGE.format(title))
        write_service_worker(tmp_path)

    build("old")
    with SiteServer(tmp_path) as server:
        await visitor.goto(server.url)
        await visitor.evaluate("navigator.serviceWorker.ready.then(() => null)")
        (old,) = await visitor.evaluate(KEPT)
        await visitor.reload()
        assert await visitor.evaluate("navigator.serviceWorker.controller !== null")
        build("new")
        await visitor.reload()
        assert await visitor.title() == "new"
        async with asyncio.timeout(20):
            while old in await visitor.evaluate(KEPT):
                await asyncio.sleep(0.05)
        assert len(await visitor.evaluate(KEPT)) == 1
    await visitor.goto(server.url)
    assert await visitor.title() == "new"


def test_the_whole_site_is_kept_but_for_what_no_page_asks_for() -> None:
    script = (SITE / "service-worker.js").read_text()
    for name in ("index.html", "digits.csv.gz", "vendor/pyodide/pyodide.asm.wasm", "icon.svg"):
        assert f'"./{name}"' in script
    for name in ("service-worker.js", "_headers"):
        assert f'"./{name}"' not in script
