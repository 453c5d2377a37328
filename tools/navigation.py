"""The links between the pages of the site, which its build writes into each of them."""

from __future__ import annotations

from pathlib import Path

LINKS = {
    "index.html": "Gallery",
    "hello.html": "Hello",
    "iris.html": "Iris",
    "digits.html": "Digits",
    "worker.html": "Worker",
    "camera.html": "Camera",
    "speech.html": "Speech",
    "transcribe.html": "Transcribe",
    "ocr.html": "Text",
    "search.html": "Search",
    "chat.html": "Chat",
    "gpt.html": "GPT",
    "teach.html": "Style",
    "notation.html": "Notation",
}
"""Page → what its link says, in the order of the links."""
PLACE = "<!-- navigation -->"
"""What stands in a page where its links come."""


def write_navigation(site: Path) -> None:
    """Write the links into every page of a site."""
    for name in LINKS:
        page = site / name
        text = page.read_text(encoding="utf-8")
        if text.count(PLACE) != 1:
            raise ValueError(f"site/{name} has {text.count(PLACE)} places for links, not one")
        page.write_text(text.replace(PLACE, links(name)), encoding="utf-8")


def links(current: str) -> str:
    """Return the list of links of a page.

    >>> links("hello.html").splitlines()[3].strip()
    '<li><a href="./hello.html" aria-current="page">Hello</a></li>'
    """
    rows: list[str] = []
    for name, told in LINKS.items():
        here = ' aria-current="page"' if name == current else ""
        rows.append(f'<li><a href="./{name}"{here}>{told}</a></li>')
    inner = "\n".join(f"          {row}" for row in rows)
    return f'<nav aria-label="Pages">\n        <ul>\n{inner}\n        </ul>\n      </nav>'
