"""The first tokens of a language model as a page of webnnm writes them."""

from __future__ import annotations

from webnnm import from_pretrained


async def first_tokens(prompt: str) -> str:
    """Return four tokens that continue a text."""
    model = await from_pretrained("/bench-models/SmolLM2-135M-Instruct.Q4_1.gguf", backend="webnn")
    return await model.generate(prompt, max_new_tokens=4)
