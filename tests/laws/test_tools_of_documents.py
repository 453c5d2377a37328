"""What writes and joins documents: its examples run, and its tables name what exists."""

from __future__ import annotations

import doctest
from types import ModuleType

import pytest

from tests.document_files import DOCS, headings
from tools import choices, licences, page_offers, page_parts, recorded_drawings
from tools.citations import anchor
from tools.docs import feedback, gallery, search_words


@pytest.mark.parametrize(
    "module",
    [
        choices,
        licences,
        feedback,
        gallery,
        page_offers,
        page_parts,
        recorded_drawings,
        search_words,
    ],
)
def test_examples_run(module: ModuleType) -> None:
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0


def test_every_page_has_a_guide() -> None:
    assert {*page_parts.GUIDES} == {*page_parts.LINKS}
    guides = {*page_parts.GUIDES.values()} - {"index"}
    assert [name for name in guides if not (DOCS / f"{name}.md").exists()] == []


def test_words_of_the_search_belong_to_sections() -> None:
    words = search_words.read_words(search_words.TABLE.read_text(encoding="utf-8"))
    assert len(words) > 80
    for location, section_words in words.items():
        page, _, heading = location.partition("#")
        name = page.replace("index.html", "README.md").replace(".html", ".md")
        anchors = {anchor(title) for title in headings(DOCS / name)}
        assert not heading or heading in anchors, f"{name} has no section #{heading}"
        assert all(section_words), location


def test_a_section_that_is_not_on_the_site_is_named() -> None:
    index = {"docs": [{"location": "a.html", "title": "A", "text": ""}]}
    with pytest.raises(ValueError, match=r"b\.html"):
        search_words.add_words(index, {"b.html": ["b"]})
