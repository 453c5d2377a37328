"""What tests/browser/test_structured.py does with a language model in a page."""

from __future__ import annotations

import time
from typing import Any

import webnnm

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer", "minimum": 0, "maximum": 130},
        "hobbies": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
    },
    "required": ["name", "age", "hobbies"],
}
MESSAGES = [{"role": "user", "content": "Describe a person as JSON: name, age and hobbies."}]


async def write_json(address: str, count: int) -> dict[str, Any]:
    """Return JSON texts of a model, and the seconds per token with and without a schema."""
    model = await webnnm.from_pretrained(address, log=lambda _: None)
    settings: dict[str, Any] = {"max_new_tokens": 64, "temperature": 0.9}
    await model.generate(MESSAGES, **settings)  # compiles
    await model.generate(MESSAGES, json_schema=SCHEMA, **settings)
    texts: list[str] = []
    seconds: dict[str, list[float]] = {"free": [], "structured": []}
    for seed in range(count):
        for kind, more in (("free", {}), ("structured", {"json_schema": SCHEMA})):
            started = time.perf_counter()
            text = await model.generate(MESSAGES, seed=seed, **settings, **more)
            whole = time.perf_counter() - started - model.speed.prompt_seconds
            seconds[kind].append(whole / max(1, model.speed.tokens))
            if more:
                texts.append(text)
    model.close()
    return {"texts": texts, **{kind: sorted(each)[count // 2] for kind, each in seconds.items()}}
