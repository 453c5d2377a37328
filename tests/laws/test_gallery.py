"""Each example of the gallery is one short program, with a picture that it draws itself."""

from __future__ import annotations

import ast
import re

import pytest

from tests.document_files import DOCS
from tools.docs import gallery
from tools.docs.markup import pieces
from tools.docs.pictures import pictures

FOLDER = gallery.FOLDER
NAMES = sorted(path.stem for path in FOLDER.glob("*.md") if path != gallery.INDEX)
MAX_LINES = 29
WIDTH = 100
"""Characters of a line."""
LARGEST = 200_000
"""Bytes of a picture."""


def test_there_are_thirty_examples_and_the_index_has_them_all() -> None:
    assert sorted(gallery.examples()) == NAMES
    assert len(NAMES) >= 30


@pytest.mark.parametrize("name", NAMES)
def test_an_example_is_one_short_program_that_draws_its_picture(name: str) -> None:
    page = FOLDER / f"{name}.md"
    blocks = [*pieces(page.read_text())]
    (program,) = [piece for piece in blocks if piece.is_program]
    lines = program.text.splitlines()
    assert len(lines) <= MAX_LINES
    assert max(map(len, lines)) <= WIDTH
    (picture,) = pictures(page)
    assert picture.path == FOLDER / "pictures" / f"{name}.svg"
    assert blocks[-1].text == "_\n", "the picture is what the program shows at its end"
    assert isinstance(ast.parse(program.text).body[-1], ast.Expr)
    assert picture.path.stat().st_size <= LARGEST


@pytest.mark.parametrize("name", NAMES)
def test_an_example_says_why_what_next_and_where_more_is(name: str) -> None:
    text = (FOLDER / f"{name}.md").read_text()
    example = gallery.examples()[name]
    assert example.picture == f"pictures/{name}.svg"
    assert len(example.sentence) < 140
    after = text.split("-->\n", 1)[1]
    assert "**Try next:**" in after
    links = after.rsplit("\n\n", 1)[1]
    assert links.startswith("[Gallery](README.md) · ")
    assert re.search(r"\]\(\.\./[\w/-]+\.md", links), "a guide or a lesson"


def test_guides_know_their_examples() -> None:
    titles = [example.name for example in gallery.examples_of("pictures.md")]
    assert {"digits", "segmentation", "detection"} <= {*titles}
    assert gallery.examples_of("hosting.md") == []
    first, *_, last = gallery.examples()
    assert [*gallery.neighbours(f"gallery/{first}.md")] == ["Next"]
    assert [*gallery.neighbours(f"gallery/{last}.md")] == ["Previous"]
    assert gallery.neighbours("training.md") == {}


def test_a_document_without_a_picture_is_no_example() -> None:
    with pytest.raises(ValueError, match=r"gallery/a\.md does not begin"):
        gallery.read_example("a", "# Title\n\nA sentence.\n\nMore.\n")
    assert DOCS / "gallery" == FOLDER
