"""Documents are listed and linked, and every program in them is run or says why it is not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.document_files import DOCS, PAGES, ROOT, TEXTS, headings, id_of
from tools.citations import anchor
from tools.docs.markup import pieces


@pytest.mark.parametrize("page", TEXTS, ids=id_of)
def test_every_fence_is_closed_and_every_python_runs_or_says_why_not(page: Path) -> None:
    text = page.read_text()
    found = list(pieces(text))
    fences = re.findall(r"^```+", text, re.MULTILINE)
    assert len(fences) == 2 * sum(it.mark != "setup" for it in found)
    marks = re.findall(r"^<!-- (?:setup|not run|desktop|pages)\b", text, re.MULTILINE)
    assert len(marks) == sum(it.mark != "" for it in found), "a mark stands before no block"
    signatures = page.name == "api.md"
    unsaid = [it.line for it in found if it.language == "py" and not (it.mark or signatures)]
    assert not unsaid, "`py` is Python that is not run: say why"


INSIDE = {
    "adding-an-operator.md": "it is about the inside",
    "quantization.md": "models of one's own are quantised by their state",
}
"""Guides that may import what is not public."""
MODULES = "charts|language|random|sync|xp"
"""Public modules."""


def test_guides_import_public_names() -> None:
    statement = rf"^[\s>.]*(?:from|import) (webnnm\.(?!(?:{MODULES})\b)[\w.]+)"
    inner = re.compile(statement, re.MULTILINE)
    guides = [*DOCS.glob("*.md"), ROOT / "README.md"]
    hidden = {page.name: inner.findall(page.read_text()) for page in guides}
    generated = {"api.md", "expert.md", "rules.md"}
    assert {name for name, modules in hidden.items() if modules} - generated == {*INSIDE}


def test_every_document_is_listed() -> None:
    index = (DOCS / "README.md").read_text()
    linked = set(re.findall(r"\]\(([\w./-]+)[)#]", index))
    files = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*") if path.is_file()}
    assert sorted(files - {"README.md"} - linked) == []


@pytest.mark.parametrize(
    "page",
    [*PAGES, *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md"))],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for target, place in re.findall(r"\]\(([\w./-]*)(?:#([\w-]+))?\)", text):
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), target
        if place:
            assert place in {anchor(title) for title in headings(path)}, f"{target}#{place}"
