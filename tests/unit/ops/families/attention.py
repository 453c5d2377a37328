"""Random cases of attention, embeddings and positions."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tests.unit.ops.families import Drawn
from webnnm.core.shapes import Shape, count

sizes = st.integers(1, 3)
INDICES = ("int32", "uint32", "int64", "uint8", "int8")


def leading(most: int = 2) -> SearchStrategy[Shape]:
    """Draw the dimensions in front of tokens and features."""
    return st.lists(sizes, max_size=most).map(tuple)


@st.composite
def attention(draw: DrawFn) -> Drawn:
    lead, queries = draw(leading()), draw(st.integers(1, 4))
    causal = draw(st.booleans())
    # A query that sees no key at all mixes them by whatever the precision leaves of its scores.
    keys = queries + draw(st.integers(0, 2)) if causal else draw(st.integers(1, 4))
    shared, group = draw(sizes), draw(st.integers(1, 2))
    rope = draw(st.sampled_from((False, True, 100.0)))
    size = 2 * draw(st.integers(1, 2)) if rope else draw(sizes)
    width = shared * size
    options: dict[str, Any] = {"heads": shared * group, "causal": causal}
    if rope:
        options["rope"] = rope
    if group > 1:
        options["kv_heads"] = shared
    # Keys without leading dimensions serve all queries.
    base = lead if draw(st.booleans()) else ()
    shapes = [(*lead, queries, width * group), (*base, keys, width), (*base, keys, width)]
    kind = draw(st.sampled_from(("none", "per key", "per pair", "whole")))
    if kind == "none":
        return Drawn("attend", tuple(shapes), options)
    mask = (
        {"per key": (keys,), "per pair": (queries, keys)}.get(kind)
        or (*lead, shared * group, 1, keys)
    )  # fmt: skip
    numbers = st.lists(st.integers(0, 1), min_size=count(mask), max_size=count(mask))
    hidden = draw(numbers)
    hidden[::keys] = [1] * len(hidden[::keys])  # each query keeps a key
    return Drawn(
        "attend",
        (*shapes, mask),
        options,
        dtypes=("float32", "float32", "float32", draw(st.sampled_from(("uint8", "int32")))),
        values=(None, None, None, hidden),
    )


@st.composite
def embedding(draw: DrawFn) -> Drawn:
    rows, columns = draw(st.integers(1, 5)), draw(sizes)
    shape = draw(leading())
    dtype = draw(st.sampled_from(INDICES))
    least = 0 if dtype.startswith("uint") else -rows
    indices = st.lists(st.integers(least, rows - 1), min_size=count(shape), max_size=count(shape))
    return Drawn(
        "embedding",
        (shape, (rows, columns)),
        dtypes=(dtype, draw(st.sampled_from(("float32", "float16")))),
        values=(draw(indices), None),
    )


@st.composite
def positions(draw: DrawFn) -> Drawn:
    lead, length, width = draw(leading()), draw(st.integers(1, 4)), draw(st.integers(1, 5))
    if draw(st.booleans()):
        rows = length + draw(st.integers(0, 3))
        return Drawn("positionalEmbedding", ((*lead, length, width), (rows, width)))
    return Drawn(
        "positionalEncoding",
        ((*lead, length, width),),
        {"base": draw(st.sampled_from((10.0, 10000.0)))},
    )


@st.composite
def rotation(draw: DrawFn) -> Drawn:
    heads = draw(sizes)
    shape = (*draw(leading()), draw(st.integers(1, 4)), heads * 2 * draw(sizes))
    options = {"heads": heads, "start": draw(st.integers(-3, 3))}
    return Drawn("rotaryEmbedding", (shape,), options)


def cases() -> SearchStrategy[Drawn]:
    """Draw a case of any of these operators."""
    return st.one_of(attention(), embedding(), positions(), rotation())
