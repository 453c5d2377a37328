"""Fixtures of the browser tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, BrowserContext, Page, async_playwright

from tests.browser.harness import (
    ONLY_LOCAL,
    PageLog,
    PyodidePage,
    hide_numpy,
    limit_waits,
    open_pyodide,
    pages_have_numpy,
)
from tests.browser.visits import Visits
from tests.built_site import serve_site
from tools.common import playwright_config

Launch = Callable[..., Awaitable[Browser]]
NewPage = Callable[[Browser], Awaitable[Page]]
WEBNN_PAGES = frozenset({"pyodide_page", "pyodide_page_without_numpy", "webnn_context"})

Visit = Callable[..., Awaitable[Visits]]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that uses `project` in those of its marker, else in the usual ones."""
    if "project" in metafunc.fixturenames:
        marker = metafunc.definition.get_closest_marker("projects")
        names = marker.args if marker else playwright_config().EVERYWHERE
        metafunc.parametrize("project", names, ids=names, indirect=True, scope="session")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark a test as one of WebNN if it uses the page in which all such tests compute."""
    if WEBNN_PAGES.intersection(getattr(item, "fixturenames", ())):
        item.add_marker(pytest.mark.webnn)


@pytest.fixture(scope="session")
def site_url() -> Iterator[str]:
    """The address of a server with the built site, the test pages and the test runtime."""
    with serve_site() as url:
        yield url


@pytest.fixture(scope="session")
async def launch() -> AsyncIterator[Launch]:
    """A function that starts the browser of a project once and gives it again later.

    Further arguments are those of the browser's command line.
    """
    config = playwright_config()
    browsers: dict[str, Browser] = {}
    async with async_playwright() as playwright:

        async def start(name: str, *arguments: str) -> Browser:
            project = config.PROJECTS[name]
            # Projects that start the browser alike share one process.
            options = config.launch_options(project)
            key = " ".join([options["executable_path"], *project.arguments, *arguments])
            if key not in browsers:
                options["args"] = [*options["args"], ONLY_LOCAL, *arguments]
                browsers[key] = await playwright.chromium.launch(**options)
            return browsers[key]

        yield start
        for browser in browsers.values():
            await browser.close()


@pytest.fixture
async def profile(tmp_path: Path) -> AsyncIterator[BrowserContext]:
    """A context with WebNN that keeps on disk what pages store, as a visitor's browser does.

    Those of other tests keep it in memory, where a large file has no room in the cache, and one in
    IndexedDB is lost if the process of its page ends before all of it has left that process.
    """
    options = playwright_config().launch_options("webnn")
    options["args"] = [*options["args"], ONLY_LOCAL]
    async with async_playwright() as playwright:
        context = await playwright.chromium.launch_persistent_context(
            str(tmp_path), service_workers="block", **options
        )
        limit_waits(context)
        yield context
        await context.close()


@pytest.fixture(scope="session")
def numpy_in_pages(site_url: str) -> None:
    """Skip a test that needs NumPy inside a page where there is none for it."""
    if not pages_have_numpy():
        pytest.skip("no NumPy for Pyodide on this machine")


@pytest.fixture(scope="session")
def project(request: pytest.FixtureRequest) -> Any:
    """The browser project of playwright.config.py that the test runs in."""
    return playwright_config().PROJECTS[request.param]


@pytest.fixture
async def browser(project: Any, launch: Launch) -> Browser:
    """The browser of the test's project."""
    return await launch(project.name)


@pytest.fixture
async def page_log() -> AsyncIterator[PageLog]:
    """What the test's pages said; the test fails on uncaught errors and requests to other hosts.

    A test that expects such clears them.
    """
    log = PageLog()
    yield log
    log.check()


@pytest.fixture(scope="session")
async def visit(launch: Launch, site_url: str) -> AsyncIterator[Visit]:
    """A function that gives the context of a browser that its tests share, empty.

    Another one lets service workers in.
    """
    shared: dict[tuple[Browser, bool], Visits] = {}

    async def begin(browser: Browser, *, service_workers: bool = False) -> Visits:
        key = browser, service_workers
        found = shared.get(key)
        if found and not await found.is_alive():
            await shared.pop(key).context.close()
        if key not in shared:
            # Where there is no WebNN, pages take NumPy.
            needs_numpy = browser is await launch("no-webnn") and pages_have_numpy()
            packages = ["numpy"] if needs_numpy else []
            shared[key] = await Visits.begin(
                browser, site_url, packages, service_workers=service_workers
            )
        await shared[key].empty()
        return shared[key]

    yield begin
    for visits in shared.values():
        await visits.context.close()


