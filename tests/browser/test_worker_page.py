"""The same training in a worker, without special headers."""

from __future__ import annotations

import json
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

import pytest

from tests.browser.first_look import check_policy, open_and_look
from tests.browser.site_pages import (
    WATCH_POLICY,
    backend_of,
    live_while_it_trains,
    open_site_page,
    result_of,
    train_on,
    write_model,
)
from tools.common import ROOT
from webnnm import backend

pytestmark = pytest.mark.projects("worker")


async def test_worker_page_trains(page: Any, site_url: str, project: Any) -> None:
    await open_and_look(page, site_url, "worker.html")
    assert await page.evaluate("crossOriginIsolated") is False
    await page.locator("#train:enabled").click()
    result = await result_of(page)
    assert float(await result.get_attribute("data-accuracy")) >= 0.8
    assert (await result.get_attribute("data-backend")).startswith(backend_of(project))
    assert "in a worker" in await page.locator("#answer").text_content()
    assert await page.locator("#progress").evaluate("bar => bar.value") == 200
    await check_policy(page)


async def test_iris_page_trains_in_a_worker_under_its_policy(
    page: Any, site_url: str, project: Any
) -> None:
    await page.add_init_script(WATCH_POLICY)
    await open_site_page(page, site_url, "iris.html?worker")
    result = await train_on(page, epochs=100)
    assert float(await result.get_attribute("data-accuracy")) >= 0.8
    assert "in a worker" in await page.locator("#backend").text_content()
    await page.locator("#classify").click()
    await page.locator("#species", has_text="%").wait_for()
    await write_model(page, "model:input shape=[5]; model:output shape=[3];")
    await page.locator("#train").click()
    await page.locator("#alert pre").wait_for()
    assert (await page.locator("#alert pre").text_content()).startswith("NNM")
    await check_policy(page)


async def test_the_page_stays_free_its_charts_grow_and_stop_reaches_the_worker(
    page: Any, site_url: str, project: Any
) -> None:
    await open_site_page(page, site_url, "iris.html?worker")
    await train_on(page, epochs=5)
    await page.locator("#closer > summary").click()
    await page.locator("#closer-charts h3", has_text="ROC").wait_for()
    # With this rate the loss falls to the end, and patience does not end the training.
    await live_while_it_trains(page, epochs="100000", lr="0.000002")


async def test_the_program_of_the_worker_runs_on_a_desktop_too() -> None:
    spec = spec_from_file_location("trainer", ROOT / "site" / "trainer.py")
    trainer = module_from_spec(spec)
    spec.loader.exec_module(trainer)
    request = {
        "source": (ROOT / "site" / "iris.nnm").read_text(),
        "seed": 0,
        "standardize": True,
        "hyperparameters": {"epochs": 60},
    }
    answer = json.loads(await trainer.train(json.dumps(request)))
    opened = await backend("auto")
    assert answer["backend"] == opened.description
    opened.close()
    assert answer["accuracy"] >= 0.8
    setosa = {"row": [5.0, 3.4, 1.4, 0.2]}
    shares = json.loads(await trainer.classify(json.dumps(setosa)))["shares"]
    assert max(shares, key=shares.get) == "setosa"
