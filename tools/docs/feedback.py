"""Where readers of the documentation site edit a document, or say that it is not clear."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

from tools.docs.markup import FROM_ROOT
from tools.page_parts import GUIDES, LINKS

ROOT = Path(__file__).resolve().parents[2]
GENERATED = re.compile(r"^<!-- Written by", re.MULTILINE)
"""Marks documents that a command writes: an edit would be lost."""


class Feedback(NamedTuple):
    """The addresses for one document; no one edits a generated document."""

    edit: str | None
    report: str


def repository() -> str:
    """Return the address of the repository."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)["project"]["urls"]["Source"]


def pages_of(document: str) -> dict[str, str]:
    """Return the pages of the site that a document explains: file name → title.

    >>> pages_of("tables.md")
    {'table.html': 'Tables'}
    """
    name = document.removesuffix(".md")
    return {page: LINKS[page] for page, guide in GUIDES.items() if guide == name}


def version() -> str:
    """Return the version of the package that the documents describe."""
    text = (ROOT / "webnnm" / "__init__.py").read_text(encoding="utf-8")
    match = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    if match is None:
        raise ValueError("webnnm/__init__.py has no __version__")
    return match[1]


def feedback_on(page: str, text: str) -> Feedback:
    """Return the addresses for a page of the site with its text.

    >>> feedback_on("arrays.md", "# Arrays").edit.removeprefix(repository())
    '/edit/main/docs/arrays.md'
    """
    sources = {location: name for name, location in FROM_ROOT.items() if name != "README.md"}
    source = sources.get(page, f"docs/{page}")
    query = urlencode({"template": "documentation.yml", "title": source})
    edit = None if GENERATED.search(text) else f"{repository()}/edit/main/{source}"
    return Feedback(edit, f"{repository()}/issues/new?{query}")
