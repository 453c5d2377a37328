"""Every measured figure of a document names the command that measures it, and its day."""

from __future__ import annotations

import doctest

from tools import figures


def test_every_figure_has_a_command() -> None:
    missing = [f"{each.document}:{each.line} {each.figures}" for each in figures.unknown()]
    assert missing == [], "`<!-- measured: COMMAND, DAY, FILES -->`: see tools/figures.py"


def test_marks_name_a_day_and_files_that_exist() -> None:
    marked = [
        passage
        for name, text in figures.documents()
        for passage in figures.passages(name, text)
        if passage.kind == "measured"
    ]
    assert len(marked) > 10
    for passage in marked:
        for name in figures.read_mark(passage.text).files:
            assert (figures.ROOT / name).exists(), f"{passage.document} depends on {name}"


def test_a_figure_without_a_mark_is_found() -> None:
    (passage,) = figures.passages("a.md", "# A\n\nIt takes 5 ms, `at 7 ms`.\n")
    assert (passage.line, passage.figures, passage.kind) == (3, ("5 ms",), "")


def test_examples_run() -> None:
    assert doctest.testmod(figures).failed == 0
