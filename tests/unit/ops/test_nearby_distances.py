"""Keys and values of nearby distances, which attention adds to those of tokens."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.graph.texts import fails, model, parameters
from tests.unit.ops.cases import np
from webnnm import GraphBuilder
from webnnm.backends.reference import evaluate
from webnnm.ops.declare.tensors import OperatorError


def draw(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype("float32")


def expected(q: Any, k: Any, v: Any, keys: Any, values: Any, heads: int) -> Any:
    """Return attention computed pair by pair, for `[tokens, heads · size]`."""
    results = []
    for head in range(heads):
        a, b, c = (np.split(x, heads, axis=-1)[head] for x in (q, k, v))
        scores, tokens = a @ b.T, len(q)
        added = np.zeros_like(c)
        pairs = [(i, j) for i in range(tokens) for j in range(tokens)]
        for i, j in pairs:
            if abs(j - i) <= len(keys) // 2:
                scores[i, j] += a[i] @ keys[j - i + len(keys) // 2]
        weights = np.exp(scores / np.sqrt(a.shape[1]))
        weights /= weights.sum(-1, keepdims=True)
        for i, j in pairs:
            if abs(j - i) <= len(values) // 2:
                added[i] += weights[i, j] * values[j - i + len(values) // 2]
        results.append(weights @ c + added)
    return np.concatenate(results, -1)


@pytest.mark.parametrize(
    ("tokens", "windows"), [(6, (2, 1)), (3, (4, 7)), (1, (1, 0)), (5, (0, 4))]
)
def test_they_are_added_near_each_token(tokens: int, windows: tuple[int, int]) -> None:
    q, k, v = (draw(2, tokens, 4, seed=seed) for seed in range(3))
    keys, values = (draw(2 * window + 1, 2) for window in windows)
    b = GraphBuilder()
    feeds = {"q": q, "k": k, "v": v, "keys": keys, "values": values}
    xs = {name: b.input(name, "float32", x.shape) for name, x in feeds.items()}
    y = b.attend(xs["q"], xs["k"], xs["v"], near_keys=xs["keys"], near_values=xs["values"], heads=2)
    found = evaluate(b.build({"y": y}), feeds)["y"]
    for row in range(2):
        wanted = expected(q[row], k[row], v[row], keys, values, 2)
        np.testing.assert_allclose(found[row], wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(4, 2), (3, 4)])
def test_tables_of_other_sizes_are_refused(shape: tuple[int, int]) -> None:
    b = GraphBuilder()
    x = b.input("x", "float32", (3, 4))
    with pytest.raises(OperatorError, match="NNM404"):
        b.attend(x, x, x, near_keys=b.input("t", "float32", shape), heads=2)


def test_other_tokens_have_no_distance() -> None:
    b = GraphBuilder()
    x, t = b.input("x", "float32", (3, 4)), b.input("t", "float32", (3, 2))
    other = b.input("z", "float32", (5, 4))
    for name in ("near_keys", "near_values"):
        with pytest.raises(OperatorError, match="NNM401"):
            b.attend(x, other, other, heads=2, **{name: t})


@pytest.mark.parametrize(
    ("code", "layer", "says"),
    [
        ("NNM404", "attend(q, k, v, heads=2, ¦nearKeys=four)", "needs 2 columns"),
        ("NNM404", "attend(q, k, v, heads=2, valueSize=4, ¦nearValues=t)", "needs 4 columns"),
        ("NNM304", "attend(q, k, v, heads=2, to=more, ¦nearKeys=t)", "no distance"),
    ],
)
def test_errors(code: str, layer: str, says: str) -> None:
    tables = "m:param t shape=[3, 2], four shape=[3, 4], more shape=[6, 4];"
    fails(code, model(layer, tables, input="shape=[6, 4]", output="shape=[6, 4]"), says=says)


def test_declared_tables_are_parameters() -> None:
    tables = "m:param t shape=[3, 2];"
    layer = "attend(q, k, v, heads=2, nearKeys=t, nearValues=t)"
    source = model(layer, tables, input="shape=[6, 4]", output="shape=[6, 4]")
    assert parameters(source)["t"] == (3, 2)
