"""Adds to the search index the words by which people look for a section.

`search_words.toml` names them by document and heading. The theme weighs them above titles, and
shows under a result the word that was found.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_suffix(".toml")


def read_words(text: str) -> dict[str, list[str]]:
    """Return the words of a table by the location of their section on the site.

    >>> read_words('["training.md"]\\n"#memory" = "out of memory, OOM"\\n"" = "fit"')
    {'training.html#memory': ['out of memory', 'OOM'], 'training.html': ['fit']}
    """
    tables: dict[str, dict[str, str]] = tomllib.loads(text)
    return {
        document.removesuffix("README.md").removesuffix(".md")
        + (".html" if not document.endswith("README.md") else "index.html")
        + heading: [word.strip() for word in words.split(",")]
        for document, sections in tables.items()
        for heading, words in sections.items()
    }


def add_words(index: dict[str, Any], words: Mapping[str, list[str]]) -> None:
    """Add words to the sections of an index, or raise `ValueError` for one that is not in it."""
    sections = {section["location"]: section for section in index["docs"]}
    if missing := sorted(words.keys() - sections.keys()):
        raise ValueError(f"{TABLE.name} names sections that are not on the site: {missing}")
    for location, section_words in words.items():
        sections[location]["tags"] = section_words


def write_words(site: Path) -> None:
    """Add the words of the table to the index of a site that was built."""
    path = site / "search" / "search_index.json"
    index = json.loads(path.read_text(encoding="utf-8"))
    add_words(index, read_words(TABLE.read_text(encoding="utf-8")))
    path.write_text(json.dumps(index, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
