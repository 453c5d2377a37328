"""The playground: its boundary follows the training, points are drawn, links repeat a curve."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.browser.accessibility import violations
from tests.browser.first_look import check_policy, open_and_look
from tests.browser.saved_pages import BUTTON, ask, open_saved_page
from tests.browser.site_pages import (
    LIVE,
    check_usable,
    fill,
    hold_back,
    open_site_page,
    result_of,
    skip_where_nothing_runs,
)

in_one_browser = pytest.mark.projects("webnn")
in_both_browsers = pytest.mark.projects("webnn", "no-webnn")

CONSOLE_PROGRESS = "webnnm:progress "
# The colours of the plane, from which a boundary is read: those of a column of its canvas.
COLUMN = """
() => {
  const canvas = document.querySelector("#plane canvas");
  const context = canvas.getContext("2d");
  const { width, height } = canvas;
  return [...context.getImageData(Math.round(width / 2), 0, 1, height).data].join();
}
"""


def losses_of(page: Any) -> list[tuple[int, float, float]]:
    """Return a list that fills with the epochs that a page tells."""
    found: list[tuple[int, float, float]] = []

    def hear(message: Any) -> None:
        if message.text.startswith(CONSOLE_PROGRESS):
            told = json.loads(message.text.removeprefix(CONSOLE_PROGRESS))
            found.append((told["epoch"], told["loss"], told["val_loss"]))

    page.on("console", hear)
    return found


async def open_playground(page: Any, site_url: str, fragment: str = "") -> None:
    """Open the page, and wait until both charts are drawn."""
    await open_site_page(page, site_url, f"playground.html{fragment}")
    await charts_are_drawn(page)


async def charts_are_drawn(page: Any) -> None:
    await page.locator("#plane canvas").wait_for()
    await page.locator("#chart canvas").wait_for()


@in_one_browser
async def test_a_training_that_begins_at_once_waits_for_the_charts_and_starts_over_once(
    page: Any, site_url: str, project: Any
) -> None:
    epochs = losses_of(page)
    come = await hold_back(page, "**/components/charts.js")
    await open_site_page(page, site_url, "playground.html")
    await page.locator("#train").click()
    await page.evaluate(LIVE)
    assert await page.locator("#train").is_disabled()
    # What is set anew meanwhile is trained, and nothing else.
    await page.locator("#epochs").fill("5")
    await page.locator("#epochs").press("Tab")
    await page.locator("#train:enabled").click()
    come.set()
    await result_of(page)
    assert "Epoch 5 of 5" in await page.locator("#progress-text").text_content()
    assert [epoch for epoch, *_ in epochs] == [1, 2, 3, 4, 5]


@in_both_browsers
@pytest.mark.usual("webnn")
async def test_the_boundary_changes_from_step_to_step_and_a_link_gives_the_same_curve(
    page: Any, site_url: str, project: Any
) -> None:
    skip_where_nothing_runs(project)
    epochs = losses_of(page)
    await open_playground(page, site_url)
    await fill(page, data="circles", rows="60", noise="0.02", lr="0.05", epochs="12", seed="7")
    await page.get_by_label("x1²").check()
    # The model takes as many numbers as it is told.
    await page.wait_for_function("location.hash.includes('shape%3D%5B3%5D')")
    before = await page.evaluate(COLUMN)
    await page.locator("#step").click()
    await page.get_by_text("Epoch 1 of 12").first.wait_for()
    await page.locator("#train:enabled").wait_for()
    after_one = await page.evaluate(COLUMN)
    assert after_one != before
    assert [epoch for epoch, *_ in epochs] == [1], "the training waits after a step"
    words = await page.locator("#plane").get_attribute("aria-label")
    assert "After 1 epochs the model takes" in words
    await page.locator("#train").click()
    await result_of(page)
    assert await page.evaluate(COLUMN) != after_one
    assert "after 12 epochs" in await page.locator("#chart").get_attribute("aria-label")
    assert (await page.locator("#accuracy").text_content()).endswith("%")
    assert await page.locator("#review").is_visible()
    first, address = [*epochs], page.url
    assert [epoch for epoch, *_ in first] == [*range(1, 13)]

    await page.goto("about:blank")
    epochs.clear()
    await open_playground(page, site_url, f"#{address.partition('#')[2]}")
    assert await page.locator("#data").input_value() == "circles"
    assert await page.get_by_label("x1²").is_checked()
    await page.locator("#train").click()
    await result_of(page)
    assert epochs == first, "the same link gives the same losses, to the last digit"


@in_one_browser
async def test_points_are_drawn_and_learnt_and_the_page_suits_all(
    page: Any, site_url: str, project: Any, tmp_path: Path
) -> None:
    await open_and_look(page, site_url, "playground.html")
    await charts_are_drawn(page)
    assert await violations(page) == []
    await fill(page, data="drawn")
    await page.locator("#clear-points").click()
    plane = page.locator("#plane canvas")
    await plane.scroll_into_view_if_needed()
    box = await plane.bounding_box()

    def at(x: float, y: float) -> tuple[float, float]:
        return box["x"] + x * box["width"], box["y"] + y * box["height"]

    for x, number in ((0.3, "0"), (0.8, "1")):
        await page.locator("#brush").select_option(number)
        await plane.scroll_into_view_if_needed()
        box = await plane.bounding_box()
        await page.mouse.move(*at(x, 0.2))
        await page.mouse.down()
        for k in range(1, 9):
            await page.mouse.move(*at(x, 0.2 + 0.07 * k))
        await page.mouse.up()
    await page.locator("#point-x").fill("1")
    await page.locator("#add-point").click()
    words = await page.locator("#plane").get_attribute("aria-label")
    assert words.startswith("9 blue circles and 10 orange squares."), words
    assert "points=" in page.url

    await fill(page, epochs="60", lr="0.1")
    await page.locator("#train").click()
    await result_of(page)
    words = await page.locator("#plane").get_attribute("aria-label")
    share = float(words.partition("takes ")[2].partition(" %")[0])
    assert 20 < share < 80, "left and right are told apart"
    assert await page.locator("#accuracy").text_content() == "100.0 %"
    async with open_saved_page(page, tmp_path) as tab:
        for x, colour in ((-0.5, "blue"), (0.8, "orange")):
            assert next(iter(await ask(tab, x1=x, x2=0))) == colour

    await page.locator("#again").click()
    await page.get_by_text("Not trained yet").first.wait_for()
    assert await page.get_by_role("button", name=BUTTON).is_disabled()
    assert await violations(page) == []
    await check_policy(page)
    await check_usable(page)
