"""Tokens that no text begins with, as a config says: they come later."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

import webnnm
from tests.unit.transformers.folders import CONFIG, pack, weights

QUIET: dict[str, Any] = {"backend": "numpy", "log": lambda line: None}


def write(**said: Any) -> list[int]:
    """Return what follows a token, of a model whose config says something of generation."""
    files = {
        "config.json": json.dumps(dict(CONFIG)).encode(),
        "generation_config.json": json.dumps(said).encode(),
        "model.safetensors": pack(weights()),
    }

    async def tokens() -> list[int]:
        async with await webnnm.from_pretrained(files, **QUIET) as model:
            return (await model.generate_ids([4], max_new_tokens=12))[1:]

    return asyncio.run(tokens())


@pytest.mark.alike
def test_tokens_that_no_text_begins_with_come_later() -> None:
    plain = write()
    found = write(begin_suppress_tokens=[plain[0], 10**6])
    never = write(suppress_tokens=[plain[0], 10**6])
    assert found[0] == never[0] != plain[0]
    assert plain[0] in found and plain[0] not in never
