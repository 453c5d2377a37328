"""Whole pages, shown ones as well, say in their first bytes how they are encoded."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

from tools.page_parts import whole

ROOT = Path(__file__).resolve().parent.parent.parent
CHARSET = re.compile(r'<meta charset="utf-8"( /)?>')
FIRST_BYTES = 1024
"""Where browsers look for it."""
FENCED = re.compile(r"^```html\n(.*?)^```$", re.M | re.S)


def pages() -> dict[str, str]:
    """Return every whole page of the repository by where it stands."""
    site = ROOT / "site"
    found = {f"site/{file.name}": whole(site, file.name) for file in site.glob("*.html")}
    for file in (ROOT / "tests/browser/pages").glob("*.html"):
        found[str(file.relative_to(ROOT))] = file.read_text(encoding="utf-8")
    for file in (ROOT / "npm/pages").rglob("*.html"):
        found[str(file.relative_to(ROOT))] = file.read_text(encoding="utf-8")
    shown = re.search(r'<pre id="snippet"[^>]*><code>(.*?)</code>', found["site/index.html"], re.S)
    assert shown
    found["the gallery's lines"] = unescape(shown[1])
    for document in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for number, text in enumerate(FENCED.findall(document.read_text(encoding="utf-8"))):
            if "<!doctype" in text:
                found[f"{document.name}, page {number}"] = text
    return found


def test_a_page_says_how_it_is_encoded() -> None:
    wrong = [
        name
        for name, text in pages().items()
        if not text.startswith("<!doctype html>")
        or not CHARSET.search(text.encode()[:FIRST_BYTES].decode(errors="ignore"))
    ]
    assert wrong == []


def test_no_page_is_overlooked() -> None:
    assert {
        "site/iris.html",
        "npm/pages/worker/index.html",
        "the gallery's lines",
        "deploying.md, page 0",
    } <= {*pages()}
