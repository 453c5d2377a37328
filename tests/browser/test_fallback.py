"""Pages where something is missing: WebNN, NumPy, or both."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.site_pages import (
    open_site_page,
    result_of,
    says_that_numpy_will_train,
    skip_where_nothing_runs,
    train_on,
)
from tools.common import SITE
from webnnm.cli.serve import SiteServer

THOSE_THAT_TRAIN = ("iris.html", "digits.html", "iris.html?worker", "worker.html")


# Iris and digits say it in the tests that train them.
@pytest.mark.projects("no-webnn")
@pytest.mark.parametrize("name", ["iris.html?worker", "worker.html"])
async def test_a_page_says_before_anybody_trains_that_numpy_will(
    page: Any, site_url: str, project: Any, name: str
) -> None:
    skip_where_nothing_runs(project)
    await open_site_page(page, site_url, name)
    await says_that_numpy_will_train(page)


@pytest.mark.projects("no-webnn")
async def test_without_webnn_and_numpy_onnx_runtime_trains(
    page: Any, without_numpy: None, site_url: str, project: Any
) -> None:
    await open_site_page(page, site_url, "iris.html")
    result = await train_on(page, epochs=100)
    assert float(await result.get_attribute("data-accuracy")) >= 0.8
    assert "ONNX Runtime Web (WebAssembly)" in await page.locator("#backend").text_content()
    await page.locator("#classify").click()
    await page.locator("#species", has_text="%").wait_for()


@pytest.mark.projects("webnn")
async def test_with_webnn_numpy_is_not_needed(
    page: Any, without_numpy: None, site_url: str, project: Any
) -> None:
    await open_site_page(page, site_url, "iris.html")
    result = await train_on(page, epochs=100)
    assert float(await result.get_attribute("data-accuracy")) >= 0.8
    await page.locator("#classify").click()
    await page.locator("#species", has_text="%").wait_for()


@pytest.mark.projects("webnn")
async def test_hello_with_webnn_needs_no_numpy(
    page: Any, without_numpy: None, site_url: str, project: Any
) -> None:
    await open_site_page(page, site_url, "hello.html")
    assert await (await result_of(page)).get_attribute("data-output") == "4, 9, 16, 25, 36"


@pytest.mark.projects("no-webnn")
@pytest.mark.parametrize("name", [*THOSE_THAT_TRAIN, "hello.html"])
async def test_without_all_the_page_says_what_is_missing_before_anybody_trains_and_then(
    page: Any,
    without_numpy: None,
    without_onnxruntime: None,
    site_url: str,
    project: Any,
    name: str,
) -> None:
    await open_site_page(page, site_url, name)
    trains = name in THOSE_THAT_TRAIN
    if trains:
        await page.locator("#runs", has_text="odels cannot run: this page has neither").wait_for()
        assert await page.locator("#result[data-done]").count() == 0
        await page.locator("#train:enabled").click()
    message = page.locator("#alert pre")
    await message.wait_for()
    text = await message.text_content()
    assert text.startswith("NNM709")
    assert "numpy" in text.lower()
    assert "hint: " in text
    if trains:
        assert await page.locator("#train").is_enabled()


@pytest.mark.projects("no-webnn")
async def test_a_copy_of_the_site_has_the_document_to_which_it_links_and_does_not_ask(
    page: Any, project: Any
) -> None:
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    with SiteServer(SITE) as server:
        await open_site_page(page, server.url, "index.html")
        runs = page.locator("#runs", has_text="chrome://flags/")
        await runs.locator("summary").click()
        link = runs.get_by_role("link")
        await link.wait_for()
        assert not [url for url in requests if "/docs/" in url]
        await link.click()
        await page.locator("h2#webnn-in-browsers").wait_for()
        await page.goto("about:blank")  # before the server ends


@pytest.mark.projects("webnn")
async def test_a_clipboard_that_cannot_be_written_is_told_in_the_page(
    page: Any, site_url: str, project: Any
) -> None:
    await page.add_init_script(
        "navigator.clipboard.writeText = async () => { throw new DOMException('no'); }"
    )
    await open_site_page(page, site_url, "index.html")
    await page.locator("#copy").click()
    await page.locator("#alert", has_text="does not let this page copy").wait_for()
    assert await page.locator("#copy").text_content() == "Copy"
