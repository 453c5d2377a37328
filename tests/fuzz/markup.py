"""Hostile names in HTML and SVG: the elements are those of a harmless name, whatever is in it."""

from __future__ import annotations

from functools import cache
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

from hypothesis import strategies as st

from tests.fuzz.frame import Target
from tests.fuzz.markup_producers import HTML, SVG

HARMLESS = "name"
PIECES = (
    *(
        "<",
        ">",
        '"',
        "'",
        "&",
        "/",
        "=",
        "`",
        " ",
        "\n",
        "\0",
        "\x1b",
        "\u2028",
        "\ud800",
        "\uffff",
    ),
    *("<script>", "</script>", "<!--", "-->", "]]>", "<![CDATA[", "</title>", "</style>", "</svg>"),
    *("<img src=x onerror=canary()>", "<svg onload=canary()>", "<x-foreign>", "</textarea>"),
    *("canary()", "javascript:", "{{", "}}", "${", "%%{init}%%", "\\", "\\u003c", "&lt;", "&#60;"),
    *(
        "onload=canary() ",
        "style=x:expression(canary())",
        "é",
        "\U0001f600",
        "\u202e",
        "a.b",
        "[0]",
    ),
    *("datum['x']", "[0]", "__proto__", "constructor"),
)
"""What ends texts, attributes, elements, comments and scripts, and what looks like them."""
NAMES = (
    st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=6).map("".join).filter(bool)
)


class Skeleton(HTMLParser):
    """The elements of a document with the names of their attributes, without any text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.elements.append(f"<{tag} {' '.join(name for name, _ in attrs)}>")

    def handle_endtag(self, tag: str) -> None:
        self.elements.append(f"</{tag}>")

    def handle_comment(self, data: str) -> None:
        self.elements.append("comment")

    def unknown_decl(self, data: str) -> None:
        self.elements.append("declaration")

    def handle_pi(self, data: str) -> None:
        self.elements.append("instruction")


@cache
def harmless() -> dict[str, list[str]]:
    """Return the elements that each producer makes of a harmless name."""
    return {kind: Skeleton(make(HARMLESS)).elements for kind, make in {**HTML, **SVG}.items()}


def check(name: str) -> str:
    """Compare what all producers make of a name with what they make of a harmless one."""
    for kind, make in {**HTML, **SVG}.items():
        text = make(name)
        if kind == "folder" and not text:
            continue  # there can be no such file
        text.encode()
        assert Skeleton(text).elements == harmless()[kind], kind
        if kind in SVG:
            ElementTree.fromstring(text)
    return "passed"


TARGET = Target(
    name="markup",
    cases=NAMES,
    check=check,
    save=str,
    load=str,
    suffix=".txt",
    examples=40,
)
