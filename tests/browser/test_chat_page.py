"""The page that chats: a tiny model of a file, and SmolLM2 where it was fetched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.browser.site_pages import SMOLLM2, check_usable, needs, open_site_page
from tests.browser.test_model_pages import in_one_browser, ready

pytest.importorskip("numpy")

# Clicks Stop when the first piece of an answer is there: in the page, before it can have ended.
STOP_ON_THE_WAY = """
() => {
  const conversation = document.querySelector("#conversation");
  new MutationObserver((_changes, observer) => {
    const shown = conversation.querySelector("li:last-child p")?.textContent;
    if (conversation.children.length < 2 || shown === "…") return;
    observer.disconnect();
    document.querySelector("#stop").click();
  }).observe(conversation, { childList: true, characterData: true, subtree: true });
}
"""


async def say(page: Any, text: str, messages: int) -> str:
    """Send a message and return the answer, when so many messages were said."""
    await page.locator("#message").fill(text)
    await page.locator("#message").press("Enter")
    await page.locator(f'#rate[data-count="{messages}"]').wait_for()
    return await page.locator("#conversation li").last.locator("p").text_content()


@in_one_browser
async def test_a_model_of_a_file_talks_is_stopped_and_begins_anew(
    page: Any, site_url: str, project: Any, tmp_path: Path
) -> None:
    from tests.unit.transformers.test_gguf_models import write

    await open_site_page(page, site_url, "chat.html")
    await page.locator("#file").set_input_files(write(tmp_path, **{"llama.context_length": 2000}))
    await page.locator("#work:enabled").wait_for()
    assert await page.locator("#recorded").is_hidden()
    await page.get_by_text("Settings", exact=True).click()
    await page.locator("#most").fill("12")
    await page.locator("#role").fill("")
    first = await say(page, "ab", 2)
    assert first
    assert "tokens a second" in await page.locator("#rate").text_content()
    assert "on WebNN" in await page.locator("#rate").text_content()
    await say(page, "cd", 4)
    assert await page.locator("#conversation li").count() == 4
    await check_usable(page)
    await page.locator("#new").click()
    assert await page.locator("#conversation li").count() == 0
    assert await say(page, "ab", 2) == first
    # A long answer ends where it is stopped, and the page can be used again.
    await page.locator("#new").click()
    await page.locator("#most").fill("1500")
    await page.evaluate(STOP_ON_THE_WAY)
    assert 0 < len(await say(page, "ab", 2)) < 1000


@in_one_browser
async def test_another_file_than_the_one_that_is_meant_is_refused(
    page: Any, site_url: str, project: Any
) -> None:
    async def other(route: Any) -> None:
        await route.fulfill(body=b"GGUF of somebody else")

    await page.route("**/models/**", other)
    await open_site_page(page, site_url, "chat.html")
    await page.locator("#download").click()
    alert = page.locator("#alert")
    await alert.locator("pre").wait_for()
    assert "NNM801" in await alert.text_content()
    assert "SHA-256" in await alert.text_content()
    assert await page.locator("#work:disabled").count() == 1
    assert await page.locator("#download").is_enabled()


@in_one_browser
async def test_smollm2_knows_a_capital_and_is_kept(
    launch: Any, new_page: Any, site_url: str, project: Any
) -> None:
    needs(SMOLLM2)
    page = await new_page(await launch(project.name))
    await ready(page, site_url, "chat.html")
    assert "Paris" in await say(page, "What is the capital of France?", 2)
    print(await page.locator("#rate").text_content())
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    await ready(page, site_url, "chat.html")
    assert not [url for url in asked if url.endswith(SMOLLM2)]
    assert "Paris" in await say(page, "What is the capital of France?", 2)
    print(await page.locator("#rate").text_content())
    await page.locator("#remove").click(force=True)
