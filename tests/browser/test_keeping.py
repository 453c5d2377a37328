"""What pages do so that no training is lost, and what they say where it cannot be kept."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.site_pages import open_site_page, result_of, train_on
from tests.browser.test_kept_files import REFUSING, quota
from tests.browser.test_kept_trainings import HIDE, KEPT, OFFER

pytestmark = pytest.mark.projects("webnn", "worker")

NOTE = "localStorage.getItem('webnnm:iris')"

# Begins a training as soon as the page has enabled the button.
CLICK_AT_ONCE = """
addEventListener("DOMContentLoaded", () => {
  const train = document.querySelector("#train");
  const observer = new MutationObserver(() => { observer.disconnect(); train.click(); });
  observer.observe(train, { attributeFilter: ["disabled"] });
});
"""


def address(project: Any) -> str:
    return "iris.html?worker" if project.worker else "iris.html"


async def begin(page: Any) -> None:
    """Begin a training that is still under way when the test ends it, however fast the machine."""
    await page.locator("#epochs").fill("100000")
    await page.locator("#lr").fill("0.000002")  # its loss falls to the end
    await page.locator("#train").click()
    await page.get_by_text("s left").wait_for()


async def hold(page: Any) -> None:
    """Hold a training that is under way: it is kept all the same, and other pages have the time."""
    await page.locator("#pause").click()
    await page.locator("#pause", has_text="Resume").wait_for()


async def until_kept(page: Any) -> None:
    await page.locator("#kept", has_text="Kept by the browser at ").wait_for()


async def keep_one(page: Any) -> str:
    """Begin a training, hold it once the browser keeps it, and return its note."""
    await begin(page)
    await hold(page)
    await until_kept(page)
    return await page.evaluate(NOTE)


async def second_tab(page: Any, page_log: Any, site_url: str, project: Any) -> Any:
    tab = await page.context.new_page()
    page_log.watch(tab)
    await open_site_page(tab, site_url, address(project))
    return tab


@pytest.mark.usual("webnn")
async def test_a_training_is_kept_soon_and_offered_after_a_reload(
    page: Any, site_url: str, project: Any
) -> None:
    await open_site_page(page, site_url, address(project))
    promise = await page.locator("#kept").text_content()
    assert "after two seconds, then every ten" in " ".join(promise.split())
    await begin(page)
    await until_kept(page)
    await page.reload()
    await page.locator("#continue").wait_for()
    assert OFFER.fullmatch(await page.locator("#offer-text").text_content())


@pytest.mark.usual("worker")
async def test_a_second_tab_is_told_and_neither_destroys_the_training_of_the_other(
    page: Any, page_log: Any, site_url: str, project: Any
) -> None:
    await open_site_page(page, site_url, address(project))
    note = await keep_one(page)
    tab = await second_tab(page, page_log, site_url, project)
    told = tab.locator("#kept.warning")
    await told.wait_for()
    assert "Another tab or window" in await told.text_content() or "another tab or window" in (
        await told.text_content()
    )
    assert await tab.locator("#continue").is_hidden()
    # It may train, and does so without being kept.
    await train_on(tab, epochs=30)
    assert "This training is not kept" in await told.text_content()
    assert await tab.evaluate(KEPT, "iris") > 0
    assert (await tab.evaluate(NOTE))[:60] == note[:60]
    # A training there that is under way when the other one ends takes no place.
    await begin(tab)
    await hold(tab)
    await page.locator("#stop").click()
    await result_of(page)
    reached = await page.locator("#progress-text").text_content()
    await tab.locator("#stop").click()
    await result_of(tab)
    await tab.close()
    await page.reload()
    await page.locator("#continue").wait_for()
    offered = OFFER.fullmatch(await page.locator("#offer-text").text_content())
    assert f"Epoch {offered[1]} of {offered[2]} " in reached


@pytest.mark.usual("webnn")
async def test_a_tab_that_did_not_know_offers_what_another_one_kept_meanwhile(
    page: Any, page_log: Any, site_url: str, project: Any
) -> None:
    await open_site_page(page, site_url, address(project))
    tab = await second_tab(page, page_log, site_url, project)
    await begin(page)
    await page.locator("#stop").click()
    await result_of(page)
    await page.locator("#continue").wait_for()
    offered = await page.locator("#offer-text").text_content()
    await tab.locator("#train").click()
    await tab.locator("#continue").wait_for()
    assert await tab.locator("#offer-text").text_content() == offered
    assert "another tab has kept a training" in await tab.locator("#progress-text").text_content()
    # The other one is let go on with it, and this one is told.
    await page.locator("#continue").click()
    await page.get_by_text("s left").wait_for()
    await hold(page)
    await tab.locator("#continue").click()
    await tab.locator("#kept.warning").wait_for()
    await page.locator("#stop").click()
    await result_of(page)
    await tab.close()


@pytest.mark.usual("webnn")
async def test_who_trains_at_once_is_first_offered_what_the_browser_keeps(
    page: Any, site_url: str, project: Any
) -> None:
    await open_site_page(page, site_url, address(project))
    note = await keep_one(page)
    await page.add_init_script(CLICK_AT_ONCE)
    await page.reload()
    await page.locator("#continue:enabled").wait_for()
    assert (await page.evaluate(NOTE))[:60] == note[:60]
    assert await page.locator("#stop").is_disabled()
    # A note without a training, of a page that was closed as it ended, keeps nobody from training.
    await page.locator("#discard").click()
    await page.locator("#continue").wait_for(state="hidden")
    await page.evaluate("note => localStorage.setItem('webnnm:iris', note)", note)
    await page.locator("#epochs").fill("3")  # a reload leaves the form as it is
    await page.reload()
    await result_of(page)
    assert await page.evaluate(NOTE) is None


@pytest.mark.usual("worker")
async def test_a_full_storage_is_told_and_the_training_ends_with_its_result(
    page: Any, site_url: str, project: Any
) -> None:
    await open_site_page(page, site_url, address(project))
    await quota(page, site_url, 1000)
    await begin(page)
    await hold(page)
    told = page.locator("#kept.warning")
    await told.wait_for()
    assert "the training continues. " in await told.text_content()
    assert "This site's storage quota is full" in await told.text_content()
    await page.locator("#stop").click()
    await result_of(page)
    await quota(page, site_url, None)
    await begin(page)
    await hold(page)
    await until_kept(page)
    assert await told.count() == 0
    await page.locator("#stop").click()
    await result_of(page)


# Scripts of a test do not reach workers.
@pytest.mark.projects("webnn")
async def test_a_browser_that_keeps_nothing_is_told_and_the_training_ends_with_its_result(
    page: Any, site_url: str, project: Any
) -> None:
    await page.add_init_script(REFUSING)
    await open_site_page(page, site_url, "iris.html")
    result = await train_on(page, epochs=60)
    assert float(await result.get_attribute("data-accuracy")) > 0.5
    assert "No result" not in await page.locator("#progress-text").text_content()
    told = await page.locator("#kept.warning").text_content()
    assert "Private windows" in told
    assert await page.locator("#alert").text_content() == ""


@pytest.mark.projects("webnn")
async def test_what_cannot_be_read_now_stays_and_is_told(
    page: Any, site_url: str, project: Any
) -> None:
    await open_site_page(page, site_url, "iris.html")
    await begin(page)
    await hold(page)
    await page.evaluate(HIDE)  # which has it kept at once
    await until_kept(page)
    refusing = await page.context.new_page()
    await page.close()
    await refusing.add_init_script(REFUSING)
    await open_site_page(refusing, site_url, "iris.html")
    await refusing.locator("#offer-text", has_text="cannot be read now").wait_for()
    assert await refusing.locator("#continue").is_disabled()
    assert await refusing.evaluate(NOTE) is not None
    await refusing.close()
    again = await page.context.new_page()
    await open_site_page(again, site_url, "iris.html")
    await again.locator("#continue:enabled").wait_for()
    await again.close()
