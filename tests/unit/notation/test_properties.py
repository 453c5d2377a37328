"""Any text parses or raises a notation error."""

from __future__ import annotations

import functools

import pytest

from tests.places import VALID
from tests.work import examples
from webnnm.core.errors import NotationError
from webnnm.notation import parse
from webnnm.notation.formatter import format_document

pytest.importorskip("hypothesis")

from hypothesis import example, given, settings
from hypothesis import strategies as st

TOKENS = [
    *"()[]{},=:;.+-%#/*'\"\\ \t\r\n_0179axe\0\ufeff\ud800é\u2028",
    *("//", "/*", "*/", "webnnm", "1.0", "name", "input", "output", "layers", "loss", "delta"),
    *(
        "constants",
        "param",
        "source",
        "at=x",
        "float32",
        "shape",
        "shape=[4]",
        "m:",
        "relu()",
        "1e-5",
        "0x1",
        "50%",
    ),
    *("Infinity", "x.0", "a-b", "'s'", "m:input", "batch", "sequence", "\n", " ", " ", ", ", "; "),
]


def check(text: str) -> None:
    """Assert what holds for any text: a document with all its laws, or a notation error."""
    try:
        document = parse(text)
    except NotationError as error:
        assert "NNM101" <= error.code <= "NNM119"
        assert error.message
        assert error.line >= 1
        assert error.column >= 1
        assert str(error)
        return
    canonical = format_document(document)
    assert parse(canonical) == document
    assert format_document(parse(canonical)) == canonical
    assert parse(canonical).trailing_comments == tuple(
        comment.replace("\r\n", "\n").replace("\r", "\n") for comment in document.trailing_comments
    )


@functools.cache
def valid_examples() -> list[str]:
    return [path.read_text("utf-8") for path in sorted(VALID.glob("*.nnm"))]


# Any text.


@pytest.mark.alike
@given(st.text())
def test_any_text(text: str) -> None:
    check(text)


@settings(max_examples=examples(1000))
@given(st.lists(st.sampled_from(TOKENS), max_size=40).map("".join))
@example("m:name" + " a/" * 3)
@example("m:name a/\r/b")
def test_texts_of_tokens(text: str) -> None:
    check(text)
    check("m:layers f(" + text + ");")
    check("m:name " + text)


@settings(max_examples=examples(500))
@given(st.data())
def test_mutated_examples(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(valid_examples()))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = start + data.draw(st.integers(0, 6))
        text = text[:start] + data.draw(st.sampled_from(["", *TOKENS])) + text[end:]
    check(text)
