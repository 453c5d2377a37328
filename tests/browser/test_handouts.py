"""Lessons on paper: no buttons, no solutions, and room to write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tools.common import DOCUMENTS
from tools.handouts import print_page, print_solutions, write_solutions

LESSON = DOCUMENTS / "course" / "1-neuron.html"
VISIBLE = "(elements) => elements.filter((it) => it.getClientRects().length > 0).length"
ROOM = """(blocks) => blocks.map((it) => getComputedStyle(it, "::after").height)
  .filter((height) => parseFloat(height) > 100).length"""


@pytest.mark.projects("webnn")
async def test_a_lesson_is_printed(browser: Any, project: Any, tmp_path: Path) -> None:
    target = tmp_path / "lesson.pdf"
    await print_page(browser, LESSON, target)
    content = target.read_bytes()
    assert content.startswith(b"%PDF-")
    assert content.count(b"/Type /Page\n") >= 4


@pytest.mark.projects("webnn")
async def test_solutions_are_printed(browser: Any, project: Any, tmp_path: Path) -> None:
    text = write_solutions()
    assert text.count("<h2>") == 8
    assert text.count("<h3>Exercise ") == text.count("<pre>") == 24
    assert "weight = 3.0\n" in text
    await print_solutions(browser, tmp_path / "solutions.pdf")
    assert (tmp_path / "solutions.pdf").read_bytes().startswith(b"%PDF-")


@pytest.mark.projects("webnn")
@pytest.mark.parametrize("scripts", [False, True])
async def test_paper_has_no_buttons_and_no_solutions(
    browser: Any, site_url: str, project: Any, scripts: bool
) -> None:
    context = await browser.new_context(java_script_enabled=scripts)
    page = await context.new_page()
    await page.goto(f"{site_url}/docs/course/1-neuron.html")
    if scripts:
        await page.locator(".example-reveal").first.click()
    await page.emulate_media(media="print")
    for hidden in (".example-bar", ".example-solution", "details", ".md-header", ".md-footer"):
        assert await page.locator(hidden).evaluate_all(VISIBLE) == 0, hidden
    exercises = page.locator(".highlight.exercise")
    if not scripts:
        assert await exercises.evaluate_all(VISIBLE) == 3
        assert await exercises.evaluate_all(ROOM) == 3
    await context.close()
