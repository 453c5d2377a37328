"""Vectors that take the places of a token: those of each row, or the same for all."""

from __future__ import annotations

import pytest

from webnnm import NNModel
from webnnm.core.errors import ModelError

TEXT = """webnnm 1.0;
ids:input int32 shape=[] sequence=tokens;
{inputs}
m:output shape=[2] sequence=tokens;
m:constants table [4, 2] [0, 1, 10, 11, 20, 21, 30, 31];
m:constants seen [2, 2] [1, 2, 3, 4];
m:layers
  embedding(table, node=ids, name=texts),
  replaceTokens({vectors}, node=texts, ids=ids, token=3);
"""


async def compute(vectors: str, inputs: str = "", **arrays: object) -> object:
    source = TEXT.format(vectors=vectors, inputs=inputs)
    model = await NNModel.create(source=source, backend="numpy", log=lambda line: None)
    async with model:
        found = await model.predict({"ids": [[3, 1, 3], [0, 3, 2]], **arrays})
        return found.tolist() if hasattr(found, "tolist") else found["m"].tolist()


async def test_vectors_without_a_batch_are_those_of_all_rows() -> None:
    expected = [[[1, 2], [10, 11], [3, 4]], [[0, 1], [1, 2], [20, 21]]]
    assert await compute("seen") == expected
    rows = [[[1, 2], [3, 4]], [[1, 2], [3, 4]]]
    assert await compute("own", "own:input shape=[2, 2];", own=rows) == expected


async def test_vectors_of_other_ranks_are_refused_before_a_graph_is_built() -> None:
    with pytest.raises(ModelError, match="NNM404"):
        await compute("own", "own:input shape=[5, 2, 2];", own=[[[[0.0] * 2] * 2] * 5] * 2)
