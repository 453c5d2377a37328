"""The programs and models in documents do what these say."""

from __future__ import annotations

import doctest
import io
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

import webnnm
from tests.document_files import PAGES, ROOT, TEXTS, id_of
from tools.docs import markup, pictures
from tools.docs.markup import Piece, pieces
from webnnm import ops

NEEDS = {"cloud.md": "jax", "pictures.md": "PIL"}
ELSEWHERE = {
    "api.md": "test_docstrings.py",
    "rules.md": "test_docstrings.py",
    "adding-an-operator.md": "test_adding_an_operator.py",
}
"""Documents whose examples another test runs."""
OUTPUTS = doctest.OutputChecker()


def programs(page: Path) -> list[Piece]:
    return [it for it in pieces(page.read_text()) if it.is_program and it.mark != "pages"]


@pytest.fixture
def no_new_operators() -> Iterator[None]:
    """Take away what a document registered."""
    before = set(ops.registry())
    yield
    for name in set(ops.registry()) - before:
        ops.unregister(name)


@pytest.mark.parametrize(
    "page",
    [page for page in TEXTS if page.name not in ELSEWHERE and programs(page)],
    ids=id_of,
)
def test_examples_run(
    page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, no_new_operators: None
) -> None:
    if page.name in NEEDS:
        pytest.importorskip(NEEDS[page.name], reason=f"{page.name} needs it")
    for folder in ("tests", "site"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    printed: str | None = ""
    for piece in pieces(page.read_text()):
        if piece.is_output:
            if printed is not None:
                assert OUTPUTS.check_output(piece.text, printed, doctest.ELLIPSIS), printed
        elif piece.mark == "picture":
            assert pictures.run(piece.text, dict(names)).svg()
        elif not piece.is_program:
            continue
        elif piece.mark == "pages":  # so is what it prints
            printed = None
        elif piece.is_session:
            run_session(piece, page, names)
        else:
            printed = run_program(piece, page, names)


def run_session(piece: Piece, page: Path, names: dict[str, Any]) -> None:
    """Run what stands behind prompts, and compare its answers with those that are shown."""
    # Its own name: frames of earlier sessions look for their lines by it.
    place = f"{page.name}-{piece.line}", str(page), piece.line
    session = doctest.DocTestParser().get_doctest(piece.text, names, *place)
    assert session.examples
    told: list[str] = []
    failed = doctest.DocTestRunner().run(session, out=told.append, clear_globs=False).failed
    assert not failed, "".join(told)
    names.update(session.globs)


def run_program(piece: Piece, page: Path, names: dict[str, Any]) -> str:
    """Run a program, at whose top level `await` may stand, and return what it prints."""
    with redirect_stdout(io.StringIO()) as printed:
        pictures.run("\n" * piece.line + piece.text, names, str(page))
    return printed.getvalue()


def test_there_are_examples() -> None:
    sessions = [it for page in PAGES for it in programs(page) if it.is_session]
    assert sum(it.text.count(">>> ") for it in sessions) > 400


def test_examples_of_the_site_run() -> None:
    assert doctest.testmod(markup).failed == 0


FENCE = re.compile(r"^```webnnm(?: (NNM\d+))?\n(.*?)^```", re.MULTILINE | re.DOTALL)
MODELS = [
    pytest.param(code, text, id=f"{page.relative_to(ROOT).as_posix()}-{number}")
    for page in TEXTS
    for number, (code, text) in enumerate(FENCE.findall(page.read_text()), 1)
]
"""The models of all documents; those that are wrong on purpose name their code."""


@pytest.mark.parametrize(("code", "text"), MODELS)
def test_models_are_what_documents_say(code: str, text: str) -> None:
    found = webnnm.check(text)
    assert [finding.code for finding in found] == ([code] if code else [])


def test_there_are_models() -> None:
    assert len(MODELS) > 8
