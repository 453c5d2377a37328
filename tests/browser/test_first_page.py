"""The first page and the navigation: what somebody sees and can do before anything else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.site_pages import hold_back, open_site_page
from tools.page_parts import GROUPS, LINKS

LEARNT = "document.querySelector('#live-caption').textContent.includes('epoch 400 of 400')"
COLOURS = """
() => {
  const { data } = document.querySelector("#live").getContext("2d").getImageData(0, 0, 320, 320);
  const colours = new Set();
  for (let at = 0; at < data.length; at += 4) colours.add(data.slice(at, at + 3).join());
  return colours.size;
}
"""


@pytest.mark.projects("webnn")
async def test_a_network_learns_in_sight(page: Any, site_url: str) -> None:
    await open_site_page(page, site_url, "index.html")
    await page.wait_for_function(LEARNT)
    text = await page.locator("#live-caption").text_content()
    assert text.startswith("A network of 354 parameters has learnt two spirals on WebNN")
    assert float(text.rpartition(" ")[2]) < 0.1
    assert await page.evaluate(COLOURS) > 100


@pytest.mark.projects("webnn", "no-webnn")
async def test_a_recorded_training_is_shown_where_none_runs(
    page: Any, site_url: str, project: Any
) -> None:
    """Where motion is unwanted, where there is no WebNN, and until Python has started."""
    if project.webnn:
        await page.emulate_media(reduced_motion="reduce")
    come = await hold_back(page, "**/webnnm-*.whl")
    await page.goto(f"{site_url}/index.html")
    caption = page.locator("#live-caption", has_text="after 400 epochs")
    await caption.wait_for()
    assert await page.evaluate(COLOURS) > 100
    come.set()
    await page.locator("html[data-ready]").wait_for(state="attached")
    await caption.wait_for()


async def test_every_page_is_in_the_menu_and_on_the_first_page(page: Any, site_url: str) -> None:
    await page.goto(f"{site_url}/index.html")
    for where in ("#menu a", "main a"):
        addresses = await page.locator(where).evaluate_all(
            "links => links.map((link) => link.getAttribute('href'))"
        )
        assert {f"./{name}" for name in LINKS if name != "index.html"} <= {*addresses}
    named = await page.locator("main :is(h3, dt) > a").evaluate_all(
        "links => links.map((link) => [link.getAttribute('href'), link.textContent])"
    )
    assert {address: LINKS.get(address[2:], text) for address, text in named} == dict(named)


async def test_the_menu_works_with_keys(page: Any, site_url: str) -> None:
    await page.goto(f"{site_url}/notation.html")
    menu, button = page.locator("#menu"), page.locator("nav button")
    await button.focus()
    assert await menu.is_hidden()
    await page.keyboard.press("Enter")
    assert await menu.is_visible()
    await page.keyboard.press("Tab")
    first = next(iter(GROUPS["Learn"].values()))
    assert await page.evaluate("document.activeElement.textContent") == first
    await page.keyboard.press("Escape")
    assert await menu.is_hidden()
    assert await page.evaluate("document.activeElement.textContent") == "Pages"


@pytest.mark.parametrize("width", [1280, 390])
async def test_the_main_action_is_in_the_first_screen(page: Any, site_url: str, width: int) -> None:
    height = {1280: 800, 390: 844}[width]
    await page.set_viewport_size({"width": width, "height": height})
    await page.goto(f"{site_url}/index.html")
    box = await page.locator(".button.primary").bounding_box()
    assert box["y"] + box["height"] < height
    # Wide screens have room for the neighbours of a page, which may take a second row.
    for name in ("index.html", "iris.html", *(("hub.html",) if width < 800 else ())):
        await page.goto(f"{site_url}/{name}")
        header = await page.locator("header").bounding_box()
        assert header["height"] < 70, f"the navigation of {name} is one row"


async def test_pages_on_the_first_page_have_pictures_of_their_own(page: Any, site_url: str) -> None:
    await page.goto(f"{site_url}/index.html")
    titles = page.locator("main dt")
    addresses = await titles.locator("use").evaluate_all(
        "all => all.map(({ href }) => href.baseVal)"
    )
    assert len({*addresses}) == len(addresses) == await titles.count()
    # A picture whose name the file lacks has no size.
    sizes = await titles.locator("use").evaluate_all("all => all.map((it) => it.getBBox().width)")
    assert min(sizes) > 0
