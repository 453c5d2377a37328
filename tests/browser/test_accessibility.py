"""Every page, before and after its main action: for keyboards, zoom, chosen colours, no motion."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.accessibility import violations
from tests.browser.harness import PageLog
from tests.browser.keyboard import find_tab_problems
from tests.browser.layout_checks import find_layout_problems
from tests.browser.site_pages import PAGES, fill, open_site_page, reduce_motion
from tests.browser.visible_colours import count_changed, find_invisible, take_picture

pytestmark = pytest.mark.projects("webnn")

DOCUMENTS = ("index.html", "tutorial.html", "course/2-descent.html")
PRIMARY = "main .primary:visible"
TRAINED = "#result[data-done]"
PLAIN_EDITORS = ("arrays.html",)
FEW = {"epochs": "3"}
"""What makes trainings short."""
ACTIONS: dict[str, list[tuple[dict[str, str], str, str]]] = {
    "hello.html": [({}, "#run", "#result[data-output]")],
    "playground.html": [(FEW, "#train", TRAINED)],
    "iris.html": [(FEW, "#train", TRAINED), ({}, "#classify", "#shares dd")],
    "digits.html": [(FEW, "#train", TRAINED), ({}, "#examples button >> nth=3", "#shares dd")],
    "gpt.html": [({"epochs": "1", "width": "64"}, "#learn", "#written[data-done]")],
    "step.html": [({}, "#next", "#phase:text('Loss')")],
    "inside.html": [({}, "#run", "#calls:not([hidden])")],
    "table.html": [({}, "#example", "#train:enabled"), (FEW, "#train", TRAINED)],
    "forecast.html": [({}, "#example", "#train:enabled"), (FEW, "#train", TRAINED)],
    "sentences.html": [({}, "#example", "#train:enabled"), (FEW, "#train", TRAINED)],
    "examples.html": [
        ({}, "#without", "#without:checked"),
        ({}, "#ready", "#learn:not([hidden])"),
        (FEW, "#learn", "#course-text[data-trained]"),
    ],
    "sounds.html": [
        ({}, "#ready", "#learn:not([hidden])"),
        (FEW, "#learn", "#course-text[data-trained]"),
    ],
    "arrays.html": [({}, "#run", "#stop:enabled"), ({}, "#stop", "#run:enabled")],
    "worker.html": [({}, "#train", "#answer:not([hidden])")],
}
"""The main actions of pages: fields to fill in, what is clicked, and what there is then."""
# Animations and transitions that move something.
MOVING = """() => document.getAnimations()
  .filter(({ playState, effect }) => playState === "running" && effect.getTiming().duration > 0)
  .map(({ effect }) => effect.target.outerHTML.slice(0, 100))"""


async def act(page: Any, name: str) -> None:
    """Do what a page is there for."""
    for fields, button, done in ACTIONS[name]:
        await fill(page, **fields)
        await page.locator(button).click()
        await page.locator(done).first.wait_for(state="attached")


async def check_everything(page: Any, first: str) -> None:
    """Check a page as it is now."""
    await reduce_motion(page)
    assert await violations(page) == []
    assert await find_tab_problems(page, first) == []
    assert await find_layout_problems(page, PRIMARY) == []
    assert await find_invisible(page) == []
    assert await page.evaluate(MOVING) == []


@pytest.mark.parametrize("name", PAGES)
async def test_a_page_is_for_everybody_before_and_after_its_main_action(
    page: Any, page_log: PageLog, site_url: str, project: Any, name: str
) -> None:
    await open_site_page(page, site_url, name)
    if name not in PLAIN_EDITORS:
        await page.locator(".frame:not([data-rich]):visible").wait_for(state="detached")
    await check_everything(page, ".skip")
    if name in ACTIONS:
        await act(page, name)
        await check_everything(page, ".skip")


@pytest.mark.parametrize("name", DOCUMENTS)
async def test_a_document_is_for_everybody(
    page: Any, site_url: str, project: Any, name: str
) -> None:
    await page.goto(f"{site_url}/docs/{name}")
    await check_everything(page, ".md-skip")


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_focus_and_selection_show_in_chosen_colours(
    page: Any, site_url: str, project: Any, scheme: str
) -> None:
    await open_site_page(page, site_url, "iris.html")
    await page.locator(".frame[data-rich]").wait_for()
    await page.emulate_media(forced_colors="active", color_scheme=scheme)
    for selector in ("#train", "#epochs", "#standardize", "nav button", "#runs summary"):
        element = page.locator(selector)
        await element.scroll_into_view_if_needed()
        box = await element.bounding_box()
        clip = {
            "x": max(0, box["x"] - 6),
            "y": max(0, box["y"] - 6),
            "width": box["width"] + 12,
            "height": box["height"] + 12,
        }
        before = await take_picture(page, clip=clip)
        await element.focus()
        await page.keyboard.press("Shift")  # a key was pressed: the focus shows
        assert await count_changed(page, clip, before) > box["width"], selector
    editor = page.locator(".rich-editor .cm-content")
    await editor.click()
    clip = await page.locator(".frame").bounding_box()
    before = await take_picture(page, clip=clip)
    await page.keyboard.press("ControlOrMeta+A")
    assert await count_changed(page, clip, before) > 4 * clip["height"]
