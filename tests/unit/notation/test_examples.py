"""The conformance data: valid texts keep their tree, invalid ones give their error."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.places import INVALID, VALID
from webnnm.core.errors import NotationError
from webnnm.notation import parse
from webnnm.notation.formatter import format_document

EXPECTATION = re.compile(r"# expect (NNM\d{3}) at (\d+):(\d+)")


def examples(folder: Path) -> list[tuple[str, str]]:
    """Names and texts of all examples."""
    texts = [(path.name, path.read_text("utf-8")) for path in sorted(folder.glob("*.nnm"))]
    assert texts, f"no examples in {folder}"
    return texts


def test_valid_examples_keep_their_tree_and_their_canonical_text() -> None:
    for name, text in examples(VALID):
        document = parse(text)
        canonical = format_document(document)
        assert parse(canonical) == document, name
        assert format_document(parse(canonical)) == canonical, name


def test_invalid_examples_give_their_code_at_their_place() -> None:
    for name, text in examples(INVALID):
        expectation = EXPECTATION.match(text)
        assert expectation, name
        code, line, column = expectation[1], int(expectation[2]), int(expectation[3])
        if code < "NNM200":
            with pytest.raises(NotationError) as caught:
                parse(text)
            assert (caught.value.code, caught.value.line, caught.value.column) == (
                code,
                line,
                column,
            ), name
        else:
            assert parse(format_document(parse(text))) == parse(text), name
