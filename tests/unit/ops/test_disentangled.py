"""Attention between contents and distances, against the formula written for each pair of tokens."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.graph.texts import fails, model
from tests.unit.ops.cases import np
from webnnm import GraphBuilder
from webnnm.backends.reference import evaluate
from webnnm.core.errors import WebNNMError

rng = np.random.default_rng(1)
HEADS, SIZE, TOKENS, SPAN, FARTHEST = 2, 3, 9, 4, 7


def bucket(ahead: int, span: int, farthest: int) -> int:
    """Return the row for a query that many tokens after a key, in float32."""
    exact = span // 2
    if farthest > span and abs(ahead) > exact:
        ratio = np.log(np.float32(abs(ahead) / exact)) / np.log(np.float32((farthest - 1) / exact))
        ahead = int(np.sign(ahead) * (np.ceil(ratio * np.float32(exact - 1)) + exact))
    return int(np.clip(ahead + span, 0, 2 * span - 1))


def by_pairs(q: Any, k: Any, v: Any, of_keys: Any, of_queries: Any, farthest: int) -> Any:
    result = np.zeros((TOKENS, HEADS * SIZE))
    for head in range(HEADS):
        own = slice(head * SIZE, (head + 1) * SIZE)
        scores = q[:, own] @ k[:, own].T
        for i in range(TOKENS):
            for j in range(TOKENS):
                for row, table in ((q[i], of_keys), (k[j], of_queries)):
                    if table is not None:
                        index = bucket(i - j, len(table) // 2, farthest)
                        scores[i, j] += row[own] @ table[index, own]
        e = np.exp(scores / SIZE**0.5)
        result[:, own] = e / e.sum(1, keepdims=True) @ v[:, own]
    return result


@pytest.mark.parametrize("farthest", [3, FARTHEST, 40])
@pytest.mark.parametrize("tables", [(True, False), (False, True), (True, True)])
def test_scores_of_distances_are_those_of_each_pair(
    tables: tuple[bool, bool], farthest: int
) -> None:
    b = GraphBuilder()
    arrays = {n: rng.uniform(-1, 1, (TOKENS, HEADS * SIZE)).astype("float32") for n in "qkv"}
    names = ("of_keys", "of_queries")
    for name, present in zip(names, tables, strict=True):
        if present:
            arrays[name] = rng.uniform(-1, 1, (2 * SPAN, HEADS * SIZE)).astype("float32")
    x = {name: b.input(name, "float32", array.shape) for name, array in arrays.items()}
    result = b.attend(
        *(x[name] for name in "qkv"),
        relative_keys=x.get("of_keys"),
        relative_queries=x.get("of_queries"),
        heads=HEADS,
        max_distance=farthest,
    )
    computed = evaluate(b.build({"y": result}), arrays)["y"]
    expected = by_pairs(
        *(arrays[name] for name in "qkv"), *(arrays.get(name) for name in names), farthest
    )
    np.testing.assert_allclose(computed, expected, rtol=1e-5, atol=1e-6)


def test_distances_share_rows_as_deberta_was_trained() -> None:
    from webnnm.ops.declare.disentangled import get_row

    rows = [get_row(ahead, 256, 512) for ahead in range(-700, 701)]
    assert rows == [bucket(ahead, 256, 512) for ahead in range(-700, 701)]
    assert rows[700 - 128 : 700 + 129] == [*range(128, 385)]
    assert (rows[0], rows[-1]) == (0, 511)


@pytest.mark.parametrize(
    ("code", "shape", "tokens", "says"),
    [
        ("NNM404", (6, 4), 3, r"\[6, 4\], not \[an even number from 4, 6\]"),
        ("NNM404", (5, 6), 3, r"\[5, 6\], not"),
        ("NNM401", (6, 6), 4, "distances are those of the same tokens"),
    ],
)
def test_wrong_tables(code: str, shape: tuple[int, int], tokens: int, says: str) -> None:
    b = GraphBuilder()
    q, k = b.input("q", "float32", (3, 6)), b.input("k", "float32", (tokens, 6))
    table = b.input("t", "float32", shape)
    with pytest.raises(WebNNMError, match=says) as caught:
        b.attend(q, k, k, relative_keys=table, heads=2)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("code", "layer", "says"),
    [
        ("NNM304", "attend(q, k, v, to=far, ¦relativeKeys=t)", "two sequences"),
        ("NNM304", "attend(q, k, v, heads=2, kvHeads=1, ¦relativeKeys=t)", "a key for each head"),
        ("NNM304", "attend(q, k, v, ¦relativeQueries=own)", "one table for all tokens"),
        ("NNM404", "attend(q, k, v, headSize=3, ¦relativeKeys=t)", "needs 3 columns"),
    ],
)
def test_wrong_layers(code: str, layer: str, says: str) -> None:
    more = "far:input shape=[4] sequence=others; own:input shape=[4] sequence=words;"
    table = "model:param t shape=[6, 4];"
    along = "shape=[4] sequence=words"
    fails(code, model(layer, more + table, input=along, output=along), says=says)
