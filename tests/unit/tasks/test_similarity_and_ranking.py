"""Sentences that are alike, and texts that answer a query."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

import webnnm
from tests.unit.tasks.words import CLASSES, QUIET, folder
from webnnm import DataError

pytestmark = pytest.mark.desktop
pytest.importorskip("tokenizers")
SENTENCES = ["so bad", "so good", "a day."]


async def test_sentences_are_compared_by_their_angle() -> None:
    files = folder("BertModel")
    async with await webnnm.pipeline("sentence-similarity", files, **QUIET) as compare:
        scores = await compare("so good", SENTENCES)
        request = {"source_sentence": "so good", "sentences": SENTENCES}
        assert await compare(request, batch_size=2) == pytest.approx(scores, abs=1e-5)
        with pytest.raises(DataError, match="NNM704: there are no sentences"):
            await compare("so good", [])
    assert scores[1] == pytest.approx(1, abs=1e-5) and max(scores) == scores[1]
    async with await webnnm.pipeline("feature-extraction", files, **QUIET) as extract:
        first, other = (await extract(["so good", "a day."], pooling="mean")).tolist()
    lengths = [math.sqrt(sum(x * x for x in vector)) for vector in (first, other)]
    angle = sum(a * b for a, b in zip(first, other, strict=True)) / lengths[0] / lengths[1]
    assert scores[2] == pytest.approx(angle, abs=1e-5)


async def test_the_folder_says_how_tokens_are_pooled() -> None:
    def with_pooling(**modes: bool) -> dict[str, Any]:
        modes = {"word_embedding_dimension": 16, **modes}
        return folder("BertModel") | {"1_Pooling/config.json": json.dumps(modes).encode()}

    results: list[list[float]] = []
    for mode in ("mean_tokens", "cls_token"):
        files = with_pooling(**{f"pooling_mode_{mode}": True, "pooling_mode_max_tokens": False})
        async with await webnnm.pipeline("sentence-similarity", files, **QUIET) as compare:
            results.append(await compare("so good", SENTENCES))
    assert results[0][0] != pytest.approx(results[1][0], abs=1e-4)
    with pytest.raises(DataError, match=r"NNM818: 1_Pooling/config.json: pooling_mode_max_tokens"):
        files = with_pooling(pooling_mode_max_tokens=True)
        await webnnm.pipeline("sentence-similarity", files, **QUIET)


async def test_texts_are_ranked_by_the_score_of_pairs() -> None:
    files = folder(CLASSES, "relevant")
    async with await webnnm.pipeline("text-classification", files, **QUIET) as classify:
        pairs = [{"text": "what", "text_pair": text} for text in SENTENCES]
        expected = [one["score"] for one in await classify(pairs)]
    async with await webnnm.pipeline("text-ranking", files, **QUIET) as rerank:
        ranked = await rerank("what", SENTENCES, return_text=True)
        best = await rerank({"query": "what", "texts": SENTENCES}, top_k=1, batch_size=2)
        raw = await rerank("what", SENTENCES, function_to_apply="none")
        with pytest.raises(DataError, match="NNM704: there are no texts"):
            await rerank("what", "so good")
    order = sorted(range(3), key=lambda index: -expected[index])
    assert [one["index"] for one in ranked] == [one["index"] for one in raw] == order
    assert [one["text"] for one in ranked] == [SENTENCES[index] for index in order]
    assert [one["score"] for one in ranked] == pytest.approx([expected[k] for k in order], abs=1e-5)
    assert best[0]["index"] == order[0] and [*best[0]] == ["index", "score"]
    with pytest.raises(DataError, match="NNM717"):
        await webnnm.pipeline("text-ranking", folder(CLASSES, "a", "b"), **QUIET)
