"""The first screen of every page: its name, one thing to press, and nothing that is still empty."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.accessibility import violations
from tests.browser.site_pages import PAGES, open_site_page
from tools.page_parts import HEADINGS, format_title

SIZES = {"desktop": (1280, 800), "phone": (390, 844)}
ROW = 56
"""Pixels of a row of links with what is around it, at most."""
INPUTS = {"digits.html": "#pad"}
"""What can be used at once beside the button, by page."""
LOOK = """
() => {
  const all = (selector) => [...document.querySelectorAll(`main ${selector}`)]
    .filter((element) => element.checkVisibility({ visibilityProperty: true }));
  const text = (element) => element.textContent.trim();
  const drawn = (chart) => chart.querySelector("canvas")
    && !chart.ariaLabel.endsWith("no epochs yet");
  return {
    names: all("h1").map(text),
    navigation: document.querySelector("nav").offsetHeight,
    primary: all(".primary").map((element) => {
      const { bottom } = element.getBoundingClientRect();
      return { text: text(element), enabled: !element.disabled, bottom: bottom + scrollY };
    }),
    disabled: all(":is(button, fieldset):disabled").map((element) => element.id || text(element)),
    charts: all(".chart").filter((chart) => !drawn(chart)).map(({ id }) => id),
    bars: all("progress").filter(({ value }) => !value).map(({ id }) => id),
    blank: all(":is(h2, h3, strong, pre, ol, figcaption)")
      .filter((element) => ["–", "…"].includes(text(element)) || (
        !text(element) && element.matches("h2, h3, pre")))
      .map((element) => element.outerHTML.slice(0, 80)),
  };
}
"""


@pytest.mark.projects("webnn")
@pytest.mark.parametrize("name", PAGES)
async def test_the_first_screen_of_a_page(
    page: Any, site_url: str, project: Any, name: str
) -> None:
    await open_site_page(page, site_url, name)
    for width, height in SIZES.values():
        await page.set_viewport_size({"width": width, "height": height})
        looks = await page.evaluate(LOOK)
        assert looks["navigation"] <= ROW, "the navigation takes more than a row"
        if name != "index.html":
            assert looks["names"] == [HEADINGS[name]]
            assert await page.title() == format_title(HEADINGS[name])
        (primary,) = looks["primary"]
        assert primary["enabled"]
        assert primary["bottom"] < height, primary
        if name in INPUTS:
            box = await page.locator(INPUTS[name]).bounding_box()
            assert box["y"] + box["height"] < height
        assert looks["disabled"] == []
        assert looks["bars"] == []
        assert looks["blank"] == []
        assert await page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.projects("webnn")
@pytest.mark.parametrize("name", ["iris.html", "digits.html", "gpt.html", "arrays.html"])
async def test_a_recorded_run_shows_what_a_page_does_until_somebody_runs_it(
    page: Any, site_url: str, project: Any, name: str
) -> None:
    await open_site_page(page, site_url, name)
    recorded = page.locator(".recorded:visible")
    await recorded.locator("canvas, pre, img").first.wait_for()
    assert (await page.evaluate(LOOK))["charts"] == []
    assert await violations(page) == []
    await page.locator("main .primary:visible").click()
    await recorded.wait_for(state="detached")
    if await page.locator("#stop").count():
        await page.locator("#stop:enabled:visible, #result[data-done]").first.wait_for()
        assert len((await page.evaluate(LOOK))["primary"]) <= 1


@pytest.mark.projects("webnn")
async def test_a_drawing_is_read_by_a_network_that_learns_first(
    page: Any, site_url: str, project: Any
) -> None:
    await open_site_page(page, site_url, "digits.html")
    await page.locator("#epochs").fill("4")
    await page.locator("#examples button").nth(3).click()
    assert "learns from other digits first" in await page.locator("#hint").text_content()
    await page.locator("#answer", has_text="%").wait_for()
    assert await page.locator("#hint").text_content() == ""
    await page.locator("#clear").click()
    await page.locator("#hint", has_text="Draw a digit").wait_for()
