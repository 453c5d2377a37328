"""What tests/browser/test_structured.py does with a language model in a page."""

from __future__ import annotations

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


async def write_json(address: str, count: int) -> list[str]:
    """Return texts of a model for a schema."""
    async with await webnnm.from_pretrained(address, log=lambda _: None) as model:
        return [
            await model.generate(
                MESSAGES, json_schema=SCHEMA, max_new_tokens=64, temperature=0.9, seed=seed
            )
            for seed in range(count)
        ]
