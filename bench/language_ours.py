"""A language model as users of webnnm run it, for the page of the contest."""

from __future__ import annotations

from typing import Any

import webnnm


class Writer:
    """A model on WebNN."""

    def __init__(self, model: webnnm.PretrainedModel) -> None:
        self._model = model

    async def write(self, prompt: str, count: int) -> dict[str, Any]:
        """Return the continuation of a text by the most likely tokens, and the time it took."""
        text = await self._model.generate(prompt, max_new_tokens=count)
        took = self._model.speed
        return {
            "text": text,
            "promptTokens": took.prompt_tokens,
            "promptSeconds": took.prompt_seconds,
            "tokens": took.tokens,
            "seconds": took.seconds,
        }


async def load(file: str) -> Writer:
    """Load a model from the address of its GGUF file."""
    return Writer(await webnnm.from_pretrained(file, backend="webnn", log=lambda line: None))
