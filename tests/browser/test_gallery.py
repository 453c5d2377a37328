"""The gallery in pages: every example runs there, and draws its picture."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.browser.accessibility import violations
from tests.browser.harness import pages_have_numpy
from tests.browser.site_pages import WATCH_POLICY
from tools.docs import gallery
from tools.docs.markup import files, pieces

NUMBER = re.compile(r"\d+(?:\.(\d+))?")
TEXTS = {name: (gallery.FOLDER / f"{name}.md").read_text() for name in gallery.examples()}
FIRST = "two-moons"
# Lets the page of one example open the files of all: before its script reads which there are.
OPEN_FILES = """
document.addEventListener("readystatechange", () => {{
  document.querySelector('meta[name="webnnm:examples"]').dataset.files = {};
}}, {{ once: true }});
"""
TIMEOUT = 60_000


def program_and_output(text: str) -> tuple[str, str]:
    """Return the program of an example, and what it prints."""
    blocks = [*pieces(text)]
    (program,) = [piece.text for piece in blocks if piece.is_program]
    return program, "".join(piece.text for piece in blocks if piece.is_output)


def agrees(shown: str, expected: str) -> bool:
    """Return whether a page prints what a desktop does, but for the last digits of numbers.

    Devices round differently, and trainings enlarge that: two units of the last digit, or 5 %.
    """
    if NUMBER.sub("", shown) != NUMBER.sub("", expected):
        return False
    for ours, other in zip(NUMBER.finditer(expected), NUMBER.finditer(shown), strict=True):
        unit = 10.0 ** -len(ours[1] or "")
        if abs(float(ours[0]) - float(other[0])) > max(2.01 * unit, 0.05 * float(ours[0])):
            return False
    return True


def test_numbers_may_differ_in_their_last_digits_only() -> None:
    assert agrees("99 % right, off by 0.11", "100 % right, off by 0.10")
    assert not agrees("90 % right", "100 % right")
    assert not agrees("99 % wrong", "99 % right")


async def run(page: Any) -> str:
    """Press Run, wait for the end and the chart, and return what the program printed."""
    await page.get_by_role("button", name="Run example 1", exact=True).click()
    status = page.locator(".example-bar").get_by_role("status")
    ended = status.filter(has_text="Done").or_(status.filter(has_text="Ended with an error"))
    await ended.wait_for(timeout=TIMEOUT)
    return await page.get_by_label("Output of example 1", exact=True).text_content()


@pytest.mark.projects("webnn")
async def test_every_example_runs_on_webnn_and_draws_its_picture(
    page: Any, site_url: str, project: Any
) -> None:
    if not pages_have_numpy():
        pytest.skip("the programs use NumPy, which these pages do not have")
    opened = " ".join(sorted({name for text in TEXTS.values() for name in files(text)}))
    await page.add_init_script(OPEN_FILES.format(json.dumps(opened)))
    await page.goto(f"{site_url}/docs/gallery/{FIRST}.html")
    await page.get_by_role("button", name="Edit example 1").click()
    editor = page.get_by_label("Program of example 1; Ctrl and Enter run it")
    problems: list[str] = []
    # Those without NumPy first: once one of them has loaded it, arrays are NumPy's.
    for name, text in sorted(TEXTS.items(), key=lambda item: "import numpy" in item[1]):
        program, expected = program_and_output(text)
        await editor.fill(program)
        shown = await run(page)
        if not agrees(shown, expected):
            problems.append(f"{name}: {shown}")
        charts = page.locator(".example-chart[aria-label] canvas")
        try:
            await charts.wait_for(timeout=5000)
        except Exception as error:  # the report names all examples that fail
            problems.append(f"{name}: {error}")
    assert not problems, "\n".join(problems)


@pytest.mark.projects("webnn", "no-webnn")
async def test_one_button_runs_an_example_as_it_stands(
    page: Any, site_url: str, project: Any
) -> None:
    await page.add_init_script(WATCH_POLICY)
    await page.goto(f"{site_url}/docs/gallery/{FIRST}.html")
    _, expected = program_and_output(TEXTS[FIRST])
    button = page.get_by_role("button", name="Run example 1", exact=True)
    await button.focus()
    await page.keyboard.press("Enter")
    chart = page.locator(".example-chart")
    await chart.locator("canvas").wait_for(timeout=TIMEOUT)
    assert "Decision boundary" in await chart.get_attribute("aria-label")
    shown = await page.get_by_label("Output of example 1", exact=True).text_content()
    assert shown.endswith(expected), "before it, Python may say that it loads NumPy"
    assert await violations(page) == []
    assert await page.evaluate("refused") == []


@pytest.mark.projects("webnn")
@pytest.mark.parametrize("name", ["index.html", "digits.html"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_gallery_is_accessible_and_fits_phones(
    page: Any, site_url: str, project: Any, name: str, scheme: str
) -> None:
    await page.emulate_media(color_scheme=scheme)
    await page.goto(f"{site_url}/docs/gallery/{name}")
    assert await violations(page) == []
    for width in (1280, 390):
        await page.set_viewport_size({"width": width, "height": 800})
        fits = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        assert await page.evaluate(fits), f"{name} is wider than {width} pixels"


@pytest.mark.projects("webnn")
async def test_cards_lead_to_examples_and_these_to_each_other(
    page: Any, site_url: str, project: Any
) -> None:
    await page.goto(f"{site_url}/docs/gallery/index.html")
    assert await page.locator(".gallery li").count() == len(TEXTS)
    await page.locator(".gallery img").last.scroll_into_view_if_needed()
    drawn = "(images) => images.every((image) => !image.complete || image.naturalWidth > 0)"
    assert await page.locator(".gallery img").evaluate_all(drawn)
    first, second, *_ = gallery.examples().values()
    await page.get_by_role("link", name=first.title, exact=True).click()
    await page.get_by_role("link", name=f"Next: {second.title}").click()
    assert await page.locator("h1").text_content() == f"{second.title}¶"
    await page.goto(f"{site_url}/docs/pictures.html")
    link = page.locator(".feedback").get_by_role("link", name=gallery.examples()["digits"].title)
    await link.click()
    await page.get_by_role("button", name="Run example 1", exact=True).wait_for()
