"""Draws the pictures of documents: charts and diagrams of the programs before them.

`<!-- picture: pictures/line.svg` holds an expression whose chart or diagram becomes this file, in
colours for light and dark pages. A picture is drawn again when a program before it has changed:
its `data-source` is the fingerprint of these programs.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import hashlib
import inspect
import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.common import ROOT, say
from tools.docs.markup import Piece, pieces
from webnnm.charts import Chart
from webnnm.core.markup import light_dark

SVG = "http://www.w3.org/2000/svg"
SOURCE = "data-source"
NAMED = re.compile(r"\b(?:clip|gradient_)\d+\b")
"""Names of parts of a picture to which others refer."""
MAX_WIDTH = 600
"""The width in pixels up to which a diagram runs from left to right; letters stay readable."""
COLOURS = ("fill", "stroke", "stop-color")


@dataclass(frozen=True)
class Picture:
    """A picture of a document, and the programs that lead to it, the last of which draws it."""

    path: Path
    programs: tuple[Piece, ...]

    @property
    def fingerprint(self) -> str:
        """What changes with the programs."""
        text = "\0".join(piece.text for piece in self.programs)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def is_current(self) -> bool:
        """Whether the file was drawn by these programs."""
        return self.path.exists() and f'{SOURCE}="{self.fingerprint}"' in self.path.read_text()


def pictures(page: Path) -> Iterator[Picture]:
    """Yield the pictures of a document in their order."""
    programs: list[Piece] = []
    for piece in pieces(page.read_text()):
        if piece.mark == "picture":
            yield Picture(page.parent / piece.reason, (*programs, piece))
        elif piece.is_program:
            programs.append(piece)


def run(program: str, names: dict[str, Any], file: str = "<picture>") -> Any:
    """Run a program, at whose top level `await` may stand, and return its last expression.

    It is also the value of `_`, as in Python's prompt.
    """
    tree = ast.parse(program)
    if tree.body and isinstance(last := tree.body[-1], ast.Expr):
        tree.body[-1] = ast.Assign([ast.Name("_", ast.Store())], last.value)
    code = compile(ast.fix_missing_locations(tree), file, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    value = eval(code, names)
    if code.co_flags & inspect.CO_COROUTINE:
        asyncio.run(value)
    return names.get("_")


def draw(picture: Picture) -> str:
    """Return a picture as SVG, after running the programs before it."""
    names: dict[str, Any] = {"__name__": "__main__"}
    value: Any = None
    with contextlib.redirect_stdout(io.StringIO()):
        for piece in picture.programs:
            value = run(piece.text, names)
    if isinstance(value, Chart):
        svg = for_both_themes(value.svg("light"), value.svg("dark"))
    else:
        svg = value.svg("right")
        if int(ET.fromstring(svg).attrib["width"]) > MAX_WIDTH:
            svg = value.svg("down")
    root = ET.fromstring(svg)
    root.set(SOURCE, picture.fingerprint)
    ET.register_namespace("", SVG)
    return f"{ET.tostring(root, encoding='unicode')}\n"


def for_both_themes(light: str, dark: str) -> str:
    """Return a picture with the colours of two that differ in nothing else.

    >>> one = '<svg xmlns="http://www.w3.org/2000/svg"><path fill="{}"/></svg>'
    >>> "path class=" in for_both_themes(one.format("#fff"), one.format("#000"))
    True
    """
    root, other = ET.fromstring(_with_stable_names(light)), ET.fromstring(_with_stable_names(dark))
    classes: dict[tuple[str, str, str], str] = {}
    for element, twin in zip(root.iter(), other.iter(), strict=True):
        names: list[str] = []
        for name, colour in sorted(element.attrib.items()):
            if colour == twin.get(name):
                continue
            if name not in COLOURS:
                raise ValueError(f"{name} depends on the theme: {colour!r}, {twin.get(name)!r}")
            key = name, colour, twin.attrib[name]
            names.append(classes.setdefault(key, f"c{len(classes)}"))
            del element.attrib[name]
        if names:
            element.set("class", " ".join([*element.get("class", "").split(), *names]))
    rules = [light_dark(f".{name}", *key) for key, name in classes.items()]
    style = ET.Element(f"{{{SVG}}}style")
    style.text = "".join(["svg:root{color-scheme:light dark}", *rules])
    root.insert(0, style)
    ET.register_namespace("", SVG)
    return ET.tostring(root, encoding="unicode")


def _with_stable_names(svg: str) -> str:
    """Return a picture whose parts are numbered from 0, not by all that were drawn before."""
    names = list(dict.fromkeys(NAMED.findall(svg)))
    return NAMED.sub(lambda name: f"part{names.index(name[0])}", svg)


def main() -> None:
    """Draw the pictures whose programs have changed."""
    for page in sorted((ROOT / "docs").rglob("*.md")):
        for picture in pictures(page):
            if not picture.is_current:
                picture.path.parent.mkdir(exist_ok=True)
                picture.path.write_text(draw(picture), encoding="utf-8")
                say(f"drew {picture.path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
