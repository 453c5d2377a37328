"""Turns citations of the specification in docstrings into links, for the generated documents."""

from __future__ import annotations

import re

from tools.common import ROOT

DOCS = ROOT / "docs"
NOTATION = DOCS / "notation.md"
CITATION = re.compile(r"spec ([A-J])(\.\d+)?")


def anchor(title: str) -> str:
    """Return the anchor of a heading.

    >>> anchor("Data, settings and calls")
    'data-settings-and-calls'
    """
    return re.sub(r"[^\w -]", "", title).lower().replace(" ", "-")


def link_citations(text: str) -> str:
    """Return a text of docs/ in which citations are links.

    >>> link_citations("a table of weights (spec D.4)")
    'a table of weights ([spec D.4](specification/d-losses.md#d4-choice))'
    """
    return CITATION.sub(_link, text)


def _link(citation: re.Match[str]) -> str:
    part, section = citation[1], citation[1] + (citation[2] or "")
    page = next((DOCS / "specification").glob(f"{part.lower()}-*.md"), NOTATION)
    titles = re.findall(rf"^#+ ({re.escape(section)} .*)$", page.read_text(), re.MULTILINE)
    fragment = f"#{anchor(titles[0])}" if titles else ""
    return f"[{citation[0]}]({page.relative_to(DOCS).as_posix()}{fragment})"
