"""Errors: place, excerpt, caret, hint, suggestion."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import pytest

from webnnm.core.errors import (
    CONTEXT_WINDOW,
    BackendError,
    ContextLost,
    DataError,
    ModelError,
    NotationError,
    Remedy,
    Span,
    WebNNMError,
    raise_first,
    suggestion,
)


def at(source: str, word: str, message: str = "wrong", hint: str = "") -> NotationError:
    start = source.index(word)
    span = Span(start, start + len(word))
    return NotationError("NNM204", message, hint=hint, source=source, span=span)


def test_an_error_prints_as_in_the_specification() -> None:
    source = (
        "webnnm 1.0;\n\nmodel:input shape=[4];\nmodel:layers\n    matmul(w), add(b), sofmax();\n"
    )
    error = at(
        source,
        "sofmax",
        'unknown operator "sofmax" in block "model"',
        suggestion("sofmax", ["relu", "softmax", "sigmoid"]),
    )
    assert str(error) == (
        'NNM204 line 5, column 24: unknown operator "sofmax" in block "model"\n'
        "        matmul(w), add(b), sofmax();\n"
        "                           ^\n"
        'hint: did you mean "softmax"?'
    )
    assert (error.line, error.column) == (5, 24)


def test_an_error_without_a_place_is_one_line() -> None:
    error = DataError("NNM705", "no rows")
    assert str(error) == "NNM705: no rows"
    assert (error.line, error.column, error.hint, error.others) == (0, 0, "", ())
    assert error.args == ("no rows",)


@pytest.mark.parametrize(
    ("source", "word", "line", "column"),
    [
        ("x", "x", 1, 1),
        ("a\nx", "x", 2, 1),
        ("a\n\n  x\n", "x", 3, 3),
        ("é€𝄞x", "x", 1, 4),
        ("a\r\nbx", "x", 2, 2),
    ],
)
def test_lines_and_columns_count_code_points_from_1(
    source: str, word: str, line: int, column: int
) -> None:
    error = at(source, word)
    assert (error.line, error.column) == (line, column)


def test_the_caret_stands_below_its_character_behind_tabs() -> None:
    assert str(at("\tadd(b),\tsofmax();", "sofmax")).splitlines()[1:] == [
        "    \tadd(b),\tsofmax();",
        "    \t       \t^",
    ]


def test_the_excerpt_ends_before_a_carriage_return() -> None:
    assert str(at("bad;\r\ngood;", "bad")).splitlines()[1:] == ["    bad;", "    ^"]


def test_the_end_of_the_text_is_a_place_too() -> None:
    error = NotationError("NNM104", "';' expected", source="relu()", span=Span(6, 6))
    assert str(error).splitlines()[1:] == ["    relu()", "          ^"]


@pytest.mark.parametrize("before", [0, 10, 49, 50, 51, 99, 100, 1_000])
def test_of_a_long_line_the_surroundings_are_shown(before: int) -> None:
    shown, caret = str(at("." * before + "X" + "." * 1_000, "X")).splitlines()[1:]
    assert len(shown) == 4 + CONTEXT_WINDOW
    assert shown[caret.index("^")] == "X"
    assert caret.strip() == "^"


def test_the_hierarchy() -> None:
    assert issubclass(NotationError, ModelError)
    assert issubclass(ContextLost, BackendError)
    for kind in (ModelError, DataError, BackendError):
        assert issubclass(kind, WebNNMError)
    lost = ContextLost("the device is gone", step=12)
    assert (lost.code, lost.step) == ("NNM716", 12)


def test_of_several_errors_the_first_is_raised_with_the_others() -> None:
    raise_first([])
    errors = [DataError("NNM701", str(number)) for number in range(3)]
    with pytest.raises(DataError) as caught:
        raise_first(errors)
    assert caught.value is errors[0]
    assert caught.value.others == (errors[1], errors[2])


@pytest.mark.parametrize(
    ("word", "candidates", "expected"),
    [
        ("sofmax", ["relu", "softmax"], 'did you mean "softmax"?'),
        ("softmax", ["softmix", "softmaxx"], 'did you mean "softmaxx"?'),
        ("frist", ["first", "last"], 'did you mean "first"?'),
        ("ad", ["add", "and"], 'did you mean "add"?'),
        ("relo", ["relu"], 'did you mean "relu"?'),
        ("rexx", ["relu"], ""),
        ("convolve", ["conv2d"], ""),
        ("anything", [], ""),
    ],
)
def test_suggestions(word: str, candidates: list[str], expected: str) -> None:
    assert suggestion(word, candidates) == expected


def test_a_message_is_never_longer_than_a_screen() -> None:
    error = WebNNMError("NNM802", "a" * 600 + "b" * 10**6, hint="c" * 10**6 + "d")
    assert error.message.startswith("a" * 500) and error.message.endswith("b" * 500)
    assert error.hint.endswith("cd")
    assert len(str(error)) < 2100


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_errors_can_be_copied(duplicate: Callable[[WebNNMError], WebNNMError]) -> None:
    """As by a process pool, which sends the errors of its workers."""
    error = at("m:layers rleu();", "rleu", hint=suggestion("rleu", ["relu"]))
    error.others = (DataError("NNM704", "y"),)
    other = duplicate(error)
    assert type(other) is NotationError and str(other) == str(error)
    assert (other.fix, other.span, other.args) == (error.fix, error.span, error.args)
    assert isinstance(other.hint, Remedy) and other.hint.word == "rleu"
    lost = duplicate(ContextLost("gone", step=3))
    assert isinstance(lost, ContextLost) and (lost.step, lost.message) == (3, "gone")
