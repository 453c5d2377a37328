"""The grammar of the specification gives the same verdict on its examples as the parser."""

from __future__ import annotations

from typing import Any

import pytest

from tests.places import INVALID, SPEC, VALID
from webnnm.core.errors import NotationError
from webnnm.notation import parse
from webnnm.notation.formatter import format_document

abnf = pytest.importorskip("abnf")

OUTSIDE = {101, 102, 103, 104, 105, 106, 108, 110, 111, 113, 118, 119}
"""The codes that the table of the specification marks as outside the grammar."""


@pytest.fixture(scope="module")
def grammar() -> Any:
    class Notation(abnf.Rule):
        """The rules of webnnm.abnf."""

    lines = (SPEC / "webnnm.abnf").read_text("utf-8").splitlines()
    Notation.load_grammar("\r\n".join([*lines, ""]))
    return Notation("document")


def accepts(grammar: Any, text: str) -> bool:
    try:
        grammar.parse_all(text)
    except abnf.ParseError:
        return False
    return True


def test_the_grammar_accepts_valid_examples_and_their_canonical_text(grammar: Any) -> None:
    for path in sorted(VALID.glob("*.nnm")):
        text = path.read_text("utf-8")
        assert accepts(grammar, text), path.name
        assert accepts(grammar, format_document(parse(text))), path.name


def test_grammar_and_parser_refuse_the_same_examples(grammar: Any) -> None:
    for path in sorted(INVALID.glob("*.nnm")):
        text = path.read_text("utf-8")
        try:
            parse(text)
        except NotationError as error:
            outside = int(error.code.removeprefix("NNM")) in OUTSIDE
        else:
            outside = False
        assert accepts(grammar, text) is not outside, path.name
