"""How often each integer occurs: numbers at the ends of rows of the table, padding, shapes."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from tests.unit.graph.texts import fails, model, run
from webnnm import GraphBuilder, NNModel
from webnnm.backends.reference import evaluate

TOKENS = "int32 shape=[] sequence=true"


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 9, 10, 24, 25, 26, 4999, 65536])
def test_counts_are_those_of_a_counter(size: int) -> None:
    draw = Random(size)
    ends = [0, size - 1, size, size + 1, -1, -size]
    numbers = [[*ends, *(draw.randrange(size) for _ in range(40))] for _ in range(2)]
    b = GraphBuilder()
    counts = b.bincount(b.input("x", "int32", [2, 46]), size)
    result = evaluate(b.build({"y": counts}), {"x": numbers})["y"].tolist()
    for row, expected in zip(result, map(Counter, numbers), strict=True):
        assert {n: count for n, count in enumerate(row) if count} == {
            n: expected[n] for n in expected if 0 <= n < size
        }


def test_sequences_are_counted_along_their_positions() -> None:
    text = model("bincount(size=4)", input=TOKENS, output="shape=[4]")
    assert run(text, {"m": [[3, 0, 3]]}, {"sequence": 3}) == [[1, 0, 0, 2]]
    text = model("bincount(3)", input="uint8 shape=[2, 4]", output="shape=[2, 3]")
    assert run(text, {"m": [[[0, 1, 1, 2], [2, 2, 2, 2]]]}) == [[[1, 2, 1], [0, 0, 4]]]


async def test_padding_is_not_counted() -> None:
    text = model("bincount(size=3)", input=TOKENS, output="shape=[3]")
    async with await NNModel.create(source=text, backend="numpy", log=lambda _: None) as net:
        rows: Any = await net.predict([[0], [2, 2, 0]])
    assert rows.tolist() == [[1, 0, 0], [1, 0, 2]]


@pytest.mark.parametrize(
    ("layers", "input", "code"),
    [
        ("bincount(size=3)", "int32 shape=[2] sequence=true", "NNM404"),
        ("bincount(size=3)", "int32 shape=[]", "NNM405"),
        ("bincount(size=4)", TOKENS, "NNM402"),
        ("bincount()", TOKENS, "NNM304"),
        ("bincount(size=0)", TOKENS, "NNM303"),
        ("bincount(size=3)", "shape=[] sequence=true", "NNM501"),
    ],
)
def test_what_cannot_be_counted_is_refused(layers: str, input: str, code: str) -> None:
    fails(code, model(layers, input=input, output="shape=[3]"))
