"""Exercises of the course as learners do them: changed, checked, and solved in the page."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.accessibility import violations
from tests.browser.site_pages import WATCH_POLICY

PROGRAM = "Program of example {}; Ctrl and Enter run it"


def bar_of(page: Any, name: str) -> Any:
    """Return the buttons of the exercise below a heading."""
    return page.locator(f"#{name} ~ .example-bar:has(.example-check)").first


def number_of(label: str) -> int:
    return int(label.rsplit(" ", 1)[1])


async def check(page: Any, name: str, answer: str | None = None) -> str:
    """Press Check, after writing an answer, and return what it says."""
    bar = bar_of(page, name)
    button = bar.locator(".example-check")
    number = number_of(await button.get_attribute("aria-label"))
    if answer is not None:
        await page.get_by_label(PROGRAM.format(number)).fill(answer)
    await button.focus()
    await page.keyboard.press("Enter")
    await bar.get_by_text("Done", exact=True).wait_for()
    verdict = bar.locator("~ .example-verdict").first
    assert await verdict.get_attribute("role") == "status", "screen readers announce it"
    return await verdict.text_content()


@pytest.mark.projects("webnn")
async def test_an_exercise_says_what_is_missing_then_accepts(
    page: Any, site_url: str, project: Any
) -> None:
    await page.add_init_script(WATCH_POLICY)
    await page.goto(f"{site_url}/docs/course/1-neuron.html")
    name = "exercise-1-through-two-points"
    assert "it must grow by 6" in await check(page, name)
    assert "change the bias" in await check(page, name, "weight = 3.0\nbias = 1.0")
    assert "ends with an error" in await check(page, name, "weight = 3.0\nbias = four")

    bar = bar_of(page, name)
    reveal = bar.locator(".example-reveal")
    solution = page.locator(f"#{await reveal.get_attribute('aria-controls')}")
    assert not await solution.is_visible()
    await reveal.focus()
    await page.keyboard.press("Enter")
    answer = await solution.locator("code").text_content()
    assert await reveal.get_attribute("aria-expanded") == "true"
    assert (await check(page, name, answer)).startswith("That is right: ")
    await bar.get_by_role("button", name="Restore").click()
    assert "it must grow by 6" in await check(page, name)

    # A model in an exercise runs on WebNN, and needs the import of an example far above.
    assert "change the shape" in await check(page, "exercise-3-a-layer-of-neurons")
    assert await violations(page) == []
    assert await page.evaluate("refused") == []


@pytest.mark.projects("no-webnn")
async def test_exercises_work_without_webnn(page: Any, site_url: str, project: Any) -> None:
    await page.goto(f"{site_url}/docs/course/1-neuron.html")
    assert "change the shape" in await check(page, "exercise-3-a-layer-of-neurons")


@pytest.mark.projects("webnn")
@pytest.mark.parametrize("name", ["index.html", "1-neuron.html", "2-descent.html"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_lessons_are_accessible_and_fit_phones(
    page: Any, site_url: str, project: Any, name: str, scheme: str
) -> None:
    await page.emulate_media(color_scheme=scheme)
    await page.goto(f"{site_url}/docs/course/{name}")
    assert await violations(page) == []
    for width in (1280, 390):
        await page.set_viewport_size({"width": width, "height": 800})
        fits = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        assert await page.evaluate(fits), f"{name} is wider than {width} pixels"
