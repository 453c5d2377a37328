"""Pages with language models: one that learns letters from nothing, one that learns a style."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.browser.first_look import check_policy, open_and_look
from tests.browser.saved_pages import open_saved_page
from tests.browser.site_pages import check_usable, open_site_page
from tests.browser.test_model_pages import in_one_browser


async def quickly(page: Any, **fields: str) -> None:
    """Fill in the form of the GPT page for a small training, and begin it."""
    await page.locator("#text").fill("the cat sat on the mat. " * 60)
    await page.locator("#width").select_option("64")
    for name, value in {"layers": "1", "epochs": "3", **fields}.items():
        await page.locator(f"#{name}").fill(value)
    await page.locator("#learn").click()


async def end(page: Any) -> None:
    await page.locator("#written[data-done]").wait_for(state="attached")
    await page.locator("#learn:enabled").wait_for()


@in_one_browser
async def test_a_tiny_gpt_learns_and_writes(page: Any, site_url: str, tmp_path: Path) -> None:
    await open_and_look(page, site_url, "gpt.html")
    assert "KING:" in await page.locator("#text").input_value()
    assert await page.locator("#write").is_disabled()
    await quickly(page)
    await end(page)
    assert "Epoch 3 of 3 · loss " in await page.locator("#progress-text").text_content()
    assert "letters learnt per second, on WebNN" in await page.locator("#speed").text_content()
    assert "shape=[11, 64] init=normal(0.02)" in await page.locator("#source").text_content()
    written = await page.locator("#written").text_content()
    assert written.startswith("the") and len(written) == len("the") + 60
    await page.locator("#write:enabled").press("Enter")
    await page.locator("#speed", has_text="letters written per second").wait_for()
    assert len(await page.locator("#written").text_content()) == len("the") + 400
    async with open_saved_page(page, tmp_path) as tab:
        await tab.locator("webnnm-model textarea").fill("the cat")
        await tab.get_by_role("button", name="Predict").click()
        followers = await tab.locator("webnnm-model form p").text_content()
        assert len(followers) == len("the cat")
    await page.locator("#prompt").fill("K")
    await page.locator("#write:enabled").click()
    await page.locator("#alert", has_text="NNM711: the training text has no 'K'").wait_for()
    await check_policy(page)
    await check_usable(page)


@in_one_browser
async def test_a_tiny_gpt_can_be_stopped(page: Any, site_url: str) -> None:
    await open_site_page(page, site_url, "gpt.html")
    await quickly(page, epochs="1000")
    await page.locator("#progress-text", has_text="Epoch ").wait_for()
    await page.locator("#stop").click()
    await end(page)
    assert "stopped by you" in await page.locator("#progress-text").text_content()


@in_one_browser
async def test_a_style_page_says_what_it_would_fetch(page: Any, site_url: str) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    await open_site_page(page, site_url, "teach.html")
    facts = await page.locator("#offer").text_content()
    assert "Apache-2.0" in facts and "98.4 MB" in facts
    assert (await page.locator("#sentences").input_value()).count("\n") == 31
    assert await page.locator("#teach").is_disabled()
    assert not [url for url in asked if url.endswith(".gguf")]
    await check_usable(page)
