"""The site without a network: what a service worker keeps, and that it never hides what is new."""

from __future__ import annotations

import asyncio
from pathlib import Path
from shutil import copytree, ignore_patterns
from typing import Any

import pytest

from tests.browser.hosts import Server, cloudflare_pages, github_pages
from tests.browser.site_pages import HOLD_QUIET, be_kept, leave_alone, open_site_page, train_on
from tools.build_site import write_service_worker
from tools.common import SITE
from webnnm.cli.serve import SiteServer

KEPT = "async () => (await caches.keys()).filter((name) => name.startsWith('webnnm '))"
READY = "navigator.serviceWorker.ready.then(() => null)"
INSTALLED = """async () => {
  const registration = await (await navigator.serviceWorker.getRegistration()).update();
  const worker = registration.installing ?? registration.waiting;
  return worker && new Promise((resolve) => {
    const told = () => { if (worker.state !== "installing") resolve(worker.state); };
    worker.addEventListener("statechange", told);
    told();
  });
}"""
CONTENTS = """async () => {
  const texts = {};
  for (const name of await caches.keys()) {
    const cache = await caches.open(name);
    for (const request of await cache.keys()) {
      texts[request.url] = await (await cache.match(request)).text();
    }
  }
  return texts;
}"""
LOADED = "performance.getEntriesByType('resource').map(({ name }) => name)"
PAGE = """<!doctype html><title>{}</title>
<script>
  navigator.serviceWorker.register("./service-worker.js").then(async (registration) => {{
    await registration.update();
    await navigator.serviceWorker.ready;
  }}).catch(() => null);
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


@pytest.mark.parametrize("connection", ["undefined", "{ saveData: true }", "{ type: 'cellular' }"])
async def test_what_a_visit_loads_is_kept_where_more_would_cost(
    visitor: Any, connection: str
) -> None:
    """Other browsers do not tell the connection: that is no reason to fetch the whole site."""
    script = f"Object.defineProperty(navigator, 'connection', {{ value: {connection} }})"
    await visitor.add_init_script(script)
    await visitor.add_init_script(HOLD_QUIET)
    with SiteServer(SITE) as server:
        await open_site_page(visitor, server.url, "iris.html")
        await train_on(visitor, epochs=5)
        loaded = await visitor.evaluate(LOADED)
        await leave_alone(visitor)
        # A page that comes later is kept while it is loaded.
        await open_site_page(visitor, server.url, "hello.html")
        await be_kept(visitor)
    contents = await visitor.evaluate(CONTENTS)
    pages = {Path(address).name for address in contents if address.endswith(".html")}
    assert pages == {"iris.html", "hello.html"}
    later = await visitor.evaluate(LOADED)
    assert {*contents} <= {*loaded, *later, f"{server.url}/iris.html", f"{server.url}/hello.html"}
    await open_site_page(visitor, server.url, "iris.html")
    result = await train_on(visitor, epochs=100)
    assert float(await result.get_attribute("data-accuracy")) >= 0.8


async def test_what_visits_load_outlasts_a_build_and_needs_no_patience(
    visitor: Any, tmp_path: Path
) -> None:
    await visitor.add_init_script("delete Navigator.prototype.connection")
    await visitor.add_init_script(HOLD_QUIET)
    seldom = ignore_patterns("models", "docs")
    site = copytree(SITE, tmp_path / "site", ignore=seldom)
    with SiteServer(site) as server:
        await open_site_page(visitor, server.url, "worker.html")
        await leave_alone(visitor)
        # The files of the worker pass by the service worker from now on.
        await open_site_page(visitor, server.url, "worker.html")
        await visitor.locator("#runs", has_text="WebNN").wait_for()
        await be_kept(visitor)
        before = await visitor.evaluate(CONTENTS)
        (site / "notation.html").write_text("<!doctype html><title>new</title>")
        write_service_worker(site)
        # A service worker that fetched anything now would not be installed.
        for path in site.rglob("*"):
            if path.is_file() and path.name != "service-worker.js":
                path.unlink()
        assert await visitor.evaluate(INSTALLED) != "redundant"
        async with asyncio.timeout(20):
            while len(await visitor.evaluate(KEPT)) > 1:
                await asyncio.sleep(0.05)
        assert {*await visitor.evaluate(CONTENTS)} == {*before}
    await open_site_page(visitor, server.url, "worker.html")
    await visitor.locator("#train").click()
    await visitor.locator("#result[data-done]").wait_for()


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
    assert (SITE / "docs" / "index.html").exists()
    for folder in ("docs", "__pycache__"):
        assert f'"./{folder}/' not in script


def small_site(folder: Path, title: str, *, edited: bool = False) -> Path:
    """Write a site of a page and a script."""
    folder.mkdir(exist_ok=True)
    (folder / "a.js").write_text(f"globalThis.shown = {title!r};")
    page = PAGE.format(title) + '<script src="./a.js"></script>'
    (folder / "index.html").write_text(page)
    (folder / "more.html").write_text(page.replace(title, f"{title} more"))
    write_service_worker(folder)
    if edited:
        script = folder / "service-worker.js"
        script.write_text(script.read_text().replace('"edited": false', '"edited": true'))
    return folder


async def visit_and_keep(visitor: Any, address: str) -> None:
    """Visit a page, and once more when its service worker answers for it."""
    await visitor.goto(address)
    await visitor.evaluate(READY)
    await visitor.reload()
    assert await visitor.evaluate("navigator.serviceWorker.controller !== null")


async def test_two_sites_at_one_origin_leave_each_other_alone(visitor: Any, tmp_path: Path) -> None:
    sites = {name: small_site(tmp_path / name, f"site {name}") for name in ("a", "b")}
    with github_pages(sites) as server:
        for name in ("a", "b", "a"):
            await visit_and_keep(visitor, f"{server.url}/{name}/")
        kept = await visitor.evaluate(KEPT)
        assert sorted(name.rpartition(" ")[0] for name in kept) == [
            f"webnnm {server.url}/{name}/" for name in ("a", "b")
        ]
        # A new build of one of them removes its own files only.
        small_site(sites["a"], "new a")
        (other,) = [name for name in kept if "/b/" in name]
        (old,) = [name for name in kept if "/a/" in name]
        await visitor.reload()
        assert await visitor.title() == "new a"
        async with asyncio.timeout(20):
            while old in await visitor.evaluate(KEPT):
                await asyncio.sleep(0.05)
        assert other in await visitor.evaluate(KEPT)
    for name, title in (("a", "new a"), ("b", "site b")):
        await visitor.goto(f"{server.url}/{name}/")
        assert await visitor.title() == title


async def test_a_new_build_shows_where_files_last_for_minutes(visitor: Any, tmp_path: Path) -> None:
    site = small_site(tmp_path / "a", "old")
    with github_pages({"a": site}) as server:
        await visit_and_keep(visitor, f"{server.url}/a/")
        small_site(site, "new")
        await visitor.goto(f"{server.url}/a/more.html")
        await visitor.goto(f"{server.url}/a/")
        assert await visitor.title() == "new"
        assert await visitor.evaluate("shown") == "new"


@pytest.mark.parametrize("way", ["503", "hang"])
async def test_a_server_that_does_not_answer_is_none(
    visitor: Any, tmp_path: Path, way: str, page_log: Any
) -> None:
    site = small_site(tmp_path / "a", "kept")
    with Server({"a": site}) as server:
        await visit_and_keep(visitor, f"{server.url}/a/")
        server.way = way
        await visitor.goto(f"{server.url}/a/")
        assert await visitor.title() == "kept"
        assert await visitor.evaluate("shown") == "kept"
        server.way = ""
        server.released.set()


@pytest.mark.parametrize("edited", [False, True])
async def test_what_is_not_of_the_build_is_never_kept(
    visitor: Any, tmp_path: Path, edited: bool, page_log: Any
) -> None:
    site = small_site(tmp_path / "a", "kept", edited=edited)
    with Server({"a": site}) as server:
        await visit_and_keep(visitor, f"{server.url}/a/")
        before = await visitor.evaluate(CONTENTS)
        assert before[f"{server.url}/a/a.js"] == "globalThis.shown = 'kept';"
        server.way = "login"
        for name in ("", "more.html", "?evil=1", "a.js", "a.js?evil=1"):
            await visitor.goto(f"{server.url}/a/{name}")
            assert "Sign in" in await visitor.content()
        assert await visitor.evaluate(CONTENTS) == before
        # Nor is it installed: a build whose files are something else is not there yet.
        small_site(site, "new", edited=edited)
        server.way = "half"
        assert await visitor.evaluate(INSTALLED) == "redundant"
    await visitor.goto(f"{server.url}/a/")
    assert await visitor.title() == "kept"
    assert await visitor.evaluate("shown") == "kept"


async def test_an_edited_page_is_kept_when_it_was_seen(visitor: Any, tmp_path: Path) -> None:
    site = small_site(tmp_path / "a", "kept", edited=True)
    with Server({"a": site}) as server:
        await visit_and_keep(visitor, f"{server.url}/a/")
        page = site / "index.html"
        page.write_text(page.read_text().replace("kept", "edited"))
        await visitor.goto(f"{server.url}/a/")
        async with asyncio.timeout(20):
            while "edited" not in (await visitor.evaluate(CONTENTS))[f"{server.url}/a/"]:
                await asyncio.sleep(0.05)
    await visitor.goto(f"{server.url}/a/")
    assert await visitor.title() == "edited"


async def test_pages_without_their_ending_are_kept_too(visitor: Any, tmp_path: Path) -> None:
    site = small_site(tmp_path / "a", "kept")
    with cloudflare_pages(site) as server:
        await visit_and_keep(visitor, f"{server.url}/")
        await visitor.goto(f"{server.url}/more")
        assert await visitor.title() == "kept more"
    for address in ("more", "more.html", "index.html", ""):
        await visitor.goto(f"{server.url}/{address}")
        assert (await visitor.title()).startswith("kept")


POLICIES = """async (addresses) => Object.fromEntries(await Promise.all(addresses.map(
  async (address) => {
    const { headers } = await fetch(address);
    return [address, [headers.get("content-security-policy"), headers.get("referrer-policy")]];
  })))"""


async def test_every_address_has_a_policy_however_a_host_names_it(visitor: Any) -> None:
    pages = [path.stem for path in SITE.glob("*.html")]
    others = ["icon.svg", "programs/life.py", "no-such-page", "boot.js"]
    others += ["docs/", "docs/backends", "docs/assets/run.js"]
    names = ["", *pages, *(f"{name}.html" for name in pages), *others]
    with cloudflare_pages(SITE) as server:
        await visitor.goto(f"{server.url}/notation")
        await visitor.goto(f"{server.url}/playground")
        policies = await visitor.evaluate(POLICIES, [f"{server.url}/{name}" for name in names])
        await visitor.goto("about:blank")  # the page is still starting, and the server ends
    for address, (policy, referrer) in policies.items():
        assert policy and "default-src 'none'" in policy, address
        assert referrer == "no-referrer", address
        assert "http" not in policy and "unsafe-hashes" not in policy, address
        name = address.removeprefix(f"{server.url}/")
        if name.removesuffix(".html") == "playground":  # it may be in frames of any site
            assert policy.count("*") == policy.count("frame-ancestors *") == 1
        else:
            assert "*" not in policy, address
        if name.removesuffix(".html") in pages or name.startswith("docs/") or not name:
            refuses = "frame-ancestors 'none'" in policy
            assert refuses == (not name.startswith("playground")), address
    # What pages do not need is taken from each of them, with or without the ending.
    for name in ("playground", "playground.html", ""):
        assert policies[f"{server.url}/{name}"][0].endswith("worker-src 'self'")
    assert policies[f"{server.url}/iris"][0].endswith("worker-src 'self' blob:")
