"""The grammar of docs/notation.md gives the same verdict on examples as the parser."""

from __future__ import annotations

import re
from typing import Any

import pytest

import webnnm
from tests.document_files import DOCS
from tests.places import INVALID, VALID
from webnnm.core.errors import NotationError

ABNF = {"[": "[", "]": "]", "(": "(", ")": ")", "{": "*(", "}": ")", "|": "/", "=": "="}
"""What our EBNF and ABNF write differently, mark by mark."""


BEYOND_GRAMMAR = ("NNM107", "NNM109", "NNM112", "NNM114", "NNM115", "NNM116", "NNM117")
"""What the parser refuses in texts that the grammar allows: repetitions, sizes, counts."""

EXAMPLES = [*sorted(VALID.glob("*.nnm")), *sorted(INVALID.glob("*.nnm"))]


@pytest.fixture(scope="module")
def grammar() -> Any:
    """The grammar of docs/notation.md."""
    abnf = pytest.importorskip("abnf")
    (text,) = re.findall(r"^```ebnf\n(.*?)^```", (DOCS / "notation.md").read_text(), re.M | re.S)
    text = re.sub(r"\(\*(?!\s*\").*?\*\)", "", text)
    rules: list[str] = []
    for line in text.splitlines():
        words = [_abnf(word) for word in re.findall(r'"[^"]+"|#x\S+|[\w-]+|\S', line)]
        rules.append((" " if line.startswith(" ") else "") + " ".join(words))

    class Notation(abnf.Rule):
        """The rules of the document."""

    Notation.load_grammar("\r\n".join([*(rule for rule in rules if rule.strip()), ""]))
    return abnf, Notation("our-document")


def _abnf(word: str) -> str:
    if word.startswith('"'):
        return f"%s{word}"
    if word.startswith("#x"):
        return "%" + word[1:].replace("…#x", "-")
    # The names of ABNF's own rules, such as DIGIT, cannot be had.
    return ABNF.get(word) or f"our-{word}"


FILES = (
    'b:source "net.onnx";',
    "b:source 'a/b.onnx' at=\"x/1\" ;",
    'b:source "net.onnx" at=features',
    "b:source net.onnx;",
    "b:source;",
    'b:source "net.onnx", at=x;',
)


def test_the_grammar_is_that_of_the_parser(grammar: Any) -> None:
    assert len(EXAMPLES) > 50
    assert [path.name for path in EXAMPLES if not _agree(grammar, path.read_text("utf-8"))] == []


def test_the_grammar_knows_files(grammar: Any) -> None:
    assert [text for text in FILES if not _agree(grammar, text)] == []


def _agree(grammar: Any, text: str) -> bool:
    """Return whether the verdict of the grammar is that of the parser."""
    abnf, document = grammar
    try:
        webnnm.parse(text)
        valid = True
    except NotationError as error:
        valid = error.code in BEYOND_GRAMMAR
    try:
        document.parse_all(text)
    except abnf.ParseError:
        return not valid
    return valid
