"""Whole pages say how they are encoded, in their first bytes, and what a link to them shows."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

from tools.link_pictures import LIMIT_KB
from tools.page_parts import (
    ADDRESS,
    DESCRIPTION,
    HEADINGS,
    HOME,
    LINK_PICTURES,
    LINK_SIZE,
    LINKS,
    whole,
)

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


def test_headings_say_more_than_links() -> None:
    assert {*HEADINGS} == {*LINKS} - {HOME}
    short = [name for name, heading in HEADINGS.items() if heading == LINKS[name]]
    assert short == []
    long = [heading for heading in HEADINGS.values() if len(heading) > 44]
    assert long == [], "a tab and a result of a search cut them off"


PROPERTY = re.compile(r'<meta property="og:([a-z:_]+)" content="([^"]*)"/>')


def test_a_link_to_a_page_shows_a_sentence_and_a_picture_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(ADDRESS, raising=False)
    site, links = ROOT / "site", {}
    for name in LINKS:
        text = whole(site, name)
        links[name] = shown = dict(PROPERTY.findall(text))
        assert f"<title>{shown['title']}</title>" in text, name
        written = DESCRIPTION.search(text)
        assert written and unescape(written[1]) == unescape(shown["description"]), name
        picture = (site / shown["image"]).read_bytes()
        assert len(picture) / 1000 <= LIMIT_KB, name
        assert size_of_jpeg(picture) == LINK_SIZE, name
        assert [shown["image:width"], shown["image:height"]] == list(map(str, LINK_SIZE))
    for key in ("title", "description", "image"):
        assert len({shown[key] for shown in links.values()}) == len(LINKS), key
    pictures = {path.name for path in (site / LINK_PICTURES).iterdir()}
    assert pictures == {Path(shown["image"]).name for shown in links.values()}


def test_the_picture_of_a_link_has_the_address_of_a_site(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ADDRESS, "https://models.example/net/")
    shown = dict(PROPERTY.findall(whole(ROOT / "site", "iris.html")))
    assert shown["image"] == f"https://models.example/net/{LINK_PICTURES}/iris.jpg"


def size_of_jpeg(content: bytes) -> tuple[int, int]:
    """Return the width and the height that the frame of a JPEG file has."""
    at = 2
    while not 0xC0 <= content[at + 1] <= 0xC2:
        at += 2 + int.from_bytes(content[at + 2 : at + 4], "big")
    height, width = (int.from_bytes(content[at + k : at + k + 2], "big") for k in (5, 7))
    return width, height
