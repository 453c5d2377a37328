"""Fixtures of journeys: the browsers of all engines, and the record of what they showed."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.built_site import serve_site
from tests.journeys.journey import Journey, start
from tools.browsers.driver import Browser
from tools.browsers.engines import ENGINES, Engine
from tools.browsers.record import FOLDER, Record


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each journey in the browsers of all engines, one browser after the other."""
    if "engine" in metafunc.fixturenames:
        metafunc.parametrize("engine", ENGINES, indirect=True, scope="session")


@pytest.fixture(scope="session")
def engine(request: pytest.FixtureRequest) -> Engine:
    """A browser that is installed here."""
    engine = ENGINES[request.param]
    if not engine.is_installed():
        pytest.skip(engine.reason)
    return engine


@pytest.fixture(scope="session")
def site_url() -> Iterator[str]:
    """The address of a server with the built site."""
    with serve_site() as url:
        yield url


@pytest.fixture(scope="session")
def record(engine: Engine) -> Iterator[Record]:
    """What journeys showed in the engine's browser."""
    record = Record(engine.name, engine.title)
    yield record
    if (folder := os.environ.get(FOLDER)) and record.version:
        record.write(Path(folder))


@pytest.fixture(scope="module")
async def browser(
    engine: Engine, record: Record, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Browser]:
    """The engine's browser, with the profile of somebody who visits page after page.

    Journeys of another file have another one: what ends a browser ends no more than one file.
    """
    folder = tmp_path_factory.mktemp(engine.name)
    browser = await start(engine, folder)
    record.version = browser.version
    yield browser
    await browser.close()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
async def journey(
    engine: Engine, browser: Browser, record: Record, site_url: str, tmp_path: Path
) -> AsyncIterator[Journey]:
    """A journey that begins in an empty tab; it fails on an error in the console."""
    journey = Journey(engine, browser, record, site_url, tmp_path, await browser.new_tab())
    yield journey
    await journey.end()
