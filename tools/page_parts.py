"""The common parts of the site's pages, which the build writes into each of them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from textwrap import indent

LINKS = {
    "index.html": "Gallery",
    "hello.html": "Hello",
    "playground.html": "Playground",
    "iris.html": "Iris",
    "digits.html": "Digits",
    "table.html": "Table",
    "worker.html": "Worker",
    "examples.html": "Examples",
    "sounds.html": "Sounds",
    "camera.html": "Camera",
    "speech.html": "Speech",
    "transcribe.html": "Transcribe",
    "ocr.html": "Text",
    "search.html": "Search",
    "chat.html": "Chat",
    "gpt.html": "GPT",
    "teach.html": "Style",
    "arrays.html": "Arrays",
    "notation.html": "Notation",
}
"""Page → the text of its link, in the order of the links."""
PLACE = re.compile(r"^( *)<!-- ([a-z]+) -->\n", re.MULTILINE)
"""The place of a part, by its name: a file of site/parts, or the links between the pages."""
EVERYWHERE = ("head", "header", "footer")


def write_parts(site: Path) -> None:
    """Write the parts into every page of a site, from its folder `parts`, which is then removed."""
    pages = {name: whole(site, name) for name in LINKS}
    for name, text in pages.items():
        (site / name).write_text(text, encoding="utf-8")
    shutil.rmtree(site / "parts")


def whole(site: Path, name: str) -> str:
    """Return a page with its parts.

    Raises `ValueError` if it lacks a part that all pages have, or names one that does not exist.
    """
    files = (site / "parts").glob("*.html")
    parts = {file.stem: file.read_text(encoding="utf-8") for file in files}
    text = (site / name).read_text(encoding="utf-8")
    named = [match[2] for match in PLACE.finditer(text)]
    if {*named} - parts.keys() or any(named.count(part) != 1 for part in EVERYWHERE):
        raise ValueError(f"site/{name} names {named}: {EVERYWHERE} once, others of {sorted(parts)}")
    return filled(text, {**parts, "navigation": links(name)})


def filled(text: str, parts: dict[str, str]) -> str:
    r"""Return a text with parts in their places, indented like these.

    >>> filled("<p>\n  <!-- a -->\n</p>\n", {"a": "<b>\n  <!-- c -->\n</b>\n", "c": "text\n"})
    '<p>\n  <b>\n    text\n  </b>\n</p>\n'
    """
    return PLACE.sub(lambda place: indent(filled(parts[place[2]], parts), place[1]), text)


def links(current: str) -> str:
    """Return the list of links of a page.

    >>> links("hello.html").splitlines()[3].strip()
    '<li><a href="./hello.html" aria-current="page">Hello</a></li>'
    """
    rows: list[str] = []
    for name, told in LINKS.items():
        here = ' aria-current="page"' if name == current else ""
        rows.append(f'    <li><a href="./{name}"{here}>{told}</a></li>\n')
    return f'<nav aria-label="Pages">\n  <ul>\n{"".join(rows)}  </ul>\n</nav>\n'
