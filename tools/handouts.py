"""Prints the lessons of the course as hand-outs, and their solutions: `make handouts` calls it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from playwright.async_api import Browser

from tools.common import DOCUMENTS, ROOT, open_browser, say
from tools.docs import documents
from tools.docs.markup import exercises
from webnnm.core.markup import Markup, page, tag

HANDOUTS = ROOT / "build" / "handouts"
MARGINS = {"top": "15mm", "bottom": "15mm", "left": "15mm", "right": "15mm"}
PAGES = ("[0-9]*.html", "teaching.html")
"""The lessons, and the page for the teacher."""


async def print_page(browser: Browser, document: Path, target: Path) -> None:
    """Print a page of the built documentation to a PDF, as its style sheet for paper says."""
    # Without scripts, so that no buttons are added.
    context = await browser.new_context(java_script_enabled=False, color_scheme="light")
    page = await context.new_page()
    await page.goto(document.as_uri())
    await page.emulate_media(media="print", color_scheme="light")
    await page.pdf(path=target, format="A4", margin=MARGINS, print_background=True)
    await context.close()


def write_solutions() -> str:
    """Return a page with one solution of each exercise of the course, as HTML."""
    parts: list[Markup] = []
    for lesson in sorted((ROOT / "docs" / "course").glob("[0-9]*.md")):
        text = lesson.read_text(encoding="utf-8")
        parts.append(tag("h2", text.partition("\n")[0].removeprefix("# ")))
        for number, exercise in enumerate(exercises(text), 1):
            parts.append(tag("h3", f"Exercise {number}: {exercise.name}"))
            parts.append(tag("pre", exercise.solution))
    return page("Solutions", *parts)


async def print_solutions(browser: Browser, target: Path) -> None:
    """Print the solutions of all exercises to a PDF."""
    sheet = await browser.new_page()
    await sheet.set_content(write_solutions())
    await sheet.pdf(path=target, format="A4", margin=MARGINS)
    await sheet.close()


async def print_course(folder: Path) -> list[Path]:
    """Print all pages of the course for a class, and return the files."""
    pages = [path for pattern in PAGES for path in sorted((DOCUMENTS / "course").glob(pattern))]
    folder.mkdir(parents=True, exist_ok=True)
    targets = [folder / f"{path.stem}.pdf" for path in pages]
    solutions = folder / "solutions.pdf"
    async with open_browser() as browser:
        for path, target in zip(pages, targets, strict=True):
            await print_page(browser, path, target)
        await print_solutions(browser, solutions)
    return [*targets, solutions]


def main() -> None:
    """Build the documentation, print the course, and say where the files are."""
    documents.build()
    for target in asyncio.run(print_course(HANDOUTS)):
        say(str(target.relative_to(ROOT)))


if __name__ == "__main__":
    main()
