"""Documents are listed and linked, and every program in them is run or says why it is not."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.document_files import DOCS, PAGES, ROOT, TEXTS, headings, id_of
from tools.citations import anchor
from tools.docs.gallery import FOLDER, examples
from tools.docs.markup import pieces
from tools.docs.pictures import pictures


def problems_of_blocks(page: Path) -> Iterator[str]:
    """Yield what is wrong with the code blocks of a document."""
    text = page.read_text()
    blocks = list(pieces(text))
    fences = re.findall(r"^```+", text, re.MULTILINE)
    hidden = ("setup", "check", "wrong", "picture")
    if len(fences) != 2 * sum(block.mark not in hidden for block in blocks):
        yield "a fence is not closed"
    marks = re.findall(
        r"^<!-- (?:setup|not run|desktop|pages|exercise|check|wrong|picture)\b"
        r"|^<summary>Solution",
        text,
        re.MULTILINE,
    )
    if len(marks) != sum(block.mark != "" for block in blocks):
        yield "a mark stands before no block"
    for block in blocks:
        if block.language == "py" and not block.mark and page.name != "api.md":
            yield f"line {block.line}: `py` is Python that is not run: say why"


def test_every_fence_is_closed_and_every_python_runs_or_says_why_not() -> None:
    found = [f"{id_of(page)}: {problem}" for page in TEXTS for problem in problems_of_blocks(page)]
    assert found == []


INSIDE = {
    "adding-an-operator.md": "it is about the inside",
}
"""Guides that may import what is not public."""
MODULES = "charts|language|random|sync|xp"
"""Public modules."""


def test_guides_import_public_names() -> None:
    statement = rf"^[\s>.]*(?:from|import) (webnnm\.(?!(?:{MODULES})\b)[\w.]+)"
    inner = re.compile(statement, re.MULTILINE)
    lessons = (DOCS / "course").glob("[0-9]*.md")
    guides = [*DOCS.glob("*.md"), *lessons, *FOLDER.glob("*.md"), ROOT / "README.md"]
    hidden = {page.name: inner.findall(page.read_text()) for page in guides}
    generated = {"api.md", "expert.md", "rules.md"}
    assert {name for name, modules in hidden.items() if modules} - generated == {*INSIDE}


def test_every_document_is_listed() -> None:
    index = (DOCS / "README.md").read_text()
    linked = set(re.findall(r"\]\(([\w./-]+)[)#]", index))
    linked |= {f"gallery/{name}.md" for name in examples()}
    files = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*") if path.is_file()}
    pictures = {name for name in files if "/pictures/" in name}
    assert sorted(files - {"README.md"} - linked - pictures) == []


def test_pictures_are_shown_and_are_those_of_their_programs() -> None:
    for page in PAGES:
        drawn = [*pictures(page)]
        stale = [picture.path.name for picture in drawn if not picture.is_current]
        assert stale == [], f"{id_of(page)}: `python -m tools.docs.pictures` draws them"
        shown = re.findall(r"!\[([^]]*)\]\((pictures/[\w.-]+)\)", page.read_text())
        assert [picture.path for picture in drawn] == [page.parent / path for _, path in shown]
        assert all(len(text) > 30 for text, _ in shown), f"{id_of(page)}: say what pictures show"
    every = {picture.path for page in PAGES for picture in pictures(page)}
    assert {*DOCS.rglob("pictures/*.svg")} == every


@cache
def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a document."""
    return {anchor(title) for title in headings(page)}


def dead_links(page: Path) -> Iterator[str]:
    """Yield the links of a document to files and headings that do not exist."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for target, heading in re.findall(r"\]\(([\w./-]*)(?:#([\w-]+))?\)", text):
        path = (page.parent / target).resolve() if target else page
        if not path.exists():
            yield target
        elif heading and heading not in anchors(path):
            yield f"{target}#{heading}"


def test_links_lead_somewhere() -> None:
    others = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
    dead = {id_of(page): [*dead_links(page)] for page in (*PAGES, *others)}
    assert {name: links for name, links in dead.items() if links} == {}


ADDRESS = re.compile(r"https://github\.com/[\w-]+/webnnm\b")


def test_the_address_of_the_repository_is_that_of_the_package() -> None:
    address = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Source"]
    named = {page.name: {*ADDRESS.findall(page.read_text())} - {address} for page in TEXTS}
    assert {name: addresses for name, addresses in named.items() if addresses} == {}
    assert ADDRESS.fullmatch(address)
    template = ROOT / ".github" / "ISSUE_TEMPLATE" / "documentation.yml"
    assert template.exists(), "the documentation site asks readers to fill it in"
