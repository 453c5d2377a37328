"""The page that shows how a language model writes, with SmolLM2 where it was fetched."""

from __future__ import annotations

from typing import Any

from tests.browser.site_pages import SMOLLM2, check_usable, needs, open_site_page
from tests.browser.test_model_pages import in_one_browser, ready


async def wait_for_text(page: Any, text: str) -> None:
    """Wait until a text is read."""
    await page.wait_for_function(
        "(text) => document.querySelector('#figures').dataset.text === text", arg=text
    )


@in_one_browser
async def test_a_recorded_example_is_there_before_the_model(page: Any, site_url: str) -> None:
    await open_site_page(page, site_url, "writes.html")
    assert "·Paris" in await page.locator("#recorded .next li").first.text_content()
    assert not await page.locator("#draw").is_visible()
    await check_usable(page)


@in_one_browser
async def test_tokens_are_drawn_pressed_and_taken_back(
    page: Any, site_url: str, project: Any
) -> None:
    needs(SMOLLM2)
    await ready(page, site_url, "writes.html")
    await wait_for_text(page, "The capital of France is")
    await page.locator("#next button").first.click()
    await wait_for_text(page, "The capital of France is Paris")
    await page.locator("#temperature").fill("0.1")
    await page.locator("#draw").click()
    await page.locator("#tokens li").nth(6).wait_for()
    await page.locator("#back").click()
    await wait_for_text(page, "The capital of France is Paris")
    assert await page.locator("#token-5").get_attribute("aria-pressed") == "true"
    await page.locator("#token-3").click()
    shares = await page.locator("#tokens li").evaluate_all(
        "(items) => items.map((item) => Number(item.style.getPropertyValue('--share')))"
    )
    assert max(shares) == 1
    assert shares[4:] == [0, 0], "no token looks ahead"
    await check_usable(page)
