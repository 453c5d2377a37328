"""Large texts come to an end: with a document or an error, and never with a RecursionError."""

from __future__ import annotations

import pytest

from tests.work import examples
from webnnm.core.errors import NotationError
from webnnm.notation import parse
from webnnm.notation.cursor import MAX_DEPTH
from webnnm.notation.formatter import format_document


@pytest.mark.parametrize("opening", ["[", "f(", "{a:", "[{a:f(", "(", "{"])
@pytest.mark.parametrize("before", ["", "m:layers f(", "m:layers f(x=", "c [1] ", "m:input shape="])
def test_deep_nesting(before: str, opening: str) -> None:
    with pytest.raises(NotationError):
        parse(before + opening * (100_000 // len(opening)))


def test_nesting_up_to_the_bound() -> None:
    depth = MAX_DEPTH - 1
    document = parse("m:layers f(x=" + "[" * depth + "]" * depth + ")")
    assert parse(format_document(document)) == document


MANY = examples(50_000)
"""Far more than parsers that call themselves stand anywhere."""
UNITS = ["/", "*", "/*", "#", "#\n", '"', "'", "\\", "\\'", "-", "+", ".", "1", "1.", "1e-", "0x"]
UNITS += ["a", "a-", "a.", "a:", ":", ";", ",", "=", "%", " ", "\n", "/ ", "/a", "a b", "a=1 "]
UNITS += ["1,", "[1],", "a\t", "\u00e9", "\0"]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(
    "before", ["", "m:name ", "m:layers f(a=[", "m:input shape=[] ", "c [] '", "/*"]
)
def test_texts_of_many_units(before: str, unit: str) -> None:
    try:
        parse(before + unit * MANY)
    except NotationError as error:
        assert len(str(error)) < 1000


def test_many_options() -> None:
    options = [f"o{index}=1" for index in range(MANY)]
    assert parse("m:input shape=[] " + " ".join(options)).statements
    assert parse("m:layers f(" + ", ".join(options) + ")").statements
