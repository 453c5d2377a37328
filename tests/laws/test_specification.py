"""What docstrings cite as "spec B.4" stands in docs/specification, under this number."""

from __future__ import annotations

import re

from tests.document_files import DOCS, PAGES, ROOT, headings

SPECIFICATION = [DOCS / "notation.md", *sorted((DOCS / "specification").glob("*.md"))]
CITATION = re.compile(r"spec (?:part )?([A-J](?:\.\d+)?(?:, [A-J]\.\d+)*)(?!\d)")


def test_what_the_source_cites_has_a_heading() -> None:
    titles = [title for page in SPECIFICATION for title in headings(page)]
    numbers = {title.split()[0] for title in titles}
    parts = {match[1] for title in titles if (match := re.match(r"Part ([A-J]):", title))}
    cited = {
        section
        for path in (ROOT / "webnnm").rglob("*.py")
        for sections in CITATION.findall(" ".join(path.read_text().split()))
        for section in sections.split(", ")
    }
    assert len(cited) > 40
    assert sorted(cited - numbers - parts) == []


def test_what_documents_cite_is_a_link() -> None:
    unlinked = [
        f"{page.name}: {match[0]}"
        for page in PAGES
        for match in re.finditer(r'(?<!["\[])\bspec [A-J]\.\d+', page.read_text())
    ]
    assert not unlinked
