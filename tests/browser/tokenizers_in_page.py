"""Runs in a page: a model of Hugging Face with its `tokenizer.json`, from a folder."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from tests.unit.transformers.folders import CONFIG, write
from tests.unit.transformers.tokenizer_json import TEMPLATE, TEXT
from webnnm import WebNNMError, from_pretrained


async def read_and_go_on(words: str) -> dict[str, Any]:
    """Return tokens of a text, the text of these, and what a model makes of it."""
    with tempfile.TemporaryDirectory() as name:
        folder = write(Path(name), {**CONFIG, "eos_token_id": 2})
        (folder / "tokenizer.json").write_text(TEXT)
        (folder / "tokenizer_config.json").write_text(TEMPLATE)
        model = await from_pretrained(str(folder), backend="webnn", log=lambda line: None)
    tokens = model.tokenizer.encode(words)
    begun = [token for token in tokens if token != 2]
    text = await model.generate(model.tokenizer.decode(begun), max_new_tokens=5)
    more = await model.generate_ids(begun, max_new_tokens=5)
    end = more.index(2) if 2 in more else len(more)
    same = model.tokenizer.decode(more[len(begun) : end]) == text
    answer = await model.generate([{"role": "user", "content": words}], max_new_tokens=3)
    empty = [model.tokenizer.encode(""), model.tokenizer.decode([]), model.tokenizer.decode([999])]
    model.close()
    return {
        "empty": empty,
        "tokens": tokens,
        "text": model.tokenizer.decode(tokens),
        "same": same,
        "answer": isinstance(answer, str),
    }


async def catch_error(text: str) -> str:
    """Return the error that a wrong tokenizer ends in."""
    with tempfile.TemporaryDirectory() as name:
        folder = write(Path(name))
        (folder / "tokenizer.json").write_text(text)
        model = await from_pretrained(str(folder), backend="webnn", log=lambda line: None)
    try:
        model.tokenizer.encode("the")
    except WebNNMError as error:
        return str(error)
    finally:
        model.close()
    return ""
