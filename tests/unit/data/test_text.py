"""Windows of a text, with the next tokens as targets."""

from __future__ import annotations

from array import array
from typing import Any

import pytest

from webnnm.core.errors import DataError
from webnnm.data.binding.binding import bind
from webnnm.data.texts.text import TextDataset
from webnnm.graph.elaboration.elaborate import elaborate
from webnnm.notation import parse

ALL: dict[str, Any] = {"split": (1, 0, 0)}


def windows(data: TextDataset, subset: str = "training") -> list[tuple[list[int], list[int]]]:
    inputs, outputs = data.arrays(subset)
    return list(zip(inputs["model"].tolist(), outputs["model"].tolist(), strict=True))


def test_targets_are_the_next_tokens() -> None:
    data = TextDataset(range(8), 3, **ALL)
    assert windows(data) == [([0, 1, 2], [1, 2, 3]), ([3, 4, 5], [4, 5, 6])]
    source, target = data.inputs["model"], data.outputs["model"]
    assert (source.dtype, source.shape, source.sequence) == ("int32", (3,), "sequence")
    assert (target.kind, target.classes, target.sequence) == ("classes", 8, "sequence")
    assert data.masks("training") == {}


@pytest.mark.parametrize(
    ("total", "length", "stride", "count"),
    [(4, 3, None, 1), (6, 3, None, 1), (7, 3, None, 2), (7, 3, 1, 4), (10, 2, 4, 2), (2, 1, 1, 1)],
)
def test_number_of_windows(total: int, length: int, stride: int | None, count: int) -> None:
    found = windows(TextDataset(list(range(total)), length, stride=stride, **ALL))
    assert len(found) == count
    for row, (tokens, targets) in enumerate(found):
        first = row * (stride or length)
        assert tokens == list(range(first, first + length))
        assert targets == list(range(first + 1, first + length + 1))


@pytest.mark.parametrize("code", ["b", "H", "i", "q", "d"])
def test_tokens_in_buffers(code: str) -> None:
    data = TextDataset(array(code, [3, 1, 2, 0]), 3, **ALL)
    assert windows(data) == [([3, 1, 2], [1, 2, 0])]


def test_characters() -> None:
    data = TextDataset("abracadabra", 5, **ALL)
    assert data.labels() == ["a", "b", "c", "d", "r"]
    assert windows(data)[0] == ([0, 1, 4, 0, 2], [1, 4, 0, 2, 0])
    assert data.decode("model", [0, 1, 4]) == ["a", "b", "r"]
    known = TextDataset("cab", 2, labels="abcd", **ALL)
    assert (windows(known), known.outputs["model"].classes) == ([([2, 0], [0, 1])], 4)


def test_subsets_overlap_only_where_windows_do() -> None:
    assert TextDataset(range(100), 10).method == "random"
    data = TextDataset(range(100), 10, stride=5, split=(0.5, 0, 0.5))
    assert data.method == "sequential"
    assert max(data.rows("training")) < min(data.rows("testing"))


def test_folds_keep_the_vocabulary() -> None:
    data = TextDataset([0, 1, 0, 1, 0, 1, 0], 2, vocabulary=9)
    fold = next(iter(data.folds(3)))
    assert fold.outputs["model"].classes == 9
    assert fold.outputs["model"].sequence == "sequence"


def test_it_feeds_a_language_model() -> None:
    network = elaborate(
        parse("""
        model:input int32 shape=[] sequence=true; model:output shape=[8] sequence=true;
        model:layers embedding(e, size=8, shape=[4]), matmul(w);
        """)
    )
    found = bind(network, TextDataset(range(8), 3, **ALL))
    assert found.sequence == {"sequence": 3}
    inputs, targets = found.arrays("training", {"model": "classes"})
    assert (inputs["model"].dtype, inputs["model"].shape) == ("int32", (2, 3))
    assert (targets["model"].dtype, targets["model"].tolist()[1]) == ("int32", [4, 5, 6])
    assert found.arrays("training")[1]["model"].shape == (2, 3, 8)


@pytest.mark.parametrize(
    ("tokens", "options", "code", "text"),
    [
        ([0, 1, 2], {"length": 3}, "NNM711", "3 tokens are too few for a window of 3"),
        ([0, 1, 2], {"length": 0}, "NNM704", "length is 0"),
        ([0, 1, 2], {"length": 1, "stride": -1}, "NNM704", "stride is -1"),
        ([0, 5, 2], {"length": 1, "vocabulary": 4}, "NNM706", "token 1 is 5, tokens are 0 … 3"),
        ([0, 5, -2], {"length": 1}, "NNM706", "token 2 is -2"),
        ([0, 5, 2], {"length": 1, "labels": ["a", "b"]}, "NNM706", "token 1 is 5"),
        ([0.5, 1], {"length": 1}, "NNM702", "tokens: 0.5 is not a value of int32"),
        ([[0, 1], [2, 3]], {"length": 1}, "NNM702", r"tokens are \[2, 2\]"),
        ("abc", {"length": 1, "labels": "ab"}, "NNM706", "character 2 'c' is not in labels"),
    ],
)
def test_what_makes_no_text(tokens: Any, options: Any, code: str, text: str) -> None:
    with pytest.raises(DataError, match=text) as caught:
        TextDataset(tokens, **options, **ALL)
    assert caught.value.code == code