@asynccontextmanager
async def as_new(
    browser: Browser, visit: Visit, *, service_workers: bool = False
) -> AsyncIterator[BrowserContext]:
    """Give the context of a browser that tests share, empty, and leave it so."""
    visits = await visit(browser, service_workers=service_workers)
    yield visits.context
    await visits.empty()


@pytest.fixture
async def context(browser: Browser, visit: Visit) -> AsyncIterator[BrowserContext]:
    """A context of the project's browser as if it were new."""
    async with as_new(browser, visit) as context:
        yield context


@pytest.fixture
async def webnn_context(launch: Launch, visit: Visit) -> AsyncIterator[BrowserContext]:
    """A context with WebNN as if it were new."""
    async with as_new(await launch("webnn"), visit) as context:
        yield context


@pytest.fixture
async def context_without_webnn(launch: Launch, visit: Visit) -> AsyncIterator[BrowserContext]:
    """A context without WebNN as if it were new."""
    async with as_new(await launch("no-webnn"), visit) as context:
        yield context


@pytest.fixture
async def visitor(launch: Launch, visit: Visit, page_log: PageLog) -> AsyncIterator[Page]:
    """An empty page of a browser with WebNN that lets service workers in."""
    async with as_new(await launch("webnn"), visit, service_workers=True) as context:
        page = await context.new_page()
        page_log.watch(page)
        yield page


@pytest.fixture
async def page(context: BrowserContext, page_log: PageLog) -> Page:
    """An empty page."""
    page = await context.new_page()
    page_log.watch(page)
    return page


@pytest.fixture
async def new_page(page_log: PageLog) -> AsyncIterator[NewPage]:
    """A function that opens a page in a browser, in a context of its own."""
    contexts: list[BrowserContext] = []

    async def start(browser: Browser) -> Page:
        contexts.append(await browser.new_context(viewport={"width": 1280, "height": 800}))
        page = await contexts[-1].new_page()
        page_log.watch(page)
        return page

    yield start
    for context in contexts:
        await context.close()


@pytest.fixture
async def without_numpy(context: BrowserContext) -> None:
    """Makes NumPy unavailable to the test's page."""
    await hide_numpy(context)


@pytest.fixture
async def without_onnxruntime(context: BrowserContext) -> None:
    """Makes ONNX Runtime Web unavailable to the test's page."""
    await context.route("**/vendor/onnxruntime/**", lambda route: route.fulfill(status=404))


@pytest.fixture(scope="session")
async def pyodide_page(launch: Launch, site_url: str) -> AsyncIterator[PyodidePage]:
    """A page with WebNN and Pyodide that all tests share: `await pyodide_page.run_python(…)`."""
    page = await open_pyodide(await launch("webnn"), site_url)
    yield page
    await page.page.context.close()
    page.log.check()


@pytest.fixture(scope="session")
async def second_pyodide_page(launch: Launch, site_url: str) -> AsyncIterator[PyodidePage]:
    """The same page in the second of the bundled Chromiums."""
    page = await open_pyodide(await launch(playwright_config().SECOND), site_url)
    yield page
    await page.page.context.close()
    page.log.check()


@pytest.fixture(scope="session")
async def pyodide_page_without_webnn(launch: Launch, site_url: str) -> AsyncIterator[PyodidePage]:
    """The same page in a browser without WebNN, so that NumPy does the work."""
    page = await open_pyodide(await launch("no-webnn"), site_url)
    yield page
    await page.page.context.close()
    page.log.check()


@pytest.fixture(scope="session")
async def pyodide_page_without_numpy(launch: Launch, site_url: str) -> AsyncIterator[PyodidePage]:
    """The same page with WebNN where NumPy cannot be had."""
    page = await open_pyodide(await launch("webnn"), site_url, numpy=False)
    yield page
    await page.page.context.close()
    page.log.check()


@pytest.fixture(scope="session")
async def pyodide_page_bare(launch: Launch, site_url: str) -> AsyncIterator[PyodidePage]:
    """The same page with neither WebNN nor NumPy."""
    page = await open_pyodide(await launch("no-webnn"), site_url, numpy=False)
    yield page
    await page.page.context.close()
    page.log.check()
