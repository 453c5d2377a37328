"""All independent mistakes of a text are told, not only the first."""

from __future__ import annotations

import pytest

from tests.unit.graph.texts import model, network
from webnnm.core.errors import ModelError
from webnnm.graph.elaboration.expand import MAX_ERRORS


def list_errors(text: str) -> list[tuple[str, int]]:
    """Return codes and columns of the errors of a text."""
    with pytest.raises(ModelError) as caught:
        network(text)
    errors = [caught.value, *caught.value.others]
    return [(error.code, error.column) for error in errors]


def test_every_unknown_operator_and_option_is_told() -> None:
    text = "m:input shape=[4]; m:output shape=[4]; m:layers rleu(), tahn(), softmax(axs=0), silu();"
    assert list_errors(text) == [("NNM204", 49), ("NNM204", 57), ("NNM301", 73)]


def test_every_unknown_name_is_told() -> None:
    text = "m:input shape=[4]; m:output shape=[4]; m:layers add([x, input]), mul([input, y]);"
    assert list_errors(text) == [("NNM205", 54), ("NNM205", 78)]


def test_mistakes_of_several_blocks_are_told() -> None:
    text = model("a(), rleu()", "a:layers tahn(), relu();")
    assert sorted(code for code, _ in list_errors(text)) == ["NNM204", "NNM204"]


def test_a_mistake_in_a_repeated_block_is_told_once() -> None:
    assert len(list_errors(model("a(repeat=9), a()", "a:layers rleu();"))) == 1


def test_what_follows_a_mistake_is_looked_at_as_written() -> None:
    text = model("relu(), rleu(), residual(skip=2), matmul(w)")
    assert [code for code, _ in list_errors(text)] == ["NNM204"]


def test_a_text_of_mistakes_ends_after_some() -> None:
    assert len(list_errors(model(", ".join(["rleu()"] * 500)))) == MAX_ERRORS
