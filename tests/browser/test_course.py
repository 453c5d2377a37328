"""Exercises of the course as learners do them: changed, checked, and solved in the page."""

from __future__ import annotations

import doctest
from typing import Any

import pytest

from tests.browser.accessibility import violations
from tests.browser.site_pages import WATCH_POLICY
from tests.document_files import DOCS
from tools.docs.markup import exercises, pieces

LESSONS = sorted((DOCS / "course").glob("[0-9]*.md"))
OUTPUTS = doctest.OutputChecker()
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
    editor = page.get_by_label(PROGRAM.format(2))
    await editor.fill("if True:")
    await editor.press("Enter")
    await page.keyboard.type("weight = 3.0")
    await editor.press("Enter")
    await page.keyboard.type("bias = 4.0")
    assert (await editor.input_value()).splitlines()[1:] == ["    weight = 3.0", "    bias = 4.0"]
    assert (await check(page, name)).startswith("That is right: ")

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


@pytest.mark.projects("webnn")
@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.stem)
async def test_a_lesson_can_be_played_on_webnn(
    page: Any, site_url: str, project: Any, lesson: Any
) -> None:
    """Programs print in the page what the lesson says, and checks accept solutions there."""
    await page.goto(f"{site_url}/docs/course/{lesson.stem}.html")
    tasks = {task.line: task for task in exercises(lesson.read_text())}
    number, shown = 0, ""
    problems: list[str] = []
    for piece in pieces(lesson.read_text()):
        if piece.is_output:
            if not OUTPUTS.check_output(piece.text, shown, doctest.ELLIPSIS):
                problems.append(f"line {piece.line}: {shown}")
        elif piece.line in tasks:
            number += 1
            answer = page.get_by_label(PROGRAM.format(number))
            await answer.fill(tasks[piece.line].solution)
            button = page.get_by_role("button", name=f"Check example {number}", exact=True)
            await button.click()
            await ended(page, number)
            verdict = (
                await page.locator(".example-bar")
                .nth(number - 1)
                .evaluate("(bar) => bar.nextElementSibling.textContent")
            )
            if not verdict.startswith("That is right: "):
                problems.append(f"{piece.reason}: {verdict}")
        elif piece.is_program and piece.mark != "setup":
            number += 1
            await page.get_by_role("button", name=f"Run example {number}", exact=True).click()
            await ended(page, number)
            label = f"Output of example {number}"
            shown = await page.get_by_label(label, exact=True).text_content()
    assert problems == []


async def ended(page: Any, number: int) -> None:
    """Wait until an example has run."""
    status = page.locator(".example-bar").nth(number - 1).get_by_role("status")
    await status.filter(has_text="Done").or_(status.filter(has_text="Ended")).wait_for()


@pytest.mark.projects("no-webnn")
async def test_exercises_work_without_webnn(page: Any, site_url: str, project: Any) -> None:
    await page.goto(f"{site_url}/docs/course/1-neuron.html")
    assert "change the shape" in await check(page, "exercise-3-a-layer-of-neurons")


@pytest.mark.projects("webnn")
@pytest.mark.parametrize("name", ["index.html", "3-layers.html", "8-what-goes-wrong.html"])
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
